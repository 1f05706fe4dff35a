package pgtest

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// migratedPostgres is a pool of databases on the shared server whose tables exist. Tests use
// them one after another, because emptying a database is a hundred times as fast as
// creating one.
type migratedPostgres struct {
	mu   sync.Mutex
	free []*reusableDatabase
}

// reusableDatabase is a database that another test may use after it was emptied.
type reusableDatabase struct {
	name string
	conn *pgx.Conn // empties it
}

// PostgresMigrated returns the URL of a PostgreSQL database on the server of Postgres in
// which open has created the tables, with only the rows that open writes. Tests of migrations
// use Postgres instead.
func PostgresMigrated[C any, S io.Closer](t testing.TB, open func(ctx context.Context, url string, c C) (S, error)) string {
	t.Helper()
	s := sharedPostgres(t)
	d := s.migrated.take()
	if d == nil {
		d = &reusableDatabase{name: s.newName()}
		s.Admin(t, "CREATE DATABASE "+d.name)
		migrate(t, s.databaseURL(d.name), open)
		d.prepare(t, s.databaseURL(d.name))
	}
	t.Cleanup(func() { // after the stores of the test are closed
		if d.empty() {
			s.migrated.put(d)
			return
		}
		_ = d.conn.Close(context.Background())
		s.drop(t, d.name)
	})
	return s.databaseURL(d.name)
}

func (m *migratedPostgres) take() *reusableDatabase {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := len(m.free) - 1
	if last < 0 {
		return nil
	}
	d := m.free[last]
	m.free = m.free[:last]
	return d
}

func (m *migratedPostgres) put(d *reusableDatabase) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, d)
}

func (d *reusableDatabase) prepare(t testing.TB, url string) {
	t.Helper()
	ctx := context.Background()
	var err error
	d.conn, err = pgx.Connect(ctx, url)
	must(t, err)
	_, err = d.conn.Exec(ctx, postgresEmptying)
	must(t, err)
}

// empty restores the initial rows and reports whether it succeeded. It fails after a test
// that changed the schema.
func (d *reusableDatabase) empty() (done bool) {
	ctx := context.Background()
	if err := d.conn.QueryRow(ctx, `SELECT emptying.empty()`).Scan(&done); err != nil {
		return false
	}
	return done
}

// postgresEmptying prepares a new database for use by several tests: it copies the rows of
// the tables, creates a function emptying.empty that restores exactly these rows, and notes changes of
// the schema, after which that function returns false.
const postgresEmptying = `
CREATE SCHEMA emptying;
CREATE TABLE emptying.changes (what TEXT);

DO $prepare$
DECLARE
	r RECORD;
	filled BOOLEAN;
	body TEXT := '';
BEGIN
	FOR r IN SELECT format('public.%I', tablename) AS name, format('emptying.%I', 'was_' || tablename) AS was FROM pg_tables WHERE schemaname = 'public' LOOP
		-- What is large is quicker truncated, which makes new files, than deleted.
		body := body || format($$
	IF pg_table_size(%1$L) > 1000000 THEN TRUNCATE %1$s; ELSIF pg_relation_size(%1$L) > 0 THEN DELETE FROM %1$s; END IF;$$, r.name);
		EXECUTE format('SELECT EXISTS (SELECT FROM %s)', r.name) INTO filled;
		IF filled THEN
			EXECUTE format('CREATE TABLE %s AS TABLE %s', r.was, r.name);
			body := body || format($$
	INSERT INTO %s SELECT * FROM %s;$$, r.name, r.was);
		END IF;
	END LOOP;
	FOR r IN SELECT format('public.%I', sequencename) AS name, coalesce(last_value, start_value) AS value, last_value IS NOT NULL AS used
		FROM pg_sequences WHERE schemaname = 'public' LOOP
		body := body || format($$
	PERFORM setval(%L, %s, %L);$$, r.name, r.value, r.used);
	END LOOP;
	EXECUTE format($$CREATE FUNCTION emptying.empty() RETURNS BOOLEAN LANGUAGE plpgsql AS %L$$, 'BEGIN
	IF EXISTS (SELECT FROM emptying.changes) THEN RETURN false; END IF;
	PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();' || body || '
	RETURN true;
END');
END
$prepare$;

CREATE FUNCTION emptying.note() RETURNS EVENT_TRIGGER LANGUAGE plpgsql SECURITY DEFINER AS
	'BEGIN INSERT INTO emptying.changes VALUES (tg_tag); END';
CREATE EVENT TRIGGER emptying_note ON ddl_command_end EXECUTE FUNCTION emptying.note();
`
