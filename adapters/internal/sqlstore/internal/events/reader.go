package events

import (
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/people"
	"github.com/bunting-flags/bunting/capture"
)

// Reader reads events. It implements port.Source, a part of queries.States, and the methods
// of capture.History for events.
type Reader struct {
	db     *database.DB
	log    *Log
	people *people.Store
	owners *ownersCache
	// Merged returns pairs of persons for the merges while the counter rewritten of a project changed from one value
	// to another, in their order: the person that was merged, and the remaining person. ok is false if there may be
	// other changes.
	Merged func(projectID, from, to int64) (pairs []capture.UUID, ok bool)
}

// NewReader returns a reader with a cache for owners of distinct ids.
func NewReader(db *database.DB, log *Log, persons *people.Store) *Reader {
	return &Reader{db: db, log: log, people: persons, owners: newOwnersCache()}
}
