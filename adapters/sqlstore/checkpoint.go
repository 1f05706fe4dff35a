package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"
)

const (
	// checkpointPause is how long commits gather before their pages are moved: those
	// that several have written are moved once.
	checkpointPause = 100 * time.Millisecond
	// longLog is at how many pages the log is brought to its end, so that it begins
	// anew: 16 MiB.
	longLog = 4000
	// longestLog is at how many pages a commit moves them itself: 128 MiB.
	longestLog = 32000
)

// checkpointer moves pages from SQLite's log into the database on a connection
// of its own, beside the commits. Under a steady load it never catches up with
// the log's end, so it moves the last part on the connection that writes, between
// two commits.
type checkpointer struct {
	db, write *sql.DB
	logger    *slog.Logger
	wake      chan struct{}
	running   *background
}

func startCheckpointer(db, write *sql.DB, logger *slog.Logger) *checkpointer {
	c := &checkpointer{db: db, write: write, logger: logger, wake: make(chan struct{}, 1)}
	c.running = runInBackground(c.run)
	return c
}

// wakeUp tells of pages to move. A nil checkpointer has nothing to do.
func (c *checkpointer) wakeUp() {
	if c == nil {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// close stops it. What stands in the log stays there, and counts.
func (c *checkpointer) close() error {
	if c == nil {
		return nil
	}
	c.running.close()
	return c.db.Close()
}

func (c *checkpointer) run(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	<-pause.C
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		pause.Reset(checkpointPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		pages, err := checkpoint(ctx, c.db)
		if err == nil && pages >= longLog {
			_, err = checkpoint(ctx, c.write)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			// The log keeps everything meanwhile, and commits say what is wrong.
			c.logger.Debug("moving pages from SQLite's log", "error", err)
		}
	}
}

// checkpoint moves what can be moved without waiting for anybody, and returns the
// length of the log in pages.
func checkpoint(ctx context.Context, db *sql.DB) (pages int, err error) {
	var busy, moved int
	err = db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &pages, &moved)
	return pages, err
}
