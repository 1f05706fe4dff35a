package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/management"
)

const (
	// questionDays is the number of days over which the events are spread.
	questionDays = 30
	questionRuns = 7
	mostOfRead   = 1.5
)

// question is a query, with the same for DuckDB, and an equivalent plain read of a table with a row for
// each event for comparison.
type question struct {
	name, query, duck string
	columns, where    string // columns to read of the rows, and their condition
	// Time limits: for a million events in the database, and for ten million in segments.
	most, mostSealed time.Duration
	isCount          bool // DuckDB counts the same events; persons may have been merged later
}

const (
	questionRange = `"dateRange":{"date_from":"2026-01-01","date_to":"2026-01-31"}`
	duckDay       = `epoch_us(timestamp) // 86400000000`
	duckRange     = ` timestamp >= TIMESTAMPTZ '2026-01-01 00:00:00+00' AND timestamp < TIMESTAMPTZ '2026-02-01 00:00:00+00'`
)

func node(event string) string {
	return fmt.Sprintf(`{"kind":"EventsNode","event":%q`, event)
}

// filtered is a query of the number of events by day with a filter on a property.
func filtered(filter string) string {
	return `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","properties":[` + filter + `]}],` + questionRange + `}`
}

// duckTrend is a statement of a value by day.
func duckTrend(value, from, where string) string {
	return `SELECT (` + duckDay + `)::VARCHAR, ` + value + `::VARCHAR FROM ` + from + ` WHERE ` + where + duckRange + ` GROUP BY ` + duckDay + ` ORDER BY ` + duckDay
}

// duckFunnel counts the persons that have reached each step: an event of a step has the latest start of a
// funnel that has reached the previous step.
const duckFunnel = `WITH first AS (
	SELECT person_id, timestamp, event, max(CASE WHEN event = 'item viewed' THEN timestamp END) OVER (PARTITION BY person_id ORDER BY timestamp) AS start
	FROM {files} WHERE event IN ('item viewed', 'order placed', 'invoice sent') AND` + duckRange + `
), second AS (
	SELECT *, max(CASE WHEN event = 'order placed' AND timestamp <= start + INTERVAL 336 HOUR THEN start END) OVER (PARTITION BY person_id ORDER BY timestamp) AS start2 FROM first
)
SELECT count(DISTINCT CASE WHEN event = 'item viewed' THEN person_id END)::VARCHAR,
	count(DISTINCT CASE WHEN start2 IS NOT NULL THEN person_id END)::VARCHAR,
	count(DISTINCT CASE WHEN event = 'invoice sent' AND timestamp <= start2 + INTERVAL 336 HOUR THEN person_id END)::VARCHAR FROM second`

// duckRetention counts the persons of each week that return in each later week.
const duckRetention = `WITH target AS (SELECT DISTINCT person_id, (` + duckDay + ` + 4) // 7 AS week FROM {files} WHERE event = 'order placed' AND` + duckRange + `),
	back AS (SELECT DISTINCT person_id, (` + duckDay + ` + 4) // 7 AS week FROM {files} WHERE event = 'item viewed' AND` + duckRange + `)
SELECT target.week::VARCHAR, (back.week - target.week)::VARCHAR, count(*)::VARCHAR FROM target JOIN back ON back.person_id = target.person_id AND back.week >= target.week
GROUP BY 1, 2 ORDER BY 1, 2`

const duckURL = "https://shop.example.com/products/77?utm_source=newsletter&utm_campaign=autumn"

var questions = []question{
	{
		name: "count by day of one event", query: `{"kind":"TrendsQuery","series":[` + node(names[0]) + `}],` + questionRange + `}`,
		columns: `timestamp, event`, where: `event = 'order placed'`, duck: duckTrend(`count(*)`, `{files}`, `event = 'order placed' AND`),
		most: 40 * time.Millisecond, mostSealed: 60 * time.Millisecond, isCount: true,
	}, {
		name: "unique people by day of one event", query: `{"kind":"TrendsQuery","series":[` + node(names[0]) + `,"math":"dau"}],` + questionRange + `}`,
		columns: `timestamp, event, distinct_id`, where: `event = 'order placed'`, duck: duckTrend(`count(DISTINCT person_id)`, `{files}`, `event = 'order placed' AND`),
		mostSealed: 250 * time.Millisecond,
	}, {
		name: "unique people by day", query: `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","math":"dau"}],` + questionRange + `}`,
		columns: `timestamp, distinct_id`, where: `TRUE`, duck: duckTrend(`count(DISTINCT person_id)`, `{files}`, ``),
		most: 200 * time.Millisecond, mostSealed: 250 * time.Millisecond,
	}, {
		name: "a filter on a frequent property", query: filtered(`{"key":"duration_ms","type":"event","operator":"gt","value":800}`),
		columns: `timestamp, properties`, where: `TRUE`, duck: duckTrend(`count(*)`, `{all}`, `"properties.duration_ms"::VARCHAR::DOUBLE > 800 AND`),
		most: 1500 * time.Millisecond, mostSealed: 500 * time.Millisecond, isCount: true,
	}, {
		name: "a funnel of three steps in 14 days", query: `{"kind":"FunnelsQuery","series":[` + node(names[1]) + `},` + node(names[0]) + `},` + node(names[4]) + `}],` + questionRange + `}`,
		columns: `id, timestamp, event, distinct_id`, where: `event IN ('item viewed', 'order placed', 'invoice sent')`, duck: duckFunnel,
		most: 800 * time.Millisecond, mostSealed: time.Second,
	}, {
		name: "retention by week", query: `{"kind":"RetentionQuery",` + questionRange + `,"retentionFilter":{"period":"Week","totalIntervals":5,"targetEntity":{"id":"order placed","type":"events"},"returningEntity":{"id":"item viewed","type":"events"}}}`,
		columns: `timestamp, event, distinct_id`, where: `event IN ('item viewed', 'order placed')`, duck: duckRetention,
		most: time.Second, mostSealed: 1500 * time.Millisecond,
	}, {
		name: "a filter on a rare property", query: filtered(`{"key":"$current_url","type":"event","operator":"exact","value":["` + duckURL + `"]}`),
		columns: `timestamp, properties`, where: `TRUE`, duck: duckTrend(`count(*)`, `{files}`, `properties->>'$.$current_url' = '`+duckURL+`' AND`),
		mostSealed: 3 * time.Second, isCount: true,
	},
}

// measureQuestions runs queries over n events in a SQLite file, in this process, and then queries
// together with other requests. If the file exists, it is used unchanged.
func (b *bench) measureQuestions(n int, file string) error {
	if file == "" {
		file = filepath.Join(b.dir, "questions.db")
	}
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if err := b.fillQuestions(n, file); err != nil {
			return err
		}
	}
	ask := b.compareRows
	if b.config.sealed {
		ask = b.compareDuckDB
	}
	if b.config.ask > 0 {
		if err := ask(n, file); err != nil {
			return err
		}
	}
	return b.measureMixed(file)
}

// compareRows alternately runs queries and reads the same columns of the same rows without a query. The
// results are the least CPU time of seven runs, and the least elapsed time with two processors. The rows are in
// a file of their own.
func (b *bench) compareRows(n int, file string) error {
	store, err := b.openQuestioned(file, "")
	if err != nil {
		return err
	}
	defer store.close()
	bare, err := sql.Open("sqlite", "file:"+file+bareFile+"?mode=ro&_pragma=cache_size(-2048)")
	if err != nil {
		return err
	}
	defer bare.Close()
	bare.SetMaxOpenConns(1)
	b.table.section("questions about %d events, CPU, least of %d; other: reading the same rows", n, questionRuns)
	for _, q := range questions {
		ours, other, passed, err := q.measure(store, bare)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		b.table.compare(q.name, ours.Seconds()*1000, other.Seconds()*1000, func(ms float64) string { return fmt.Sprintf("%.0f ms", ms) })
		b.table.judge("≤ 1.5", ours.Seconds() <= mostOfRead*other.Seconds())
		b.table.figure("  time that passes, on two processors", millis(passed))
		if q.most > 0 {
			b.table.judge(fmt.Sprintf("≤ %s", q.most), passed <= q.most)
		}
	}
	return errors.Join(bare.Close(), store.close())
}

// questioned is a server in this process that is only asked questions.
type questioned struct {
	handler http.Handler
	close   func() error
}

// openQuestioned opens a server on a database, in which the caller of each request is the owner. segments
// is its folder of segments, or empty.
func (b *bench) openQuestioned(file, segments string) (questioned, error) {
	ctx := context.Background()
	s, err := server.Open(ctx, server.Options{Database: "sqlite:" + file, Segments: segments, Memory: int64(b.config.memory) << 20, Authenticate: func(*http.Request) (*management.Caller, error) {
		return &management.Caller{User: &management.User{Email: server.DefaultOwnerEmail}}, nil
	}})
	if err != nil {
		return questioned{}, err
	}
	return questioned{handler: s.Handler(), close: sync.OnceValue(func() error { return s.Close(ctx) })}, nil
}

// ask runs a query without a cached result, and returns the response. While processors is 1, the scan does
// not use a second processor, which it may if a server has no other work.
func (s questioned) ask(query string, processors int) ([]byte, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	r := httptest.NewRequest(http.MethodPost, "/api/projects/1/query/", strings.NewReader(`{"query":`+query+`,"refresh":"force_blocking"}`))
	r.Header.Set("Content-Type", "application/json")
	return s.do(r)
}

// do sends a request, whose response must have the status 200, and returns its body.
func (s questioned) do(r *http.Request) ([]byte, error) {
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("%s: %d %s", r.URL, w.Code, w.Body)
	}
	return w.Body.Bytes(), nil
}

// measure runs the query and the plain read alternately. It returns the CPU time of both, and the
// elapsed time of the query on two processors.
func (q *question) measure(server questioned, bare *sql.DB) (ours, other, passed time.Duration, err error) {
	for round := range questionRuns {
		began := ownCPU()
		if _, err := server.ask(q.query, 1); err != nil {
			return 0, 0, 0, err
		}
		between := ownCPU()
		if err := q.read(bare); err != nil {
			return 0, 0, 0, err
		}
		took, read := between-began, ownCPU()-between
		beganAt := time.Now()
		if _, err := server.ask(q.query, 2); err != nil {
			return 0, 0, 0, err
		}
		on2 := time.Since(beganAt)
		if round == 0 {
			ours, other, passed = took, read, on2
		}
		ours, other, passed = min(ours, took), min(other, read), min(passed, on2)
	}
	return ours, other, passed, nil
}

// ownCPU returns the user and system time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // the arguments are valid
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// read reads the rows with the database driver, epoch by epoch in their stored order.
func (q *question) read(bare *sql.DB) error {
	var last int64
	if err := bare.QueryRow(`SELECT MAX(id) FROM events`).Scan(&last); err != nil {
		return err
	}
	conn, err := bare.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	query := `SELECT ` + q.columns + ` FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND ` + q.where
	return conn.Raw(func(driverConn any) error {
		queryer, ok := driverConn.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("a connection that is a %T cannot be asked", driverConn)
		}
		for epoch := range last>>14 + 1 {
			rows, err := queryer.QueryContext(context.Background(), query, []driver.NamedValue{{Ordinal: 1, Value: epoch}})
			if err != nil {
				return err
			}
			row := make([]driver.Value, len(rows.Columns()))
			for err = rows.Next(row); err == nil; err = rows.Next(row) {
			}
			if err = errors.Join(ignoreError(err, io.EOF), rows.Close()); err != nil {
				return err
			}
		}
		return nil
	})
}

func ignoreError(err, but error) error {
	if errors.Is(err, but) {
		return nil
	}
	return err
}
