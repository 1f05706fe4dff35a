package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
)

// HasSingleWriter implements capture.Ledger. It is true for SQLite.
func (s *Store) HasSingleWriter() bool { return s.db.Dialect.SingleWriter }

// Commit implements capture.Ledger. Errors of the database itself match capture.ErrStore. work is
// repeated only if Claim fails because keys must be compared with stored events before the transaction.
func (s *Store) Commit(ctx context.Context, projects []int64, work func(capture.Tx) error) error {
	var compared *events.KeyComparisons
	for {
		err := s.commit(ctx, projects, compared, work)
		var late *events.UncomparedError
		if errors.As(err, &late) {
			if compared, err = s.events.Compare(ctx, late, compared); err == nil {
				continue
			}
		}
		if err != nil && database.IsDatabaseFailure(err) {
			return failure{err}
		}
		return err
	}
}

// commit implements Commit for one transaction.
func (s *Store) commit(ctx context.Context, projects []int64, compared *events.KeyComparisons, work func(capture.Tx) error) error {
	t := &ledgerTx{store: s, Tx: s.db.NewTx(ctx, nil), compared: compared}
	err := s.db.InWrite(ctx, func(tx *sql.Tx) error {
		t.SQL = tx
		if err := s.db.LockProjects(ctx, tx, projects); err != nil {
			return err
		}
		return work(t)
	})
	t.keys.End(err)
	// If the connection is lost during the commit, it is unknown whether the commit
	// succeeded. Therefore cached entries are dropped in any case.
	t.invalidateCache()
	if err == nil {
		t.store.rewrites.add(t.rewrites)
		t.notifyChanged()
		s.events.NewChunks.Add(t.newChunks)
		if t.hasErased {
			s.db.EmptyLog()
		}
	}
	return err
}

// ledgerTx implements capture.Tx. It is the transaction of one Commit.
type ledgerTx struct {
	database.Tx
	store *Store
	// keys are the keys of the new events, and claimed their ids, in order, until saveEvents stores
	// them.
	keys    *events.KeyClaim
	claimed []int64
	// compared are comparisons of keys from before the transaction.
	compared *events.KeyComparisons
	// newChunks is the number of chunks with the new events.
	newChunks int64
	// saved are the changes whose cache entries must be dropped.
	saved []*capture.Changes
	// hasErased is true if a person or events were erased.
	hasErased bool
	// moved are the projects in which a distinct id was assigned to another person.
	moved map[int64]bool
	// counts are not saved yet.
	counts map[counter]int64
	// rewrites are added to those of the store after the commit.
	rewrites []*rewrite
}

// notifyChanged calls Config.Changed for projects with new group types.
func (t *ledgerTx) notifyChanged() {
	for _, c := range t.saved {
		for i := range c.GroupTypes {
			t.store.changed(c.GroupTypes[i].ProjectID)
		}
	}
}

// invalidateCache drops the cache entries of the persons and groups that were changed.
func (t *ledgerTx) invalidateCache() {
	ids, persons, groups := map[int64][]string{}, map[int64][]capture.UUID{}, map[int64][]capture.GroupID{}
	for _, c := range t.saved {
		for _, list := range [...][]capture.ProjectID{c.IDs, c.Personless} {
			for _, id := range list {
				ids[id.ProjectID] = append(ids[id.ProjectID], id.DistinctID)
				if !id.Person.IsZero() { // the person's cohorts depend on all its ids
					persons[id.ProjectID] = append(persons[id.ProjectID], id.Person)
				}
			}
		}
		for _, p := range c.Persons {
			persons[p.ProjectID] = append(persons[p.ProjectID], p.UUID)
		}
		for _, m := range c.Merges {
			persons[m.ProjectID] = append(persons[m.ProjectID], m.From, m.Into)
		}
		for _, g := range c.GroupTypes {
			groups[g.ProjectID] = append(groups[g.ProjectID], capture.GroupID{Type: g.Index})
		}
		for _, g := range c.Groups {
			groups[g.ProjectID] = append(groups[g.ProjectID], g.GroupID)
		}
	}
	for project, list := range ids {
		t.store.people.ForgetIDs(project, list)
	}
	for project, list := range persons {
		t.store.people.ForgetPersons(project, list)
	}
	for project, list := range groups {
		t.store.people.ForgetGroups(project, list)
	}
}

// Index implements capture.Indexer. It puts the events of the oldest new chunks, about 8,192,
// into blocks and merges small chunks, or merges small blocks, in a transaction of its own,
// and reports whether there is more to do. Unless idle is true it waits until there are that
// many events. On PostgreSQL it does nothing while another server does it.
func (s *Store) Index(ctx context.Context, idle bool) (more bool, err error) {
	return s.events.Index(ctx, idle)
}

// DeleteEventsBefore deletes events that arrived before a time, with their duplicate
// keys and from their blocks, from the oldest on and at most limit of them, and returns their
// number. It stops at the first newer event, and when another server is deleting
// events.
func (s *Store) DeleteEventsBefore(ctx context.Context, before time.Time, limit int) (n int64, err error) {
	return s.events.DeleteBefore(ctx, before, limit)
}

var (
	_ capture.Ledger  = (*Store)(nil)
	_ capture.Indexer = (*Store)(nil)
)
