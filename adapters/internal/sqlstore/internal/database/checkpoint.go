package database

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// checkpointPause is the delay between a commit and its checkpoint, so that a page
	// that several commits have written is moved only once.
	checkpointPause = 500 * time.Millisecond
	// longLog is the number of pages of the log, 16 MiB, from which the rest of it is
	// moved on the writing connection too, so that the log starts from its beginning.
	longLog = 4000
	// longestLog is the number of pages of the log, 128 MiB, from which a commit runs a
	// checkpoint itself.
	longestLog = 32000
	// emptyPause is the delay between two attempts to empty the log.
	emptyPause = time.Second
)

// checkpointer moves pages from SQLite's write-ahead log into the database file, on a
// connection of its own and concurrently with commits. Under steady load it never
// reaches the end of the log; therefore it moves the last part on the connection that
// writes, between two commits.
type checkpointer struct {
	db, write *sql.DB
	logger    *slog.Logger
	wake      chan struct{}
	running   *Background
	empty     atomic.Bool // Empty was called and the log was not empty since
}

// startCheckpointer starts a checkpointer on db, the connection for checkpoints.
func startCheckpointer(db, write *sql.DB, logger *slog.Logger) *checkpointer {
	c := &checkpointer{db: db, write: write, logger: logger, wake: make(chan struct{}, 1)}
	c.Empty() // after a crash, erased data may still be in the log
	c.running = RunInBackground(c.run)
	return c
}

// WakeUp reports that there are pages to move. It does not block, and has no effect on
// a nil checkpointer.
func (c *checkpointer) WakeUp() {
	if c == nil {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Empty requests that the log is emptied as soon as no reader needs it, because erased data is still
// in it. It does not block, and has no effect on a nil checkpointer.
func (c *checkpointer) Empty() {
	if c != nil {
		c.empty.Store(true)
		c.WakeUp()
	}
}

// Close stops the checkpointer. Pages that are still in the log stay there; they are
// part of the database.
func (c *checkpointer) Close() {
	if c != nil {
		c.running.Close()
	}
}

// Run runs a checkpoint after each WakeUp and checkpointPause.
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
		pages := 0
		err := c.cutLogForLitestream(ctx)
		if err == nil {
			pages, err = checkpoint(ctx, c.db)
		}
		if err == nil && pages >= longLog {
			// Commits have added pages meanwhile. The fewer are left, the shorter the next commit waits for
			// the connection that writes.
			if _, err = checkpoint(ctx, c.db); err == nil {
				_, err = checkpoint(ctx, c.write)
			}
		}
		if err == nil && c.empty.Swap(false) {
			var isEmpty bool
			if isEmpty, err = truncate(ctx, c.db); !isEmpty {
				time.AfterFunc(emptyPause, c.Empty)
			}
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			// No data is lost: the pages stay in the log, and the commits report errors
			// of the disk.
			c.logger.Debug("SQLite's log could not be checkpointed", "error", err)
		}
	}
}

// cutLogForLitestream has an effect if Litestream replicates the database, which its table shows.
// From then on, the first commit after the log has started from its beginning cuts the file after
// its pages. While Litestream runs, the log does not start again before Litestream has read it. When
// it starts after a pause, it compares the last page that it has read with the file; if that page
// were still there, behind a new beginning, Litestream would continue with this beginning and never
// replicate what was written and moved to the database meanwhile. Without the page it makes a
// snapshot.
func (c *checkpointer) cutLogForLitestream(ctx context.Context) error {
	var tables int
	err := c.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE name = '_litestream_seq'`).Scan(&tables)
	if err == nil && tables > 0 {
		_, err = c.write.ExecContext(ctx, `PRAGMA journal_size_limit = 0`)
	}
	return err
}

// checkpoint moves the pages that can be moved without waiting for readers or writers,
// and returns the length of the log in pages.
func checkpoint(ctx context.Context, db *sql.DB) (pages int, err error) {
	var busy, moved int
	err = db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &pages, &moved)
	return pages, err
}

// truncate empties the log, unless another connection uses it: commits must not wait for a reader.
func truncate(ctx context.Context, db *sql.DB) (isEmpty bool, err error) {
	if _, err := db.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
		return false, err
	}
	var busy, pages, moved int
	err = db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved)
	return err == nil && busy == 0, err
}
