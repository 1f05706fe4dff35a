package exports_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// pgHost is a PostgreSQL server that listens on TCP and has a user ann.
type pgHost struct {
	*pgtest.PostgresServer
	port int
}

const annPassword = `s3cret "1`

func newHost(t *testing.T) *pgHost {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	h := &pgHost{pgtest.StartPostgres(t, port, pgtest.QuickPostgres), port}
	h.Admin(t, "CREATE ROLE ann_s3cret LOGIN PASSWORD '"+annPassword+"'")
	return h
}

// database creates a database of ann's, and returns its settings and a superuser connection to it.
func (h *pgHost) database(t *testing.T) (map[string]any, *pgx.Conn) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	name := conn.Config().Database
	h.Admin(t, "ALTER DATABASE "+name+" OWNER TO ann_s3cret")
	return map[string]any{"host": "127.0.0.1", "port": h.port, "database": name, "user": "ann_s3cret", "password": annPassword, "sslmode": "prefer"}, conn
}

// rowsOf returns a query's rows as JSON.
func rowsOf(t *testing.T, conn *pgx.Conn, query string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT to_jsonb(q)::text FROM ("+query+") q")
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func exec(t *testing.T, conn *pgx.Conn, text string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func TestPostgres(t *testing.T) {
	host := newHost(t)
	for name, test := range map[string]func(*testing.T, *pgHost){
		"rows": testPGRows, "again": testPGAgain, "upsert": testPGUpsert, "existing tables": testPGExisting, "all or nothing": testPGAtomic,
		"PostHog's table": testPGAppended, "newer rows": testPGNewer, "at once": testPGAtOnce, "errors": testPGErrors, "steps": testPGSteps, "TLS": testPGTLS,
	} {
		t.Run(name, func(t *testing.T) { test(t, host) })
	}
}

func testPGRows(t *testing.T, h *pgHost) {
	config, conn := h.database(t)
	exec(t, conn, `CREATE SCHEMA "My ""schema" AUTHORIZATION ann_s3cret; SET TimeZone TO UTC`)
	config["schema"], config["table_name"] = `My "schema`, `T; DROP TABLE x; --`
	odd := [][]any{
		oddRows[0],
		{"u2", "a\x00b", "\xff", time.Time{}, json.RawMessage(`{"a\u0000":"\ud800","n":1e5000}`), false, int64(0), []string(nil)},
		{"u3", nil, nil, nil, nil, nil, nil, nil},
	}
	done := run(t, newRunner(), jobOf(job("Postgres", config, 0), odd...))
	if done.Rows != 3 || done.Bytes == 0 {
		t.Errorf("done %+v", done)
	}
	got := rowsOf(t, conn, `SELECT * FROM "My ""schema"."T; DROP TABLE x; --" ORDER BY uuid`)
	want := []string{
		`{"ids": ["x", "<y>"], "uuid": "u1", "count": -4611686018427387904, "event": "a <b> & \"c\"\n", "timestamp": "2026-01-01T12:00:00.000001+00:00", "identified": true, "properties": {"a": 1}, "distinct_id": "é` + "\u2028" + `"}`,
		`{"ids": [], "uuid": "u2", "count": 0, "event": "a` + "\uFFFD" + `b", "timestamp": "0001-01-01T00:00:00+00:00", "identified": false, "properties": {"a": "", "n": "1e5000"}, "distinct_id": "` + "\uFFFD" + `"}`,
		`{"ids": null, "uuid": "u3", "count": null, "event": null, "timestamp": null, "identified": null, "properties": null, "distinct_id": null}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	types := rowsOf(t, conn, `SELECT column_name AS c, udt_name AS t FROM information_schema.columns WHERE table_name LIKE 'T;%' ORDER BY ordinal_position`)
	if diff := cmp.Diff([]string{
		`{"c": "uuid", "t": "text"}`, `{"c": "event", "t": "text"}`, `{"c": "distinct_id", "t": "text"}`, `{"c": "timestamp", "t": "timestamptz"}`,
		`{"c": "properties", "t": "jsonb"}`, `{"c": "identified", "t": "bool"}`, `{"c": "count", "t": "int8"}`, `{"c": "ids", "t": "_text"}`,
	}, types); diff != "" {
		t.Error(diff)
	}
}

// A repeated run has no effect, and neither has another run with the same rows.
func testPGAgain(t *testing.T, h *pgHost) {
	config, conn := h.database(t)
	j := job("Postgres", config, 1000)
	first := run(t, newRunner(), j)
	exec(t, conn, "DELETE FROM events WHERE uuid = '"+uuid(7)+"'")
	read := false
	again := *j
	again.Rows = func(context.Context, func([]any) error) error { read = true; return nil }
	if second := run(t, newRunner(), &again); second != first || read {
		t.Errorf("again: %+v, rows asked for: %v; want %+v and not", second, read, first)
	}
	exec(t, conn, "UPDATE bunting_export_runs SET finished_at = now() - interval '31 days'")
	j.Run = "run-2"
	run(t, newRunner(), j)
	if diff := cmp.Diff([]string{`{"n": 1000}`}, rowsOf(t, conn, "SELECT count(*) AS n FROM events")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`{"run": "run-2", "rows": 1000}`}, rowsOf(t, conn, "SELECT run, rows FROM bunting_export_runs")); diff != "" {
		t.Error(diff)
	}
}

// Events are immutable; for persons and sessions the last row is stored.
func testPGUpsert(t *testing.T, h *pgHost) {
	config, conn := h.database(t)
	for model, want := range map[string]string{"events": `{"a": "x", "n": 1}`, "persons": `{"a": "x", "n": 3}`} {
		config["table_name"] = model
		j := job("Postgres", config, 0)
		j.Model, j.Key = model, []string{"a"}
		j.Columns = []batchexports.Column{{Name: "a"}, {Name: "n", Type: batchexports.IntColumn}}
		j.Run = model + "1"
		run(t, newRunner(), jobOf(j, []any{"x", int64(1)}))
		j.Run = model + "2"
		run(t, newRunner(), jobOf(j, []any{"x", int64(2)}, []any{"x", int64(3)}))
		if diff := cmp.Diff([]string{want}, rowsOf(t, conn, "SELECT * FROM "+model)); diff != "" {
			t.Errorf("%s: %s", model, diff)
		}
	}
	// Keys that are too long for an index stay unique.
	config["table_name"] = "long"
	long := strings.Repeat("é", 499)
	for i := range 2000 {
		long += fmt.Sprintf("%x", i*i*i)
	}
	j := job("Postgres", config, 0)
	j.Model, j.Key, j.Columns = "sessions", []string{"a"}, []batchexports.Column{{Name: "a"}, {Name: "n", Type: batchexports.IntColumn}}
	for _, name := range []string{"long1", "long2"} {
		j.Run = name
		run(t, newRunner(), jobOf(j, []any{long, int64(1)}, []any{long + "x", int64(2)}))
	}
	want := []string{`{"n": 1, "short": true}`, `{"n": 2, "short": true}`}
	if diff := cmp.Diff(want, rowsOf(t, conn, "SELECT n, octet_length(a) <= 1100 AND a LIKE 'é%#%' AS short FROM long ORDER BY n")); diff != "" {
		t.Error(diff)
	}
	// A table that has only key columns.
	config["table_name"] = "keys"
	j = job("Postgres", config, 0)
	j.Run, j.Model, j.Key, j.Columns = "keys", "persons", []string{"a"}, []batchexports.Column{{Name: "a"}}
	run(t, newRunner(), jobOf(j, []any{"x"}, []any{"x"}))
	// Without a key, duplicate rows are stored.
	config["table_name"] = "loose"
	j.Destination, j.Run, j.Key = destination("Postgres", config), "loose", nil
	run(t, newRunner(), jobOf(j, []any{"x"}, []any{"x"}))
	run(t, newRunner(), jobOf(j, []any{"x"}, []any{"x"}))
	if diff := cmp.Diff([]string{`{"k": 1, "l": 2}`}, rowsOf(t, conn, "SELECT (SELECT count(*) FROM keys) AS k, (SELECT count(*) FROM loose) AS l")); diff != "" {
		t.Error(diff)
	}
}

// Existing tables keep their types; missing columns are reported before any row is read.
func testPGExisting(t *testing.T, h *pgHost) {
	config, conn := h.database(t)
	exec(t, conn, "SET ROLE ann_s3cret")
	exec(t, conn, "CREATE TABLE events (id bigserial, uuid uuid UNIQUE, event varchar(200), distinct_id varchar(200), timestamp timestamptz, properties json, identified bool, count int, ids jsonb)")
	run(t, newRunner(), job("Postgres", config, 2))
	want := []string{`{"id": 1, "ids": ["a", "0"], "uuid": "` + uuid(0) + `", "count": 0, "properties": {"n": 0}}`, `{"id": 2, "ids": ["a", "1"], "uuid": "` + uuid(1) + `", "count": 1, "properties": {"n": 1}}`}
	if diff := cmp.Diff(want, rowsOf(t, conn, "SELECT id, uuid, count, properties, ids FROM events ORDER BY id")); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"DROP TABLE events; CREATE TABLE events (uuid text, event text, distinct_id text, timestamp timestamptz, properties jsonb, identified bool, count int, ids text[])": "has no unique index",
		"DROP TABLE events; CREATE TABLE events (uuid text PRIMARY KEY)": `column "event" does not exist`,
		"REVOKE INSERT ON events FROM ann_s3cret":                        "permission denied for table events",
	} {
		exec(t, conn, text)
		j := job("Postgres", config, 0)
		j.Run = text
		j.Rows = func(context.Context, func([]any) error) error { t.Error("rows were read"); return nil }
		_, err := newRunner().Run(t.Context(), j)
		wantError(t, err, want, true)
		exec(t, conn, "DROP TABLE events; CREATE TABLE events (uuid text PRIMARY KEY, event text, distinct_id text, timestamp timestamptz, properties jsonb, identified bool, count int, ids text[])")
	}
}

// An interrupted run leaves neither rows nor its row in runsTable.
func testPGAtomic(t *testing.T, h *pgHost) {
	config, conn := h.database(t)
	j := job("Postgres", config, 0)
	broken := errors.New("the store is gone")
	j.Rows = func(_ context.Context, yield func([]any) error) error {
		values := make([]any, len(columns))
		for i := range 5000 {
			row(values, i)
			if err := yield(values); err != nil {
				return err
			}
		}
		return broken
	}
	if _, err := newRunner().Run(t.Context(), j); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the rows", err)
	}
	// The connection is lost while the rows are sent.
	j.Rows = func(_ context.Context, yield func([]any) error) error {
		values := make([]any, len(columns))
		for i := range 1_000_000 {
			if row(values, i); i == 5000 {
				exec(t, conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bunting'")
			}
			if err := yield(values); err != nil {
				return err
			}
		}
		return errors.New("nobody noticed")
	}
	_, err := newRunner().Run(t.Context(), j)
	wantError(t, err, "", false)
	if err != nil && strings.Contains(err.Error(), "nobody noticed") {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{`{"e": 0, "r": 0}`}, rowsOf(t, conn, "SELECT (SELECT count(*) FROM events) AS e, (SELECT count(*) FROM bunting_export_runs) AS r")); diff != "" {
		t.Error(diff)
	}
	run(t, newRunner(), job("Postgres", config, 10))
}

// Concurrent servers with the same run write it once, also if its table does not exist yet.
func testPGAtOnce(t *testing.T, h *pgHost) {
	config, conn := h.database(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			j := job("Postgres", config, 500)
			j.Key = nil // without an upsert
			j.Run = fmt.Sprintf("run-%d", i%2)
			if done, err := newRunner().Run(t.Context(), j); err != nil || done.Rows != 500 {
				t.Errorf("%+v, %v", done, err)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff([]string{`{"n": 1000}`}, rowsOf(t, conn, "SELECT count(*) AS n FROM events")); diff != "" {
		t.Error(diff)
	}
}

func testPGErrors(t *testing.T, h *pgHost) {
	config, _ := h.database(t)
	with := func(name string, value any) map[string]any {
		out := map[string]any{}
		for k, v := range config {
			out[k] = v
		}
		out[name] = value
		return out
	}
	for name, tt := range map[string]struct {
		runner *exports.Runner
		config map[string]any
		text   string
		lasts  bool
	}{
		"private":        {exports.New(exports.Config{}), config, "is not public, and this server does not allow it", true},
		"by name":        {exports.New(exports.Config{}), with("host", "localhost"), "is not public, and this server does not allow it", true},
		"a socket":       {newRunner(), with("host", h.Dir), "not the name or the address of one server", true},
		"two servers":    {newRunner(), with("host", "10.0.0.1,127.0.0.1"), "not the name or the address of one server", true},
		"password":       {newRunner(), with("password", "wr0ng-one"), "does not take the user or the password", true},
		"user":           {newRunner(), with("user", "nobody_s3cret"), "does not take the user or the password", true},
		"database":       {newRunner(), with("database", "missing"), `no database "missing"`, true},
		"schema":         {newRunner(), with("schema", "missing"), `schema "missing" does not exist`, true},
		"missing":        {newRunner(), with("host", ""), "missing required field: 'host'", true},
		"nobody listens": {newRunner(), with("port", 1), "connection refused", false},
		"plain text":     {newRunner(), with("sslmode", nil), "does not speak TLS there", true},
		"plain text 2":   {newRunner(), with("sslmode", "require"), "does not speak TLS there", true},
		"a large port":   {newRunner(), with("port", 70000), "port", true},
		"NUL":            {newRunner(), with("password", "s3cret\x00"), "must not contain NUL", true},
		"no such host":   {newRunner(), with("host", "s3cret.invalid"), "its name ", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tt.runner.Run(t.Context(), job("Postgres", tt.config, 1))
			wantError(t, err, tt.text, tt.lasts)
			wantNoSecret(t, err, "ann_s3cret", "nobody_s3cret", annPassword, `s3cret \"1`, "wr0ng-one")
		})
	}
	// PostgreSQL's message may include the name of the user.
	_, err := newRunner().Run(t.Context(), job("Postgres", with("schema", "ann_s3cret"), 1))
	wantError(t, err, `schema "***" does not exist`, true)
	wantNoSecret(t, err, "ann_s3cret", annPassword)
}

func testPGSteps(t *testing.T, h *pgHost) {
	config, conn := h.database(t)
	d := destination("Postgres", config)
	allSteps(t, newRunner(), d, func(step int) {
		want := `{"n": false}`
		if step == 2 {
			want = `{"n": true}`
		}
		if got := rowsOf(t, conn, "SELECT to_regclass('bunting_export_test') IS NOT NULL AS n"); got[0] != want {
			t.Errorf("after step %d there is a test table: %s", step, got)
		}
	})
	wantError(t, exports.New(exports.Config{}).Test(t.Context(), d, 0), "not public", true)
	config["schema"] = "missing"
	wantError(t, newRunner().Test(t.Context(), destination("Postgres", config), 1), `no schema "missing"`, true)
	config["password"] = "wrong"
	wantError(t, newRunner().Test(t.Context(), destination("Postgres", config), 1), "does not take the user or the password", true)
	delete(config, "user")
	wantError(t, newRunner().Test(t.Context(), destination("Postgres", config), 1), "it's not configured", true)
}
