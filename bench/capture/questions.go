package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

const (
	// questionDays is the number of days over which the events are spread.
	questionDays = 30
	questionRuns = 7
	mostOfRead   = 1.5
)

// question is a query, with an equivalent plain read of its rows for comparison.
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
		`SELECT timestamp, event FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND project_id = 1 AND event = 'order placed'`, 40 * time.Millisecond,
	}, {
		"unique people by day of one event", `{"kind":"TrendsQuery","series":[` + node(names[0]) + `,"math":"dau"}],` + questionRange + `}`,
		`SELECT timestamp, event, distinct_id FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND project_id = 1 AND event = 'order placed'`, 0,
	}, {
		"unique people by day", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","math":"dau"}],` + questionRange + `}`,
		`SELECT timestamp, distinct_id FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND project_id = 1`, 200 * time.Millisecond,
	}, {
		"a JSON property over all events", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","properties":[{"key":"duration_ms","type":"event","operator":"gt","value":800}]}],` + questionRange + `}`,
		`SELECT timestamp, properties FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND project_id = 1`, 1500 * time.Millisecond,
	}, {
		"a funnel of three steps in 14 days", `{"kind":"FunnelsQuery","series":[` + node(names[1]) + `},` + node(names[0]) + `},` + node(names[4]) + `}],` + questionRange + `}`,
		`SELECT id, timestamp, event, distinct_id FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND project_id = 1 AND event IN ('item viewed', 'order placed', 'invoice sent')`, 800 * time.Millisecond,
	}, {
		"retention by week", `{"kind":"RetentionQuery",` + questionRange + `,"retentionFilter":{"period":"Week","totalIntervals":5,"targetEntity":{"id":"order placed","type":"events"},"returningEntity":{"id":"item viewed","type":"events"}}}`,
		`SELECT timestamp, event, distinct_id FROM events WHERE id BETWEEN ?1 << 14 AND (?1 << 14) + 16383 AND project_id = 1 AND event IN ('item viewed', 'order placed')`, time.Second,
	},
}

// measureQuestions runs queries over n events in a SQLite file, in this process, and alternately
// reads the same columns of the same rows without a query. The results are the least CPU time of
// seven runs, and the least elapsed time with two processors. If file exists, it is used unchanged.
func (b *bench) measureQuestions(n int, file string) error {
	if file == "" {
		file = filepath.Join(b.dir, "questions.db")
	}
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if err := b.fillQuestions(n, file); err != nil {
			return err
		}
	}
	store, err := sqlstore.Open(context.Background(), "sqlite:"+file, sqlstore.Config{})
	if err != nil {
		return err
	}
	defer store.Close()
	bare, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=cache_size(-2048)")
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
	if err := errors.Join(bare.Close(), store.Close()); err != nil {
		return err
	}
	return b.measureMixed(file)
}

// measure runs the query and the plain read alternately. It returns the CPU time of both, and the
// elapsed time of the query on two processors.
func (q *question) measure(store *sqlstore.Store, bare *sql.DB) (ours, other, passed time.Duration, err error) {
	query, err := insights.Parse(json.RawMessage(q.query), &port.Project{ID: 1})
	if err != nil {
		return 0, 0, 0, err
	}
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for round := range questionRuns {
		began := ownCPU()
		result, err := query.Run(context.Background(), store, port.Options{Now: now})
		if err != nil {
			return 0, 0, 0, err
		}
		between := ownCPU()
		rows, err := q.read(bare)
		if err != nil {
			return 0, 0, 0, err
		}
		took, read := between-began, ownCPU()-between
		beganAt := time.Now()
		if _, err := query.Run(context.Background(), unsharedStore{store}, port.Options{Now: now}); err != nil {
			return 0, 0, 0, err
		}
		on2 := time.Since(beganAt)
		if round == 0 {
			ours, other, passed = took, read, on2
		}
		ours, other, passed = min(ours, took), min(other, read), min(passed, on2)
		if int64(rows) != result.Read {
			return 0, 0, 0, fmt.Errorf("%d events are read, beside it %d", result.Read, rows)
		}
	}
	return ours, other, passed, nil
}

// unsharedStore is a store whose scans may use a second processor, as queries may while a server
// has no other work.
type unsharedStore struct{ port.Source }

func (s unsharedStore) Open(ctx context.Context, projectID int64) (port.Reader, error) {
	r, err := s.Source.Open(ctx, projectID)
	return unsharedReader{r}, err
}

type unsharedReader struct{ port.Reader }

func (r unsharedReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	s.HasSpareCPU = func() bool { return true }
	return r.Reader.Scan(ctx, s, yield)
}

// ownCPU returns the user and system time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // the arguments are valid
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// read reads the rows with the database driver, epoch by epoch in their stored order.
func (q *question) read(bare *sql.DB) (n int, err error) {
	var last int64
	if err := bare.QueryRow(`SELECT MAX(id) FROM events`).Scan(&last); err != nil {
		return 0, err
	}
	conn, err := bare.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	err = conn.Raw(func(driverConn any) error {
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
				n++
			}
			if err = errors.Join(ignoreError(err, io.EOF), rows.Close()); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

func ignoreError(err, but error) error {
	if errors.Is(err, but) {
		return nil
	}
	return err
}

// fillQuestions stores n events of the mix with a server, spread over 30 days, and moves its
// database to file.
func (b *bench) fillQuestions(n int, file string) error {
	p, data, err := b.sqlite()
	if err != nil {
		return err
	}
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
		later += questionDays * 24 * time.Hour * time.Duration(part) / time.Duration(n)
		b.logf("%d of %d events for questions", from+part, n)
	}
	time.Sleep(settle)
	if err := errors.Join(err, p.stop()); err != nil {
		return err
	}
	return os.Rename(filepath.Join(data, "bunting.db"), file)
}
