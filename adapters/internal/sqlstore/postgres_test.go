package sqlstore

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// postgresURL returns the URL of a database that has the tables and no rows.
func postgresURL(t testing.TB) string {
	t.Helper()
	return pgtest.PostgresMigrated(t, Open)
}

func postgresStore(t testing.TB) *Store {
	t.Helper()
	return openStore(t, postgresURL(t))
}

func TestPostgres_Restart(t *testing.T) {
	c := pgtest.StartPostgres(t, 0, pgtest.QuickPostgres)
	s := openStore(t, c.Database(t))
	if err := commitEvents(s, 1, 10); err != nil {
		t.Fatal(err)
	}
	c.Stop(t)
	err := commitEvents(s, 11, 10)
	if err == nil || !strings.Contains(err.Error(), "look whether PostgreSQL runs") {
		t.Errorf("without a server: %v, want an error that says where to look", err)
	}
	c.Start(t)
	for deadline := time.Now().Add(time.Minute); ; {
		if err = commitEvents(s, 11, 10); err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		t.Errorf("after the restart: %v", err)
	}
	if n := countEvents(t, s); n != 20 {
		t.Errorf("%d events, want 20", n)
	}
}

// Two servers change one person: both changes are stored (§13.2).
func TestPostgres_13_2_TwoServers(t *testing.T) {
	address := postgresURL(t)
	stores := []*Store{openStore(t, address), openStore(t, address)}
	testTwoWriters(t, stores[0], stores[1])
}

func TestPostgres_Addresses(t *testing.T) {
	for _, tt := range []struct{ name, url, want string }{
		{"no server", "postgres://ann:s3cret@127.0.0.1:1/db", "look whether PostgreSQL runs"},
		{"malformed", "postgres://ann:s3cret@host:port/db", "the address cannot be read"},
		{"malformed escape", "postgresql://ann:s3cret%zz@host/db", "the address cannot be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(context.Background(), tt.url, Config{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v, want an error with %q and without the password", err, tt.want)
			}
		})
	}
	address := postgresURL(t)
	_, err := Open(context.Background(), strings.Replace(address, "/test_", "/missing_", 1), Config{})
	if err == nil || !strings.Contains(err.Error(), "createdb") {
		t.Errorf("without the database: %v, want an error that says how to make it", err)
	}
}

// Servers that start at the same time migrate one after the other.
func TestPostgres_MigrateTogether(t *testing.T) {
	address := pgtest.Postgres(t)
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() {
			s, err := Open(context.Background(), address, Config{})
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// Without statistics, PostgreSQL must not read all rows of a project to find some of
// them by key.
func TestPostgres_FindsByKey(t *testing.T) {
	s := openStore(t, postgresURL(t))
	for name, b := range map[string]*database.Bulk{
		"people": &findPeople, "groups": &findGroups, "flag calls": &findCalls, "names": &findSeen, "overridden": &findOverridden, "erased": &findErased,
	} {
		args := make([]any, b.Fixed)
		for i := range args {
			args[i] = "1"
		}
		rows := database.BulkSizes[1]
		for range rows {
			args = append(args, []byte("some key"))
		}
		var plan strings.Builder
		err := database.Query(context.Background(), s.db.Read, func(rows *sql.Rows) error {
			var line string
			err := rows.Scan(&line)
			plan.WriteString(line + "\n")
			return err
		}, "EXPLAIN "+b.Texts()[1], args...)
		if err != nil || !regexp.MustCompile(`Index Cond: .*column1`).MatchString(plan.String()) {
			t.Errorf("%s, %v: not by key:\n%s", name, err, &plan)
		}
	}
}
