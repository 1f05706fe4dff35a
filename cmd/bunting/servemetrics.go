package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/metrics"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/flags"
)

// metrics is what /metrics shows of a server that has all parts.
func (s *server) metrics() http.Handler {
	c := s.flagMetrics(s.decider)
	c.Intake, c.Recorder = s.intake.Stats, s.recorder.Stats
	if s.source != nil {
		c.Files = s.fileMetrics
	}
	if s.stream != nil {
		c.Stream, c.Processor = s.stream.Stats, s.processor.Stats
	}
	c.Jobs, c.Storage = s.jobs.metrics, s.storageMetrics()
	return metrics.Handler(c)
}

// storageAsked is how long a size is good for: that of a PostgreSQL takes a look at
// every file of it.
const storageAsked = 30 * time.Second

// storageMetrics asks the store for its size, at most once in storageAsked.
func (s *server) storageMetrics() func() metrics.Storage {
	var mu sync.Mutex
	var at time.Time
	var last metrics.Storage
	return func() metrics.Storage {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); at.IsZero() || now.Sub(at) >= storageAsked {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			last, at = metrics.Storage(s.store.Size(ctx)), now
		}
		return last
	}
}

// latencies are those of the handler of the moment.
func (s *server) latencies() []metrics.Latency {
	list := s.handler.Latencies()
	out := make([]metrics.Latency, len(list))
	for i := range list {
		out[i] = metrics.Latency(list[i])
	}
	return out
}

// flagMetrics are those of whatever answers flags.
func (s *server) flagMetrics(d *flags.Decider) metrics.Config {
	c := metrics.Config{Flags: d.Stats, Version: cli.ReadBuild().Version}
	c.HTTP = func() metrics.HTTP { return metrics.HTTP(s.handler.Stats()) }
	c.Latencies = s.latencies
	if s.config.Shadow.Upstream != nil {
		c.Shadow = s.shadowMetrics
	}
	if s.geo != nil {
		c.GeoIP = func() metrics.GeoIP { return metrics.GeoIP(s.geo.Stats()) }
	}
	return c
}

func (s *server) fileMetrics() []metrics.File {
	status := s.source.Status()
	out := make([]metrics.File, len(status))
	for i, f := range status {
		out[i] = metrics.File{
			Path: f.Path, LoadedAt: f.LoadedAt, Stale: f.Err != nil, Projects: f.Projects, Flags: f.Flags,
			Faults: len(f.Faults), Loads: f.Loads, Failures: f.Failures,
		}
	}
	return out
}
