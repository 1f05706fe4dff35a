package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bunting-flags/bunting/capture"
)

// ledgerState is the state of the ledger in memory. It is used only on SQLite, where
// this process is the only writer.
type ledgerState struct {
	// last is the highest id that was assigned to an event, indexed the highest id that
	// Index has processed.
	last, indexed atomic.Int64
	// blocks is true if there may be epochs without their blocks of events.
	blocks atomic.Bool
	// erasures counts transactions that erase events. It is incremented before they
	// commit.
	erasures atomic.Int64
	// build is the work of building blocks, in the goroutine maker, nil if there is
	// none. Only Index and Close access them.
	build *blockBuild
	maker *background

	// mu guards statements, the prepared statements by their text.
	mu         sync.Mutex
	statements map[string]*sql.Stmt
}

// The names of rows of the table places that the ledger maintains on SQLite: the
// highest id that was assigned to an event, so that ids are not reused after the newest
// events were erased, and the highest indexed id.
const (
	positionEventID = "event_id"
	positionIndexed = "event_index"
)

// startLedger loads the stored positions. On PostgreSQL a sequence assigns ids, and
// there is no state in memory.
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

// close stops building blocks and closes the prepared statements.
func (l *ledgerState) close() {
	l.maker.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stmt := range l.statements {
		_ = stmt.Close()
	}
	l.statements = nil
}

// HasSingleWriter implements capture.Ledger. It is true for SQLite.
func (s *Store) HasSingleWriter() bool { return s.dialect.singleWriter }

// Commit implements capture.Ledger. Errors of the database itself match
// capture.ErrStore. work is not repeated after a failure.
func (s *Store) Commit(ctx context.Context, projects []int64, work func(capture.Tx) error) error {
	t := &ledgerTx{store: s, ctx: ctx}
	err := s.inWrite(ctx, func(tx *sql.Tx) error {
		t.tx = tx
		if err := t.lock(projects); err != nil {
			return err
		}
		return work(t)
	})
	// If the connection is lost during the commit, it is unknown whether the commit
	// succeeded. Therefore cached entries are dropped in any case.
	t.invalidateCache()
	if err == nil {
		// Only now: an event of a transaction that was rolled back has no state that
		// events could refer to.
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

// ledgerTx implements capture.Tx. It is the transaction of one Commit.
type ledgerTx struct {
	store *Store
	ctx   context.Context
	tx    *sql.Tx
	// claimed are the ids of the new events, in order, until saveEvents stores them.
	claimed []int64
	// saved are the changes whose cache entries must be dropped.
	saved  []*capture.Changes
	states map[stateKey]int64 // new states, added to the cache after the commit
	// erasures caches readErasures, by project.
	erasures map[int64]int64
	// moved are the projects in which a distinct id was assigned to another person.
	moved map[int64]bool
	// unprepared are the texts of statements to prepare after the transaction. args is
	// a reusable buffer.
	unprepared []string
	args       []any
}

// lock acquires the locks of projects until the end of the transaction. The ids must be
// in ascending order, so that two servers never wait for each other.
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

// statement returns the prepared statement for a text, or nil if it is not prepared
// yet; then it is prepared after the transaction. On PostgreSQL it returns nil, because
// pgx prepares and caches statements itself.
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

// exec executes a statement, prepared if possible.
func (t *ledgerTx) exec(text string, args ...any) (sql.Result, error) {
	if stmt := t.statement(text); stmt != nil {
		return stmt.ExecContext(t.ctx, args...)
	}
	return t.tx.ExecContext(t.ctx, text, args...)
}

// each runs a query and calls scan for each of its rows.
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

// maxStatements limits the number of prepared statements. The ledger has about 100
// texts.
const maxStatements = 192

// prepareStatements prepares the statements that the transaction found unprepared. It
// runs after the transaction, which uses the only connection that writes.
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
			return // the next transaction tries again
		}
		l.mu.Lock()
		if l.statements == nil {
			l.statements = map[string]*sql.Stmt{}
		}
		l.statements[text] = stmt
		l.mu.Unlock()
	}
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
