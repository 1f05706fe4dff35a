package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/memory"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/copies"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/people"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/serving"
)

// Config configures a Store. The zero value is valid.
type Config struct {
	// Logger receives messages for operators. If nil, messages are discarded.
	Logger *slog.Logger
	// Now is the clock. If nil, it is time.Now.
	Now func() time.Time
	// Changed is called with the id of a project after its definitions or group types
	// were changed durably, by this process or, on PostgreSQL, by another server. An id
	// of 0 means all projects: changes by other servers may have been missed. Changed
	// must be safe for concurrent use. If nil, changes are not reported.
	Changed func(projectID int64)
	// Segments is the folder of the files with sealed events (internal/segment), or s3://BUCKET/PREFIX.
	// Several servers need the same one. If empty, events are not sealed. A store whose catalogue
	// lists segments must be opened with their folder.
	Segments string
	// SealAfter is the age of an event from which it is sealed at the latest. If it is not positive, segments
	// are read, and events are sealed only by Seal: all of them if it is negative.
	SealAfter time.Duration
	// Sealed is called after each attempt to seal events that has done something or failed. If nil, it
	// is not called.
	Sealed func(err error)
	// Memory limits the caches. Zero means the shares of the default memory of a server.
	Memory memory.Shares

	sealing events.Sealing
	// keepsOlder is true if the events of an earlier schema are converted only by calls of events.Convert.
	keepsOlder bool
}

// The parts of a Store that are embedded, without names that users see.
type (
	peopleStore = people.Store
	eventReader = events.Reader
)

// Store is a store on one SQL database. It is safe for concurrent use. It must be
// created by Open.
//
// It implements serving.Source, serving.People, serving.Continuity, serving.Members and
// serving.Usage; capture.Ledger, capture.Indexer, capture.History, capture.UsageReader and
// capture.PositionReader; port.Source, queries.States and queries.RunStore.
type Store struct {
	*peopleStore
	*eventReader
	db       *database.DB
	files    *segment.Folder // nil if events are not sealed
	logger   *slog.Logger
	now      func() time.Time
	people   *people.Cache
	changed  func(projectID int64)
	rewrites rewrites
	events   *events.Log

	name     string               // unique for this server, identifies its notifications
	listener *database.Background // nil if there are no other servers
	sealer   *database.Background // nil if events are not sealed in the background
	// converter is nil if there were no events of an earlier schema at the start.
	converter *database.Background
	sealed    func(err error)
	failure   sealFailure
	managing  chan struct{} // contains a token while this server writes for management
	// hasFolder is true when the folder of segments is known to be that of the database.
	hasFolder bool
}

// Open opens a database and migrates its schema to the newest version. The url has one
// of the forms
//
//	sqlite:PATH                     a file, created if it does not exist
//	sqlite::memory:                 in memory only, for tests
//	postgres://user:password@host/database, postgresql://...
//
// Errors contain a hint for the operator where there is one and never contain a
// password. The caller must close the store.
func Open(ctx context.Context, url string, c Config) (*Store, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.sealing.RemoveAfter = cmp.Or(c.sealing.RemoveAfter, time.Minute)
	if c.Changed == nil {
		c.Changed = func(int64) {}
	}
	if c.Sealed == nil {
		c.Sealed = func(error) {}
	}
	c.sealing.After = cmp.Or(c.sealing.After, c.SealAfter)
	if c.sealing.Now == nil {
		c.sealing.Now = c.Now
	}
	if c.Memory == (memory.Shares{}) {
		c.Memory = memory.Of(0)
	}
	db, err := database.OpenCaching(ctx, url, database.Caches{Writer: c.Memory.WriterPages, Reader: c.Memory.ReaderPages})
	if err != nil {
		return nil, err
	}
	if c.Segments != "" {
		if c.sealing.Files, err = segment.Open(c.Segments, db.File); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		c.sealing.Files.SetMemory(c.Memory.Metadata, c.Memory.Parts)
	}
	db.Start(c.Logger)
	s := newStore(db, c)
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", db.DisplayURL, db.Dialect.Explain(err)), s.Close())
	}
	if db.Listen != nil {
		s.listener = database.RunInBackground((&listener{config: db.Listen, store: s}).run)
	}
	hasOlder, err := s.events.HasOlder(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", db.DisplayURL, db.Dialect.Explain(err)), s.Close())
	}
	if hasOlder && !c.keepsOlder {
		s.converter = database.RunInBackground(s.convert)
	}
	if s.files != nil && c.SealAfter > 0 {
		s.sealer = database.RunInBackground(s.seal)
	}
	return s, nil
}

// newStore returns a store on an open database. All fields of c must be set.
func newStore(db *database.DB, c Config) *Store {
	cache := people.NewCache(int(c.Memory.People))
	persons, log := people.New(db, c.Now, cache), events.NewLog(db, c.sealing, c.Memory)
	s := &Store{
		peopleStore: persons, eventReader: events.NewReader(db, log, persons, c.Memory.Owners),
		db: db, files: c.sealing.Files, logger: c.Logger, now: c.Now, people: cache, changed: c.Changed, events: log,
		name: serverName(), managing: make(chan struct{}, 1), sealed: c.Sealed,
	}
	s.Merged = s.rewrites.merged
	return s
}

// Ping connects to a PostgreSQL database and checks that it responds, whatever its
// contents. It returns after at most a second.
func Ping(ctx context.Context, url string) error { return database.Ping(ctx, url) }

// IsUnreachable reports whether an error of this package means that the database could
// not be reached, as opposed to an error that the database returned. Such an operation
// may succeed later.
func IsUnreachable(err error) bool { return database.IsUnreachable(err) }

// start prepares an open database: it migrates the schema, refuses a database that is
// the incomplete target of a move, and initializes the ledger.
func (s *Store) start(ctx context.Context) error {
	if err := events.Migrate(ctx, s.db, s.logger); err != nil {
		return err
	}
	if err := copies.CheckComplete(ctx, s.db); err != nil {
		return err
	}
	if err := s.events.Start(ctx, s.logger); err != nil {
		return err
	}
	err := s.checkFolder(ctx)
	if errors.Is(err, segment.ErrUnavailable) { // seal checks it again
		s.logger.Error("segment files cannot be read; the server starts without them", "error", err)
		return nil
	}
	return err
}

// Close stops the background work and closes the database. Committed data does not
// depend on it: it is durable after a crash too.
func (s *Store) Close() error {
	s.listener.Close()
	s.converter.Close()
	var err error
	if s.files != nil { // ends requests of the sealer to a bucket
		err = s.files.Close()
	}
	s.sealer.Close()
	s.events.StopSealing()
	return errors.Join(err, s.db.Close())
}

// The interfaces that the embedded readers implement.
var (
	_ serving.People     = (*Store)(nil)
	_ serving.Continuity = (*Store)(nil)
	_ serving.Members    = (*Store)(nil)
	_ port.Source        = (*Store)(nil)
	_ queries.States     = (*Store)(nil)
)

// Rewritten implements queries.States.
func (s *Store) Rewritten(projectID, from, to int64) (people []capture.UUID, ok bool) {
	return s.rewrites.between(projectID, from, to)
}
