package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/metrics"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/geoip"
)

// openParts opens all parts, in the order of their dependencies. Their background work ends with
// the watching context. If the starting context ends first, openParts fails soon, even while it
// waits for the database.
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

func (p *parts) open(starting, ctx context.Context) error {
	steps := []func() error{
		func() error { return p.openStore(starting) },
		p.openBackups,
		p.openManagement,
		func() error { return p.openDefinitions(starting, ctx) },
		func() error { return p.refreshBrowserSettings(starting) },
		func() error { return p.openStream(ctx) },
		p.openIntake,
	}
	if p.needsNoStore() {
		if p.Backup != "" {
			return errNothingToBackUp
		}
		steps = []func() error{func() error { return p.watchDefinitions(nil) }}
	}
	for _, step := range append(steps, p.openDecider, p.openQueries, p.openHandler) {
		if err := step(); err != nil {
			return err
		}
	}
	for _, work := range p.backgroundJobs() {
		p.background.Go(func() { work(ctx) })
	}
	return nil
}

// backgroundJobs returns the background work of the parts that are open.
func (p *parts) backgroundJobs() (out []func(context.Context)) {
	for _, w := range []struct {
		has bool
		run func(context.Context)
	}{
		{p.RetainDays > 0, p.retain},
		{p.backup != nil, func(ctx context.Context) { p.backup.Run(ctx) }},
		{p.health != nil, p.health.watch},
		{p.mailQueued != nil, p.deliverMail},
		{p.manager != nil, p.sendWebhooks},
		{p.rooms != nil && p.rooms.BatchExports != nil, p.runExports},
		{p.rooms != nil, p.schedule},
		{p.rooms != nil, p.countCohorts},
		{p.rooms != nil && p.rooms.ErrorTracking != nil, p.followExceptions},
		{p.queries != nil && p.rooms.Dashboards != nil, p.checkAlerts},
		{p.queries != nil && p.rooms.Rollouts != nil, p.evaluateRollouts},
		{p.recorder != nil, p.reportMerges},
		{p.store != nil, p.reportUsage},
		{p.store != nil, p.countEvaluations},
	} {
		if w.has {
			out = append(out, w.run)
		}
	}
	return out
}

// refreshBrowserSettings updates the settings of projects that browsers load.
func (p *parts) refreshBrowserSettings(ctx context.Context) error {
	if p.rooms == nil {
		return nil
	}
	return p.rooms.Organizations.RefreshBrowserSettings(ctx)
}

// openHandler creates the HTTP handler.
func (p *parts) openHandler() (err error) {
	p.measured = p.metrics()
	c := httpapi.Config{
		Decider: p.decider, Intake: p.intake, Management: p.rooms, ManagementLimits: *p.ManagementLimits, Authenticate: p.Authenticate,
		Keys: p.keys(), TrustedProxies: p.TrustedProxies, StrictGeoIP: p.StrictGeoIP,
		MaxBody: p.MaxBody, RateLimits: p.RateLimits, TokenRates: p.TokenRates, NewID: p.NewID, TracerProvider: p.TracerProvider, Propagator: p.Propagator,
		Ready: p.ready, Metrics: metrics.Handler(p.measured), Logger: p.log, LogRequests: p.LogRequests,
		PosthogJS: p.server.scripts, Console: p.Console,
	}
	if p.Docs != nil {
		c.Extra = map[string]http.Handler{"/docs": p.Docs, "/docs/*": p.Docs}
	}
	if p.SignIn != nil {
		c.SignIn = &httpapi.SignIn{SiteURL: p.SiteURL, ReadOnly: p.SignIn.ReadOnly, Version: p.Version, Docs: p.Docs != nil}
	}
	if p.Without.has(Flags) {
		c.Decider = nil
	}
	if p.store != nil {
		c.Backup = p.backups()
	}
	if p.rooms != nil {
		p.health = newHealth(p)
		c.Health = p.health.now
	}
	c.Queries = p.queries
	if p.recorder != nil {
		c.History, c.People = p.store, &capture.People{History: p.store, Transactor: p.recorder, Intake: p.intake}
	}
	p.handler, err = httpapi.New(c)
	return err
}

// openDecider creates the decider: with the flags of the store, whose last good state is saved to
// the copies, or with the flags of files.
func (p *parts) openDecider() (err error) {
	c := serving.Config{}
	if p.store == nil {
		c.Source, c.People, c.Continuity, c.Members = p.source, p.source.Memory(), p.source.Memory(), p.source.Memory()
	} else {
		c = serving.Config{Source: p.store, People: p.store, Continuity: p.store, Members: p.store, Usage: p.store}
	}
	if copies := p.server.copies; copies != nil {
		p.keeper = copies.Keep(p.store)
		c.Source, c.LastGood = p.keeper, copies
	}
	if p.server.geo != nil {
		c.Locator = p.server.geo
	}
	if p.decider, err = serving.NewDecider(c); err != nil {
		return err
	}
	p.deciding.Store(p.decider)
	return nil
}

// openGeo opens the location database and watches its file for changes.
func (s *Server) openGeo(ctx context.Context) (err error) {
	if s.options.GeoIP == "" {
		return nil
	}
	if s.geo, err = geoip.Open(s.options.GeoIP); err != nil {
		return fmt.Errorf("Options.GeoIP: %w", err)
	}
	s.background.Go(func() {
		s.geo.Watch(ctx, 0, func(err error) {
			s.options.Logger.Warn("the location database is invalid, the last valid one stays in use", "error", err)
		})
	})
	return nil
}

// openScripts opens the copy of posthog-js, if one is configured.
func (s *Server) openScripts() (err error) {
	if s.options.PosthogJS == "" {
		return nil
	}
	if s.scripts, err = httpapi.OpenPosthogJS(s.options.PosthogJS); err != nil {
		return fmt.Errorf("Options.PosthogJS: %w", err)
	}
	return nil
}

// openQueries creates the service for queries over events, if the server has both Capture and
// Management.
func (p *parts) openQueries() (err error) {
	if p.recorder == nil || p.rooms == nil {
		return nil
	}
	limits := p.Queries
	if limits.Workers <= 0 {
		limits.Workers = max(runtime.GOMAXPROCS(0)/2, 1)
	}
	c := queries.Config{
		Source: p.store, States: p.store, RunStore: p.store, NewID: rand.Text, Limits: limits,
		Definitions: func(ctx context.Context, projectID int64) (*flags.Definitions, error) {
			d, err := p.store.Definitions(ctx, flags.Project{ID: projectID})
			return &d, err
		},
		Actions: func(ctx context.Context, projectID int64) (map[int64]port.Action, error) {
			if p.rooms.Dashboards == nil {
				return nil, nil
			}
			out := map[int64]port.Action{}
			err := p.rooms.Dashboards.Actions.Each(ctx, projectID, func(id int64, name string, steps json.RawMessage) {
				out[id] = port.Action{Name: name, Steps: steps}
			})
			return out, err
		},
		Work: func() uint64 {
			recorded := p.recorder.Stats()
			return p.decider.Stats().Requests + recorded.Events + recorded.Duplicates + recorded.Commits
		},
		OnSlowQuery: func(s queries.SlowQuery) {
			p.log.Warn("slow query", "kind", s.Kind, "project", s.Project, "rows", s.Rows, "seconds", s.Took.Seconds(), "name", s.Name)
		},
	}
	if p.TracerProvider != nil {
		c.Trace = p.traceQuery
	}
	p.queries, err = queries.New(c)
	return err
}
