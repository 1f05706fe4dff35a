package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/keptsource"
	"github.com/bunting-flags/bunting/adapters/metrics"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/flags"
)

// A server whose database cannot be reached at the start answers flags from the
// last good definitions, if it has some (decision 29). All that needs the database
// is 503, an unknown key too: it may be known there. /_readiness is 200 and says
// so: a server that answers flags is worth sending requests to, and clients send
// events again. (It is 503 where the database answers and only the start takes long,
// as while another server changes the schema.) It becomes whole by itself.

// lastGoodFolder is the folder in the data folder with the last good definitions.
const lastGoodFolder = "last-good"

// The wait between two attempts to reach the database doubles from the first to
// the last, with chance.
const (
	firstReach = time.Second
	lastReach  = 10 * time.Second
)

// openCopies opens the last good definitions. There are some where the database is
// a server: a file in the data folder is there when they are.
func (s *server) openCopies() {
	if !strings.HasPrefix(s.config.Database, "postgres") || s.config.Data == "" {
		return
	}
	folder := filepath.Join(s.config.Data, lastGoodFolder)
	copies, err := keptsource.Open(folder, s.log)
	if err != nil {
		s.log.Warn("no definitions are kept for a time without the database; choose a folder with --data that this user may write to", "error", err)
		return
	}
	s.copies = copies
}

// flagSource is where flags come from: from the store, keeping the last good ones.
func (s *server) flagSource() flags.Source {
	if s.copies == nil {
		return s.store
	}
	s.keeper = s.copies.Keep(s.store)
	return s.keeper
}

// lastGood is what DeciderConfig.LastGood wants: nil for none.
func (s *server) lastGood() flags.Source {
	if s.copies == nil {
		return nil
	}
	return s.copies
}

// openPatience is how long a start waits for the database where there are copies,
// before it asks whether that answers at all, for a second at most.
const openPatience = time.Second

var errSlow = fmt.Errorf("the database is not ready after %s", openPatience)

// openSoon opens a server that can do without the database: whole, or degraded when
// the database cannot be reached or keeps it waiting, be it for its lock.
func (s *server) openSoon(ctx context.Context) error {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx)) // until close
	s.stopWatch = stop
	if err := s.openGeo(watching); err != nil {
		return err
	}
	if err := s.openDegraded(); err != nil {
		return err
	}
	s.started = make(chan struct{})
	first := make(chan error)
	s.background.Go(func() { s.becomeWhole(watching, first) })
	var reason error
	select {
	case reason = <-first:
		if reason == nil {
			s.handler = nil // nobody has seen it
			s.front.set(s.whole.handler)
			return nil
		}
		if !sqlstore.Unreachable(reason) {
			return reason
		}
	case <-time.After(openPatience):
		reason = errSlow
	case <-ctx.Done():
		return ctx.Err()
	}
	s.degraded = true
	if reason == errSlow {
		s.waits.Store(sqlstore.Ping(ctx, s.config.DatabaseURL()) == nil)
	}
	s.front.set(s.handler)
	s.log.Warn("the database cannot be reached: flags are answered from the last good definitions, everything else waits for it", "projects", s.copies.Len(), "error", reason)
	return nil
}

// opened is the server that has all parts.
func (s *server) opened() *server {
	if s.whole != nil {
		return s.whole
	}
	return s
}

// openDegraded makes what answers flags without the database.
func (s *server) openDegraded() (err error) {
	c := flags.DeciderConfig{Source: gone{}, LastGood: s.copies, People: gone{}, Continuity: gone{}, Usage: gone{}}
	if s.geo != nil {
		c.Locator = s.geo
	}
	decider, err := flags.NewDecider(c)
	if err != nil {
		return err
	}
	if err := s.openScripts(); err != nil {
		return err
	}
	s.handler, err = httpapi.New(httpapi.Config{
		Decider: decider, Keys: gone{}, Partial: true, TrustedProxies: s.config.TrustedProxies, StrictGeoIP: s.config.GeoIPStrict,
		MaxBody: s.config.MaxBody, RateLimits: s.config.RateLimits, TokenRates: s.config.TokenRates, Logger: s.log, PosthogJS: s.scripts,
		Ready:   s.degradedReady,
		Metrics: metrics.Handler(s.flagMetrics(decider)),
	})
	return err
}

// ready reports whether there is something to answer with. It waits as look-ups do: for
// a database that has not answered a moment ago not at all.
func (s *server) ready(ctx context.Context) error {
	projects, err := s.store.Projects(ctx)
	switch {
	case err == nil:
	case s.decider.Stats().Compilations > 0:
		return fmt.Errorf("%w: the database does not answer, flags are answered from the last good definitions", httpapi.ErrDegraded)
	default:
		return errors.New("the database does not answer")
	}
	if len(projects) == 0 {
		return errors.New("there is no project")
	}
	return nil
}

// degradedReady is ready of a degraded server.
func (s *server) degradedReady(context.Context) error {
	if s.waits.Load() { // as during an upgrade, when other servers answer everything
		return errors.New("the database keeps this server waiting")
	}
	return fmt.Errorf("%w: %w", httpapi.ErrDegraded, errGone)
}

// degradedBanner is what the start prints then.
func (s *server) degradedBanner(address net.Addr) string {
	return fmt.Sprintf("%s\nThe database cannot be reached yet. Flags of %d projects are answered from their last good definitions,\neverything else with 503 until it can be.\n",
		s.headline(address), s.copies.Len())
}

// becomeWhole opens everything, and tries again until it can or the context ends. A
// try that fails leaves nothing open. Who waits for the first one is told what
// became of it; where nobody does any more the server has started degraded.
func (s *server) becomeWhole(ctx context.Context, first chan<- error) {
	told := false
	said := ""
	for wait := firstReach; ; wait = min(2*wait, lastReach) {
		whole := &server{
			config: s.config, log: s.log, jobs: s.jobs, files: s.files, copies: s.copies, geo: s.geo, geoShared: true,
			front: s.front, print: s.print,
		}
		err := whole.open(ctx)
		if err == nil && ctx.Err() == nil {
			s.whole = whole
		} else {
			whole.close()
			s.waits.Store(false)
		}
		if !told {
			told = true
			select {
			case first <- err:
				if err == nil || !sqlstore.Unreachable(err) {
					return
				}
				said = err.Error()
			case <-s.started:
			case <-ctx.Done():
				return
			}
		}
		if s.whole != nil {
			s.takeOver(ctx)
			return
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			s.log.Warn("the database cannot be used yet; it is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait/2)):
		}
	}
}

// takeOver makes whole serve.
func (s *server) takeOver(ctx context.Context) {
	select {
	case <-s.started:
	case <-ctx.Done():
		return
	}
	address := s.listener.Addr()
	s.whole.address.Store(&address)
	s.whole.warnOfKeys()
	s.front.set(s.whole.handler)
	s.log.Info("the database is reached: everything is answered again")
	if err := s.print(s.whole.projectsText(ctx, address)); err != nil {
		s.log.Warn("the projects could not be printed", "error", err)
	}
}

// gone is the database that is not there.
type gone struct{}

var errGone = errors.New("the database cannot be reached, flags are answered from the last good definitions")

func (gone) ProjectByKey(context.Context, string) (flags.Project, error) {
	return flags.Project{}, errGone
}

func (gone) Definitions(context.Context, flags.Project) (flags.Definitions, error) {
	return flags.Definitions{}, errGone
}
func (gone) Stored(context.Context, flags.Query) (*flags.Stored, error) { return nil, errGone }
func (gone) Overrides(context.Context, int64, string, string, []string) (map[string]string, error) {
	return nil, errGone
}
func (gone) Spend(context.Context, string, time.Time, int64) (int64, error) { return 0, errGone }
func (gone) Key(context.Context, string) (httpapi.Key, error)               { return httpapi.Key{}, errGone }
