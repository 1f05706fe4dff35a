package main

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite"

	"github.com/bunting-flags/bunting/capture"
)

const (
	// groupEvents is the approximate number of events at which a transaction is full, insertRows
	// the number of rows of one statement.
	groupEvents = 2_000
	insertRows  = 50
)

// barePragmas are the pragmas of the server's own store.
var barePragmas = []string{"journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(4000)", "cache_size(-24576)"}

// bareStore is one SQLite table to which a goroutine writes.
type bareStore struct {
	db       *sql.DB
	one      *sql.Stmt
	many     *sql.Stmt
	maxGroup int
	queue    chan bareJob
	stored   *atomic.Int64
	ended    chan struct{}
}

type bareJob struct {
	events *capture.Submission
	done   chan error
}

func openBareStore(file string, maxGroup int, stored *atomic.Int64) (*bareStore, error) {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": barePragmas}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	for _, text := range []string{
		`CREATE TABLE events (id INTEGER PRIMARY KEY, uuid BLOB NOT NULL, event TEXT NOT NULL, distinct_id TEXT NOT NULL,
			timestamp INTEGER NOT NULL, properties TEXT NOT NULL)`,
		`CREATE UNIQUE INDEX events_by_uuid ON events (uuid)`,
		`CREATE INDEX events_by_time ON events (timestamp)`,
	} {
		if _, err := db.Exec(text); err != nil {
			return nil, err
		}
	}
	const into = `INSERT INTO events (uuid, event, distinct_id, timestamp, properties) VALUES `
	s := &bareStore{db: db, maxGroup: maxGroup, queue: make(chan bareJob, 4096), stored: stored, ended: make(chan struct{})}
	if s.one, err = db.Prepare(into + "(?, ?, ?, ?, ?)"); err != nil {
		return nil, err
	}
	if s.many, err = db.Prepare(into + strings.Repeat("(?, ?, ?, ?, ?), ", insertRows-1) + "(?, ?, ?, ?, ?)"); err != nil {
		return nil, err
	}
	go s.run()
	return s, nil
}

func (s *bareStore) close() {
	close(s.queue)
	<-s.ended
	_ = s.db.Close()
}

// append returns when the events are durable.
func (s *bareStore) append(events *capture.Submission) error {
	j := bareJob{events, make(chan error, 1)}
	s.queue <- j
	return <-j.done
}

// run collects waiting jobs into groups, and commits each group in one transaction.
func (s *bareStore) run() {
	defer close(s.ended)
	var group []bareJob
	for j := range s.queue {
		group = append(group[:0], j)
		n := len(j.events.Items)
		for waiting := true; waiting && n < s.maxGroup; {
			select {
			case j, waiting = <-s.queue:
				if waiting {
					group = append(group, j)
					n += len(j.events.Items)
				}
			default:
				waiting = false
			}
		}
		err := s.commit(group)
		if err == nil {
			s.stored.Add(int64(n))
		}
		for _, j := range group {
			j.done <- err
		}
	}
}

// commit inserts a group in one transaction.
func (s *bareStore) commit(group []bareJob) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // no effect after a commit
	one, many := tx.Stmt(s.one), tx.Stmt(s.many)
	var args []any
	const columns = 5
	for _, j := range group {
		for i := range j.events.Items {
			if args, err = appendRow(args, &j.events.Items[i]); err != nil {
				return err
			}
			if len(args) == insertRows*columns {
				if _, err := many.Exec(args...); err != nil {
					return err
				}
				args = args[:0]
			}
		}
	}
	for ; len(args) > 0; args = args[columns:] {
		if _, err := one.Exec(args[:columns]...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func appendRow(args []any, it *capture.Item) ([]any, error) {
	at, err := time.Parse(time.RFC3339, it.Timestamp)
	if err != nil {
		return args, fmt.Errorf("timestamp: %w", err)
	}
	size := 2
	for _, m := range it.Properties {
		size += len(m.Key) + len(m.Value) + 4
	}
	text := append(make([]byte, 0, size), '{')
	for n, m := range it.Properties {
		if n > 0 {
			text = append(text, ',')
		}
		text = append(text, '"')
		text = append(text, m.Key...) // our own keys need no escapes
		text = append(text, '"', ':')
		text = append(text, m.Value...)
	}
	return append(args, it.UUID[:], it.Name, it.DistinctID, at.UnixMicro(), string(append(text, '}'))), nil
}
