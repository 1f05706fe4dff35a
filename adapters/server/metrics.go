package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/metrics"
	"github.com/bunting-flags/bunting/flags/serving"
)

// metrics returns the sources of the metrics of a server with all parts.
func (p *parts) metrics() metrics.Config {
	c := p.server.flagMetrics(p.decider, func() *httpapi.Handler { return p.handler })
	if p.recorder != nil {
		c.Intake, c.Recorder = p.intake.Stats, p.recorder.Stats
	}
	if p.source != nil {
		c.Files = p.fileMetrics
	}
	if p.stream != nil {
		c.Stream, c.Processor = p.stream.Stats, p.processor.Stats
	}
	c.Jobs = p.jobs.metrics
	if p.queries != nil {
		c.Queries = p.queries.Stats
	}
	if p.rooms != nil && p.rooms.Rollouts != nil {
		c.Rollouts = p.rolloutMetrics()
	}
	if p.store != nil {
		c.Storage = p.storageMetrics()
	}
	if p.backup != nil {
		c.Backups = p.backupMetrics
	}
	if p.server.certificate != nil {
		c.CertificateExpires = p.server.certificate.expires
	}
	return c
}

// register makes the metrics of c those of Options.Registerer, instead of earlier ones.
func (s *Server) register(c metrics.Config) error {
	if s.options.Registerer == nil {
		return nil
	}
	s.registering.Lock()
	defer s.registering.Unlock()
	s.unregister()
	collector := metrics.NewCollector(c)
	if err := s.options.Registerer.Register(collector); err != nil {
		return fmt.Errorf("the metrics cannot be registered: %w", err)
	}
	s.registered = collector
	return nil
}

// unregister removes the metrics from Options.Registerer. s.registering must be locked, or all other
// work have ended.
func (s *Server) unregister() {
	if s.registered != nil {
		s.options.Registerer.Unregister(s.registered)
		s.registered = nil
	}
}

// storageMaxAge is how long a size is reused: PostgreSQL reads the size of every file to compute
// it.
const storageMaxAge = 30 * time.Second

// storageMetrics returns a function that reads the size of the store, at most once in
// storageMaxAge.
func (p *parts) storageMetrics() func() metrics.Storage {
	var mu sync.Mutex
	var at time.Time
	var last metrics.Storage
	return func() metrics.Storage {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); at.IsZero() || now.Sub(at) >= storageMaxAge {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			last, at = metrics.Storage(p.store.Size(ctx)), now
		}
		return last
	}
}

// flagMetrics returns the metrics of evaluating flags. handler is called only when metrics are
// read, because it may not be set before.
func (s *Server) flagMetrics(d *serving.Decider, handler func() *httpapi.Handler) metrics.Config {
	c := metrics.Config{Flags: d.Stats, Version: s.options.Version}
	c.HTTP = func() metrics.HTTP { return metrics.HTTP(handler().Stats()) }
	c.Latencies = func() []metrics.Latency {
		list := handler().Latencies()
		out := make([]metrics.Latency, len(list))
		for i := range list {
			out[i] = metrics.Latency(list[i])
		}
		return out
	}
	if s.shadow != nil {
		c.Shadow = s.shadow.metrics
	}
	if s.geo != nil {
		c.GeoIP = func() metrics.GeoIP { return metrics.GeoIP(s.geo.Stats()) }
	}
	return c
}

func (p *parts) fileMetrics() []metrics.File {
	status := p.source.Status()
	out := make([]metrics.File, len(status))
	for i, f := range status {
		out[i] = metrics.File{
			Path: f.Path, LoadedAt: f.LoadedAt, Stale: f.Err != nil, Projects: f.Projects, Flags: f.Flags,
			Faults: len(f.Faults), Loads: f.Loads, Failures: f.Failures,
		}
	}
	return out
}

// rolloutMetrics returns a function that reads the state of guarded rollouts. It reads the store at
// most once in storageMaxAge.
func (p *parts) rolloutMetrics() func() metrics.Rollouts {
	var mu sync.Mutex
	var at time.Time
	var last *metrics.WatchedRollouts
	return func() metrics.Rollouts {
		s := p.rooms.Rollouts.Stats()
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); at.IsZero() || now.Sub(at) >= storageMaxAge {
			last, at = p.watchedRollouts(), now
		}
		return metrics.Rollouts{Evaluations: s.Evaluations, Steps: s.Steps, Seconds: s.Seconds, Within: s.Within, Blind: s.Blind, Watched: last}
	}
}

// watchedRollouts returns the state of the rollouts in the store, or nil if it does not respond.
func (p *parts) watchedRollouts() *metrics.WatchedRollouts {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	w, err := p.rooms.Rollouts.Watched(ctx)
	if err != nil {
		return nil
	}
	out := &metrics.WatchedRollouts{Live: w.Live, Lag: w.Lag, Failing: w.FailingCount}
	for _, backlog := range []func(context.Context) (int, time.Time, error){p.rooms.Organizations.Mails.Backlog, p.rooms.Organizations.Webhooks.Backlog} {
		n, _, err := backlog(ctx)
		if err != nil {
			return nil
		}
		out.Notices += n
	}
	return out
}
