package database

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"modernc.org/sqlite"
)

// The bounds of the prepared statements of one connection to SQLite. A statement has
// some KiB.
const (
	// newStatements is the number of statements that were executed once. Lists with a
	// varying number of arguments, which are rarely executed twice, replace only these.
	newStatements = 64
	// repeatedStatements is the number of statements that were executed more than once.
	// The ledger has about 100 texts, and management as many.
	repeatedStatements = 256
	// maxStatementText is the length of the longest text that stays prepared.
	maxStatementText = 16 << 10
)

// openCaching opens a pool of connections to SQLite that keep their statements prepared,
// because SQLite may need more time to parse a statement than to execute it. On
// PostgreSQL pgx does this.
func openCaching(dsn string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(cachingConnector{connector}), nil
}

type cachingConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c cachingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return newCachingConn(conn.(sqliteConn)), nil
}

// sqliteConn are the methods of a connection to SQLite that database/sql uses.
type sqliteConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteStmt are the methods of a prepared statement that cachingConn uses.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// cachingConn is a connection that keeps the statements of its latest texts prepared.
// SQLite itself prepares a statement again if the schema has changed, and a pragma each
// time. As database/sql calls the methods of a connection and of its rows one at a time,
// cachingConn needs no locks.
type cachingConn struct {
	sqliteConn
	once, repeated *simplelru.LRU[string, *statement]
}

// statement is a prepared statement of a cachingConn.
type statement struct {
	sqliteStmt
	isReading bool // its rows are open, so it cannot be executed again
	isRemoved bool // it is to be closed when its rows are closed
}

func newCachingConn(conn sqliteConn) *cachingConn {
	c := &cachingConn{sqliteConn: conn}
	c.once, _ = simplelru.NewLRU[string, *statement](newStatements, nil) // the error is for sizes below 1
	c.repeated, _ = simplelru.NewLRU[string, *statement](repeatedStatements, nil)
	return c
}

// find returns the prepared statement of a text. It returns nil if the text is to be
// executed without: it is too long, or the rows of its statement are open.
func (c *cachingConn) find(ctx context.Context, text string) (*statement, error) {
	if len(text) > maxStatementText {
		return nil, nil
	}
	s, isRepeated := c.repeated.Get(text)
	if !isRepeated {
		if s, isRepeated = c.once.Get(text); isRepeated {
			c.once.Remove(text)
			add(c.repeated, text, s)
		}
	}
	if isRepeated {
		if s.isReading {
			return nil, nil
		}
		return s, nil
	}
	prepared, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s = &statement{sqliteStmt: prepared.(sqliteStmt)}
	add(c.once, text, s)
	return s, nil
}

// add adds a statement, and removes the one that was not used for the longest time if
// there are too many.
func add(list *simplelru.LRU[string, *statement], text string, s *statement) {
	_, oldest, _ := list.GetOldest()
	if list.Add(text, s) {
		oldest.remove()
	}
}

// remove closes the statement, at once or with its rows.
func (s *statement) remove() {
	if s.isRemoved = true; !s.isReading {
		_ = s.Close()
	}
}

// ExecContext implements driver.ExecerContext.
func (c *cachingConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.find(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return c.sqliteConn.ExecContext(ctx, text, args)
	}
	return s.ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *cachingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.find(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return c.sqliteConn.QueryContext(ctx, text, args)
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.isReading = true
	return &statementRows{rows, s}, nil
}

// execute executes a statement without arguments. It does not end with a context, for which the driver would start
// a goroutine each time.
func (c *cachingConn) execute(text string) error {
	_, err := c.ExecContext(context.Background(), text, nil)
	return err
}

// BeginTx implements driver.ConnBeginTx. A transaction that may write begins as a writer, because upgrading
// a reading transaction may fail with SQLITE_BUSY.
func (c *cachingConn) BeginTx(_ context.Context, o driver.TxOptions) (driver.Tx, error) {
	text := `BEGIN IMMEDIATE`
	if o.ReadOnly {
		text = `BEGIN`
	}
	if err := c.execute(text); err != nil {
		return nil, err
	}
	return cachingTx{c}, nil
}

// cachingTx is a transaction of a cachingConn.
type cachingTx struct{ conn *cachingConn }

// Commit implements driver.Tx. After an error there may still be a transaction, which database/sql does not
// expect.
func (t cachingTx) Commit() error {
	err := t.conn.execute(`COMMIT`)
	if err != nil {
		_ = t.Rollback() // fails if there is no transaction
	}
	return err
}

// Rollback implements driver.Tx.
func (t cachingTx) Rollback() error { return t.conn.execute(`ROLLBACK`) }

// Close implements driver.Conn.
func (c *cachingConn) Close() error {
	for _, list := range [...]*simplelru.LRU[string, *statement]{c.once, c.repeated} {
		for _, s := range list.Values() {
			s.remove()
		}
		list.Purge()
	}
	return c.sqliteConn.Close()
}

// statementRows are the rows of a statement of a cachingConn.
type statementRows struct {
	driver.Rows
	statement *statement
}

// Close implements driver.Rows.
func (r *statementRows) Close() error {
	err := r.Rows.Close()
	s := r.statement
	if s == nil {
		return err
	}
	r.statement = nil // the statement may have other rows next
	if s.isReading = false; s.isRemoved {
		_ = s.Close()
	}
	return err
}
