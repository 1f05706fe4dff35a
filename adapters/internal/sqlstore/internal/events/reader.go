package events

import (
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/people"
)

// Reader reads events. It implements port.Source, a part of queries.States, and the methods
// of capture.History for events.
type Reader struct {
	db     *database.DB
	log    *Log
	people *people.Store
	owners *ownersCache
}

// NewReader returns a reader with a cache for owners of distinct ids.
func NewReader(db *database.DB, log *Log, persons *people.Store) *Reader {
	return &Reader{db: db, log: log, people: persons, owners: newOwnersCache()}
}
