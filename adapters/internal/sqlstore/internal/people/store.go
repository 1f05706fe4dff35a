package people

import (
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// Store reads persons and groups. It implements serving.People, serving.Continuity,
// serving.Members, and the methods of capture.History for persons and groups.
type Store struct {
	db    *database.DB
	now   func() time.Time
	cache *Cache
}

// New returns a Store with a cache for persons and groups of flags.
func New(db *database.DB, now func() time.Time, cache *Cache) *Store {
	return &Store{db, now, cache}
}
