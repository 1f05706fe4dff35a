package httpapi_test

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/adapters/storetest"
)

// officeDatabases are PostgreSQL databases that offices reuse, since resetting one takes less time
// than creating one.
type officeDatabases struct {
	server *storetest.PostgresServer
	free   chan string
}

// keepFresh copies the contents of all tables of a new database.
const keepFresh = `DO $$ DECLARE r record; BEGIN
	CREATE SCHEMA fresh;
	FOR r IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' LOOP
		EXECUTE format('CREATE TABLE fresh.%I AS TABLE public.%I', r.name, r.name);
	END LOOP;
END $$`

// makeFresh restores the contents that keepFresh copied.
const makeFresh = `DO $$ DECLARE r record; BEGIN
	FOR r IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' LOOP
		EXECUTE format('DELETE FROM public.%I', r.name);
		EXECUTE format('INSERT INTO public.%I SELECT * FROM fresh.%I', r.name, r.name);
	END LOOP;
	FOR r IN SELECT format('public.%I', sequencename)::regclass AS name FROM pg_sequences WHERE schemaname = 'public' LOOP
		PERFORM setval(r.name, 1, false);
	END LOOP;
END $$`

func inDatabase(t testing.TB, url, text string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// office returns an office with exclusive use of a database.
func (d *officeDatabases) office(t *testing.T) *office {
	t.Helper()
	url := <-d.free
	t.Cleanup(func() { // after the office has closed
		inDatabase(t, url, makeFresh)
		d.free <- url
	})
	return newOffice(t, url)
}

// Every case of the management API has the same responses with PostgreSQL.
func TestManagement_PostgresCases(t *testing.T) {
	d := officeDatabases{server: storetest.StartPostgres(t, 0, storetest.QuickPostgres), free: make(chan string, 8)}
	for range cap(d.free) { // each office has up to eight connections, of a hundred
		url := d.server.Database(t)
		store, err := sqlstore.Open(context.Background(), url, sqlstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		inDatabase(t, url, keepFresh)
		d.free <- url
	}
	eachManageCase(t, "", func(t *testing.T, c *manageCase) { d.office(t).walk(t, c.Steps) })
	t.Run("restricted", func(t *testing.T) {
		eachManageCase(t, "restricted", func(t *testing.T, c *manageCase) {
			o := d.office(t)
			o.restrict(t)
			o.walk(t, c.Steps)
		})
	})
}
