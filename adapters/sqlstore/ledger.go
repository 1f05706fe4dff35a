package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bunting-flags/bunting/capture"
)

// ledgerState is what a Store knows of its own writing. Only on SQLite, where
// nobody else writes.
type ledgerState struct {
	// last is the highest id that was given to an event, indexed the mark up to
	// which Index has come.
	last, indexed atomic.Int64
	// blocks: there may be epochs without their blocks of events.
	blocks atomic.Bool
	// erasures counts transactions that have erased events, before they commit.
	erasures atomic.Int64
	// build are blocks that are being made, by maker. Only Index and Close use them.
	build *blockBuild
	maker *background

	mu         sync.Mutex
	statements map[string]*sql.Stmt
}

// The names of places that the ledger keeps on SQLite: the highest id that was
// given to an event, so that ids do not come back when the newest events are
// erased; and how far Index has come.
const (
	positionEventID = "event_id"
	positionIndexed = "event_index"
)

func (s *Store) startLedger(ctx context.Context) error {
	if !s.dialect.singleWriter {
		return nil
	}
	s.ledger.blocks.Store(true)
	for name, to := range map[string]*atomic.Int64{positionEventID: &s.ledger.last, positionIndexed: &s.ledger.indexed} {
		var id int64
		if err := s.write.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, name).Scan(&id); err != nil {
			return fmt.Errorf("reading the place %s: %w", name, err)
		}
		to.Store(id)
	}
	return nil
}

func (l *ledgerState) close() {
	l.maker.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stmt := range l.statements {
		_ = stmt.Close()
	}
	l.statements = nil
}

// HasSingleWriter implements capture.Ledger: on SQLite nobody else writes.
func (s *Store) HasSingleWriter() bool { return s.dialect.singleWriter }

// Commit implements capture.Ledger. Errors of the database itself are
// capture.ErrStore.
func (s *Store) Commit(ctx context.Context, projects []int64, work func(capture.Tx) error) error {
	t := &ledgerTx{store: s, ctx: ctx}
	err := s.inWrite(ctx, func(tx *sql.Tx) error {
		t.tx = tx
		if err := t.lock(projects); err != nil {
			return err
		}
		return work(t)
	})
	// When the connection is lost during the commit nobody knows whether it counts,
	// so what is remembered is forgotten in any case.
	t.invalidateCache()
	if err == nil {
		for key, id := range t.states {
			t.store.states.Add(key, id)
		}
		t.notifyChanged()
	}
	t.prepareStatements()
	if err != nil && isDatabaseFailure(err) {
		return failure{err}
	}
	return err
}

// ledgerTx implements capture.Tx.
type ledgerTx struct {
	store *Store
	ctx   context.Context
	tx    *sql.Tx
	// claimed are the ids of the fresh events, in order.
	claimed []int64
	// saved are the changes to forget about, missed the statements to prepare.
	saved  []*capture.Changes
	states map[stateKey]int64 // new ones, for the store to remember
	// erasures are those of the projects, as far as they were asked for.
	erasures map[int64]int64
	// moved are the projects in which a distinct id got to another person.
	moved      map[int64]bool
	unprepared []string
	args       []any
}

// lock makes the other servers that write to these projects wait. Projects are
// sorted, so that two servers never wait for one another.
func (t *ledgerTx) lock(projects []int64) error {
	if t.store.dialect.singleWriter {
		return nil
	}
	for _, id := range projects {
		if _, err := t.tx.ExecContext(t.ctx, `SELECT pg_advisory_xact_lock($1)`, projectLocks+id); err != nil {
			return fmt.Errorf("locking project %d: %w", id, err)
		}
	}
	return nil
}

// statement returns a prepared statement, nil when there is none yet. (pgx
// prepares and remembers by itself.)
func (t *ledgerTx) statement(text string) *sql.Stmt {
	if !t.store.dialect.singleWriter {
		return nil
	}
	l := &t.store.ledger
	l.mu.Lock()
	stmt := l.statements[text]
	l.mu.Unlock()
	if stmt == nil {
		t.unprepared = append(t.unprepared, text)
		return nil
	}
	return t.tx.StmtContext(t.ctx, stmt)
}

func (t *ledgerTx) exec(text string, args ...any) (sql.Result, error) {
	if stmt := t.statement(text); stmt != nil {
		return stmt.ExecContext(t.ctx, args...)
	}
	return t.tx.ExecContext(t.ctx, text, args...)
}

// each runs a statement that reads, and scan for each of its rows.
func (t *ledgerTx) each(scan func(rows *sql.Rows) error, text string, args ...any) error {
	stmt := t.statement(text)
	if stmt == nil {
		return query(t.ctx, t.tx, scan, text, args...)
	}
	rows, err := stmt.QueryContext(t.ctx, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, scan)
}

// maxStatements bounds the prepared statements; the ledger has some 100 texts.
const maxStatements = 192

// prepareStatements prepares what the transaction would have liked to have: inside
// of it the one connection that writes is taken.
func (t *ledgerTx) prepareStatements() {
	l := &t.store.ledger
	for _, text := range t.unprepared {
		l.mu.Lock()
		_, exists := l.statements[text]
		full := len(l.statements) >= maxStatements
		l.mu.Unlock()
		if exists || full {
			continue
		}
		stmt, err := t.store.write.PrepareContext(t.ctx, text)
		if err != nil {
			return // the next transaction asks again
		}
		l.mu.Lock()
		if l.statements == nil {
			l.statements = map[string]*sql.Stmt{}
		}
		l.statements[text] = stmt
		l.mu.Unlock()
	}
}

// notifyChanged tells of projects with new group types.
func (t *ledgerTx) notifyChanged() {
	for _, c := range t.saved {
		for i := range c.GroupTypes {
			t.store.changed(c.GroupTypes[i].ProjectID)
		}
	}
}

// invalidateCache makes flags read the people and groups anew that were changed.
func (t *ledgerTx) invalidateCache() {
	ids, persons, groups := map[int64][]string{}, map[int64][]capture.UUID{}, map[int64][]capture.GroupID{}
	for _, c := range t.saved {
		for _, list := range [...][]capture.ProjectID{c.IDs, c.Personless} {
			for _, id := range list {
				ids[id.ProjectID] = append(ids[id.ProjectID], id.DistinctID)
				if !id.Person.IsZero() { // its cohorts are those of all its ids
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
		t.store.people.forgetIDs(project, list)
	}
	for project, list := range persons {
		t.store.people.forgetPersons(project, list)
	}
	for project, list := range groups {
		t.store.people.forgetGroups(project, list)
	}
}

var (
	_ capture.Ledger  = (*Store)(nil)
	_ capture.Indexer = (*Store)(nil)
)
