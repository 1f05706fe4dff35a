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
	"sync/atomic"
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

// question is a query, with an equivalent plain read of a table with a row for each event for
// comparison.
type question struct {
	name, query, rows string
	most              time.Duration // time limit for a million events
}

const questionRange = `"dateRange":{"date_from":"2026-01-01","date_to":"2026-01-31"}`

func node(event string) string {
	return fmt.Sprintf(`{"kind":"EventsNode","event":%q`, event)
}

var questions = []question{
	{
		"count by day of one event", `{"kind":"TrendsQuery","series":[` + node(names[0]) + `}],` + questionRange + `}`,
		`SELECT timestamp, event FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND event = 'order placed'`, 40 * time.Millisecond,
	}, {
		"unique people by day of one event", `{"kind":"TrendsQuery","series":[` + node(names[0]) + `,"math":"dau"}],` + questionRange + `}`,
		`SELECT timestamp, event, distinct_id FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND event = 'order placed'`, 0,
	}, {
		"unique people by day", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","math":"dau"}],` + questionRange + `}`,
		`SELECT timestamp, distinct_id FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383`, 200 * time.Millisecond,
	}, {
		"a JSON property over all events", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","properties":[{"key":"duration_ms","type":"event","operator":"gt","value":800}]}],` + questionRange + `}`,
		`SELECT timestamp, properties FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383`, 1500 * time.Millisecond,
	}, {
		"a funnel of three steps in 14 days", `{"kind":"FunnelsQuery","series":[` + node(names[1]) + `},` + node(names[0]) + `},` + node(names[4]) + `}],` + questionRange + `}`,
		`SELECT id, timestamp, event, distinct_id FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND event IN ('item viewed', 'order placed', 'invoice sent')`, 800 * time.Millisecond,
	}, {
		"retention by week", `{"kind":"RetentionQuery",` + questionRange + `,"retentionFilter":{"period":"Week","totalIntervals":5,"targetEntity":{"id":"order placed","type":"events"},"returningEntity":{"id":"item viewed","type":"events"}}}`,
		`SELECT timestamp, event, distinct_id FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND event IN ('item viewed', 'order placed')`, time.Second,
	},
}

// measureQuestions runs queries over n events in a SQLite file, in this process, and alternately
// reads the same columns of the same rows without a query. The results are the least CPU time of
// seven runs, and the least elapsed time with two processors. The rows are in a file of their own. If
// file exists, both are used unchanged.
func (b *bench) measureQuestions(n int, file string) error {
	if file == "" {
		file = filepath.Join(b.dir, "questions.db")
	}
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if err := b.fillQuestions(n, file); err != nil {
			return err
		}
	}
	store, err := openQuestioned(file)
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
	if err := errors.Join(bare.Close(), store.close()); err != nil {
		return err
	}
	return b.measureMixed(file)
}

// questioned is a server in this process that is only asked questions.
type questioned struct {
	handler http.Handler
	close   func() error
}

// openQuestioned opens a server on a database, in which the caller of each request is the owner.
func openQuestioned(file string) (questioned, error) {
	ctx := context.Background()
	s, err := server.Open(ctx, server.Options{Database: "sqlite:" + file, Authenticate: func(*http.Request) (*management.Caller, error) {
		return &management.Caller{User: &management.User{Email: server.DefaultOwnerEmail}}, nil
	}})
	if err != nil {
		return questioned{}, err
	}
	return questioned{handler: s.Handler(), close: sync.OnceValue(func() error { return s.Close(ctx) })}, nil
}

// ask runs a query without a cached result. While processors is 1, the scan does not use a second
// processor, which it may if a server has no other work.
func (s questioned) ask(query string, processors int) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/api/projects/1/query/", strings.NewReader(`{"query":`+query+`,"refresh":"force_blocking"}`))
	r.Header.Set("Content-Type", "application/json")
	s.handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return fmt.Errorf("%d %s", w.Code, w.Body)
	}
	return nil
}

// measure runs the query and the plain read alternately. It returns the CPU time of both, and the
// elapsed time of the query on two processors.
func (q *question) measure(server questioned, bare *sql.DB) (ours, other, passed time.Duration, err error) {
	for round := range questionRuns {
		began := ownCPU()
		if err := server.ask(q.query, 1); err != nil {
			return 0, 0, 0, err
		}
		between := ownCPU()
		if err := q.read(bare); err != nil {
			return 0, 0, 0, err
		}
		took, read := between-began, ownCPU()-between
		beganAt := time.Now()
		if err := server.ask(q.query, 2); err != nil {
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
	return conn.Raw(func(driverConn any) error {
		queryer, ok := driverConn.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("a connection that is a %T cannot be asked", driverConn)
		}
		for epoch := range last>>14 + 1 {
			rows, err := queryer.QueryContext(context.Background(), q.rows, []driver.NamedValue{{Ordinal: 1, Value: epoch}})
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

// bareFile is the end of the name of the file with a row for each event.
const bareFile = ".rows"

// fillQuestions stores n events of the mix with a server, spread over 30 days, and moves its
// database to file. It stores the same events as rows.
func (b *bench) fillQuestions(n int, file string) error {
	p, data, err := b.sqlite()
	if err != nil {
		return err
	}
	var stored atomic.Int64
	rows, err := openBareStore(file+bareFile, groupEvents, &stored)
	if err != nil {
		return errors.Join(err, p.stop())
	}
	defer rows.close()
	bare := httptest.NewServer(&bareServer{store: rows.append})
	defer bare.Close()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var later time.Duration
	for from := 0; from < n && err == nil; from += bigPart {
		var requests []request
		part := min(bigPart, n-from)
		requests, err = batches(part/batchSize, func(g *generator) {
			// Each core's generator writes every second batch.
			g.clock, g.tick = start.Add(later), questionDays*24*time.Hour/time.Duration(n)*time.Duration(runtime.GOMAXPROCS(0))
		})
		if err == nil {
			_, err = load{address: p.address, connections: batchConnections, requests: requests, check: checkAccepted}.run()
		}
		if err == nil {
			_, err = load{address: strings.TrimPrefix(bare.URL, "http://"), connections: batchConnections, requests: requests, check: checkAccepted}.run()
		}
		later += questionDays * 24 * time.Hour * time.Duration(part) / time.Duration(n)
		b.logf("%d of %d events for questions", from+part, n)
	}
	time.Sleep(settle)
	if err := errors.Join(err, p.stop()); err != nil {
		return err
	}
	return os.Rename(filepath.Join(data, "bunting.db"), file)
}
