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
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/flags"
)

// A server whose database cannot be reached at the start answers flags from the
// last good definitions, if it has some (decision 29). All that needs the database
// is 503, an unknown key too: it may be known there. /_readiness is 200 and says
// so: a server that answers flags is worth sending requests to, and clients send
// events again. It becomes whole by itself.

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
	if !strings.HasPrefix(s.config.database, "postgres") || s.config.data == "" {
		return
	}
	folder := filepath.Join(s.config.data, lastGoodFolder)
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

// canDegrade reports whether a server can do without the database that could not
// be opened.
func (s *server) canDegrade(err error) bool {
	return s.store == nil && sqlstore.Unreachable(err) && s.copies != nil && s.copies.Len() > 0
}

// degrade makes what answers flags without the database.
func (s *server) degrade(ctx context.Context, reason error) error {
	ctx, s.stopWatch = context.WithCancel(context.WithoutCancel(ctx)) // until close
	if err := s.openGeo(ctx); err != nil {
		return err
	}
	c := flags.DeciderConfig{Source: gone{}, LastGood: s.copies, People: gone{}, Continuity: gone{}, Usage: gone{}}
	if s.geo != nil {
		c.Locator = s.geo
	}
	decider, err := flags.NewDecider(c)
	if err != nil {
		return err
	}
	h, err := httpapi.New(httpapi.Config{
		Decider: decider, Keys: gone{}, Partial: true, TrustedProxies: s.config.trustedProxies, StrictGeoIP: s.config.geoIPStrict,
		MaxBody: s.config.maxBody, RateLimits: s.config.rateLimits, TokenRates: s.config.tokenRates, Logger: s.log,
		Ready: func(context.Context) error { return fmt.Errorf("%w: %w", httpapi.ErrDegraded, errGone) },
	})
	if err != nil {
		return err
	}
	s.front.set(h)
	s.reach = func() { s.becomeWhole(ctx) }
	s.log.Warn("the database cannot be reached: flags are answered from the last good definitions, everything else waits for it", "projects", s.copies.Len(), "error", reason)
	return nil
}

// degradedBanner is what the start prints then.
func (s *server) degradedBanner(address net.Addr) string {
	return fmt.Sprintf("%s\nThe database cannot be reached. Flags of %d projects are answered from their last good definitions,\neverything else with 503 until it can be.\n",
		headline(address), s.copies.Len())
}

// becomeWhole tries to open everything, until it can or the context ends. A try
// that fails leaves nothing open.
func (s *server) becomeWhole(ctx context.Context) {
	said := ""
	for wait := firstReach; ; wait = min(2*wait, lastReach) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait/2)):
		}
		whole := &server{config: s.config, log: s.log, copies: s.copies, geo: s.geo, geoShared: true, beside: s.beside, front: s.front}
		err := whole.open(ctx)
		if err == nil && ctx.Err() == nil {
			s.whole = whole
			address := s.listener.Addr()
			whole.address.Store(&address)
			whole.warnOfKeys()
			s.front.set(whole.handler)
			s.log.Info("the database is reached: everything is answered again")
			if err := s.print(whole.projectsText(ctx, address)); err != nil {
				s.log.Warn("the projects could not be printed", "error", err)
			}
			return
		}
		whole.close()
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			s.log.Warn("the database cannot be used yet; it is tried again", "error", err)
		}
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
