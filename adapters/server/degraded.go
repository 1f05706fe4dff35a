package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/fallbacksource"
	"github.com/bunting-flags/bunting/adapters/internal/metrics"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// A server that cannot reach its database at the start evaluates flags with the last good
// definitions, if it has some (decision 29). Every request that needs the database gets 503, also
// one with an unknown key, because the database may have it. /_readiness is 200 and reports this
// state: it is worth sending requests to a server that evaluates flags, and clients retry events.
// (It is 503 if the database responds and only the start takes long, for example while another
// server changes the schema.) The server recovers without a restart.

// lastGoodFolder is the folder with the last good definitions, in the data folder.
const lastGoodFolder = "last-good"

// The wait between two attempts to reach the database doubles from firstReach to lastReach, with
// jitter.
const (
	firstReach = time.Second
	lastReach  = 10 * time.Second
)

// openPatience is how long a start with copies waits for the database. After it, the server sends
// one ping, with a timeout of a second, to find out whether the database responds at all.
const openPatience = time.Second

var errSlow = fmt.Errorf("the database is not ready after %s", openPatience)

// degraded serves requests without the database.
type degraded struct {
	decider  *serving.Decider
	handler  *httpapi.Handler
	measured metrics.Config
	waits    atomic.Bool // the database responds but is not ready for this server
}

// openCopies opens the last good definitions. It does so only for a database server: an SQLite file
// in the data folder is available whenever the copies are.
func (s *Server) openCopies() {
	if !strings.HasPrefix(s.options.Database, "postgres") || s.options.Data == "" {
		return
	}
	folder := filepath.Join(s.options.Data, lastGoodFolder)
	copies, err := fallbacksource.Open(folder, s.options.Logger)
	if err != nil {
		s.options.Logger.Warn("no definitions are stored for use when the database is unavailable; choose a folder with Options.Data that this user can write to", "error", err)
		return
	}
	s.copies = copies
}

// openSoon opens a server that can start without the database: with all parts, or degraded if the
// database cannot be reached or is not ready within openPatience, for example because of a lock.
func (s *Server) openSoon(ctx, watching context.Context) (err error) {
	if s.degraded, err = s.openDegraded(); err != nil {
		return err
	}
	started := make(chan struct{}) // closed when openSoon no longer waits for the first attempt
	defer close(started)
	first := make(chan attempt)
	s.background.Go(func() { s.openUntilReady(watching, first, started) })
	var reason error
	select {
	case t := <-first:
		if t.err == nil {
			return s.activate(t.parts)
		}
		if reason = t.err; !sqlstore.IsUnreachable(reason) {
			return reason
		}
	case <-time.After(openPatience):
		reason = errSlow
	case <-ctx.Done():
		return ctx.Err()
	}
	if errors.Is(reason, errSlow) {
		s.degraded.waits.Store(sqlstore.Ping(ctx, s.options.DatabaseURL()) == nil)
	}
	s.front.set(s.degraded.handler)
	if err := s.register(s.degraded.measured); err != nil {
		return err
	}
	s.options.Logger.Warn("the database cannot be reached: flags are evaluated with the last valid definitions, everything else waits for it", "projects", s.copies.Len(), "error", reason)
	return nil
}

// openDegraded creates the handler that evaluates flags without the database.
func (s *Server) openDegraded() (*degraded, error) {
	d := &degraded{}
	c := serving.Config{Source: missingDatabase{}, LastGood: s.copies, People: missingDatabase{}, Continuity: missingDatabase{}, Usage: missingDatabase{}}
	if s.geo != nil {
		c.Locator = s.geo
	}
	var err error
	if d.decider, err = serving.NewDecider(c); err != nil {
		return nil, err
	}
	o := &s.options
	d.measured = s.flagMetrics(d.decider, func() *httpapi.Handler { return d.handler })
	d.handler, err = httpapi.New(httpapi.Config{
		Decider: d.decider, Keys: missingDatabase{}, Partial: true, TrustedProxies: o.TrustedProxies, StrictGeoIP: o.StrictGeoIP,
		MaxBody: o.MaxBody, RateLimits: o.RateLimits, TokenRates: o.TokenRates, Logger: o.Logger, PosthogJS: s.scripts,
		Ready: d.ready, NewID: o.NewID,
		Metrics: metrics.Handler(d.measured), TracerProvider: o.TracerProvider, Propagator: o.Propagator,
	})
	return d, err
}

// ready returns an error that reports that only flags are available.
func (d *degraded) ready(context.Context) error {
	if d.waits.Load() { // as during an upgrade, when other servers serve all requests
		return errors.New("the database is too slow")
	}
	return fmt.Errorf("%w: %w", httpapi.ErrDegraded, errNoDatabase)
}

// ready returns an error if the server cannot serve all requests. It has the timeout of other
// look-ups, and does not wait for a database that failed to respond a moment ago.
func (p *parts) ready(ctx context.Context) error {
	projects, err := p.projects(ctx)
	switch {
	case err == nil:
	case p.decider.Stats().Compilations > 0:
		return fmt.Errorf("%w: the database does not respond, flags are evaluated with the last valid definitions", httpapi.ErrDegraded)
	default:
		return errors.New("the database does not respond")
	}
	if len(projects) == 0 {
		return errors.New("there is no project")
	}
	return nil
}

// attempt is the result of trying to open all parts.
type attempt struct {
	parts *parts
	err   error
}

// openUntilReady opens all parts, and retries until that succeeds or the context ends. It sends the
// result of the first attempt to openSoon if that still waits, which it does until started is
// closed.
func (s *Server) openUntilReady(ctx context.Context, first chan<- attempt, started <-chan struct{}) {
	logged := ""
	for wait := firstReach; ; wait = min(2*wait, lastReach) {
		p, err := s.openParts(ctx, ctx)
		if err != nil {
			s.degraded.waits.Store(false)
		}
		select {
		case first <- attempt{p, err}:
			if err == nil || !sqlstore.IsUnreachable(err) {
				return
			}
			logged = err.Error()
		case <-started:
			if err == nil {
				if err := s.activate(p); err != nil {
					s.options.Logger.Error("the metrics are not exported", "error", err)
				}
				s.options.Logger.Info("the database can be reached again: all requests are answered")
				return
			}
			if ctx.Err() == nil && err.Error() != logged {
				logged = err.Error()
				s.options.Logger.Warn("the database cannot be used yet; trying again", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait/2)):
		}
	}
}

// missingDatabase implements the interfaces of the database with errNoDatabase.
type missingDatabase struct{}

var errNoDatabase = errors.New("the database cannot be reached, flags are evaluated with the last valid definitions")

func (missingDatabase) ProjectByKey(context.Context, string) (flags.Project, error) {
	return flags.Project{}, errNoDatabase
}

func (missingDatabase) Definitions(context.Context, flags.Project) (flags.Definitions, error) {
	return flags.Definitions{}, errNoDatabase
}
func (missingDatabase) Stored(context.Context, serving.Query) (*flags.Stored, error) {
	return nil, errNoDatabase
}
func (missingDatabase) Overrides(context.Context, int64, string, string, []string) (map[string]string, error) {
	return nil, errNoDatabase
}
func (missingDatabase) Spend(context.Context, string, time.Time, int64) (int64, error) {
	return 0, errNoDatabase
}
func (missingDatabase) Key(context.Context, string) (httpapi.Key, error) {
	return httpapi.Key{}, errNoDatabase
}
