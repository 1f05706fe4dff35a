package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/keptsource"
	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management/rooms"
)

// parts are what a server has of its database, and the work over it.
type parts struct {
	*Options
	server *Server
	log    *slog.Logger
	jobs   *jobs

	store     *sqlstore.Store
	recorder  *capture.Recorder
	source    *filesource.Source // nil without Options.Definitions
	keeper    *keptsource.Keeper // nil without copies
	stream    *natsstream.Stream // nil without Options.Stream
	processor *capture.Processor // nil without Options.Stream
	intake    *capture.Intake
	decider   *flags.Decider
	deciding  atomic.Pointer[flags.Decider] // decider, for those who may come before it
	manager   *rooms.Rooms
	handler   *httpapi.Handler

	mailQueued chan struct{} // nil where no mails are sent
	applying   sync.Mutex    // held while files are brought into the store
	warnOnce   sync.Once
	stop       context.CancelFunc
	background sync.WaitGroup
}

// openParts makes all parts, from the ground up, for as long as watching goes on.
// When the first context ends meanwhile it fails soon, whatever it waits for.
func (s *Server) openParts(starting, watching context.Context) (*parts, error) {
	p := &parts{Options: &s.options, server: s, log: s.options.Logger, jobs: s.jobs}
	ctx, stop := context.WithCancel(watching)
	p.stop = stop
	if err := p.open(starting, ctx); err != nil {
		if closing := p.close(); closing != nil {
			p.log.Error("the store could not be closed", "error", closing)
		}
		return nil, err
	}
	return p, nil
}

func (p *parts) open(starting, ctx context.Context) (err error) {
	if err := p.openStore(starting); err != nil {
		return err
	}
	if err := p.openManagement(); err != nil {
		return err
	}
	if err := p.openDefinitions(starting, ctx); err != nil {
		return err
	}
	if err := p.manager.Organizations.TellBrowsers(starting); err != nil {
		return err
	}
	if err := p.openStream(ctx); err != nil {
		return err
	}
	if err := p.openIntake(); err != nil {
		return err
	}
	for _, work := range []func(context.Context){p.retain, p.deliverMail, p.runExports, p.schedule, p.follow, p.reportMerges} {
		p.background.Go(func() { work(ctx) })
	}
	if err := p.openDecider(); err != nil {
		return err
	}
	p.handler, err = httpapi.New(httpapi.Config{
		Decider: p.decider, Intake: p.intake, History: p.store, People: &capture.People{History: p.store, Between: p.recorder, Intake: p.intake}, Keys: keys{p.store},
		Management: p.manager, ManagementLimits: *p.ManagementLimits, Backup: p.backups(),
		TrustedProxies: p.TrustedProxies, StrictGeoIP: p.StrictGeoIP,
		MaxBody: p.MaxBody, RateLimits: p.RateLimits, TokenRates: p.TokenRates,
		Ready: p.ready, Metrics: p.metrics(), Logger: p.log, LogRequests: p.LogRequests,
		PosthogJS: p.server.scripts,
	})
	if err != nil {
		return err
	}
	p.background.Go(func() { p.reportSpent(ctx) })
	return nil
}

// openDecider makes what decides: by the flags of the store, keeping the last good ones.
func (p *parts) openDecider() (err error) {
	c := flags.DeciderConfig{Source: p.store, People: p.store, Continuity: p.store, Members: p.store, Usage: p.store}
	if copies := p.server.copies; copies != nil {
		p.keeper = copies.Keep(p.store)
		c.Source, c.LastGood = p.keeper, copies
	}
	if p.server.geo != nil {
		c.Locator = p.server.geo
	}
	if p.decider, err = flags.NewDecider(c); err != nil {
		return err
	}
	p.deciding.Store(p.decider)
	return nil
}

// close ends all that was opened; the error is that of the store.
func (p *parts) close() error {
	if p.handler != nil {
		p.handler.CloseStreams() // they read the store
	}
	p.stop()
	if p.source != nil {
		_ = p.source.Close()
	}
	p.background.Wait()
	if p.keeper != nil {
		p.keeper.Close()
	}
	if p.stream != nil {
		p.stream.Close()
	}
	if p.recorder != nil {
		p.recorder.Close()
	}
	if p.store != nil {
		return p.store.Close()
	}
	return nil
}

func (s *Server) openGeo(ctx context.Context) (err error) {
	if s.options.GeoIP == "" {
		return nil
	}
	if s.geo, err = geoip.Open(s.options.GeoIP); err != nil {
		return fmt.Errorf("Options.GeoIP: %w", err)
	}
	s.background.Go(func() {
		s.geo.Watch(ctx, 0, func(err error) {
			s.options.Logger.Warn("location database is not taken into use, the last good one stays", "error", err)
		})
	})
	return nil
}

// openScripts takes the copy of posthog-js that there is.
func (s *Server) openScripts() (err error) {
	if s.options.PosthogJS == "" {
		return nil
	}
	if s.scripts, err = httpapi.OpenPosthogJS(s.options.PosthogJS); err != nil {
		return fmt.Errorf("Options.PosthogJS: %w", err)
	}
	return nil
}
