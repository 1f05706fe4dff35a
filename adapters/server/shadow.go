package server

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/metrics"
	"github.com/bunting-flags/bunting/adapters/internal/shadow"
	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// shadowEvery is how often the report is written.
const shadowEvery = 10 * time.Second

// shadowServer compares the server's responses with those of another service.
type shadowServer struct {
	server  *Server
	handler *shadow.Handler
	path    string // of the report
	stop    chan struct{}
	stopped sync.WaitGroup
	ending  sync.Once
}

// openShadow wraps the handler if an upstream is configured.
func (s *Server) openShadow() error {
	s.handler = &s.front
	o := s.options.Shadow
	if o.Upstream == nil {
		return nil
	}
	side := shadow.Self
	if o.UpstreamAnswers {
		side = shadow.Upstream
	}
	path := o.Report
	if path == "" {
		path = filepath.Join(s.options.Data, "shadow.json")
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return fmt.Errorf("Options.Data: %w; choose a folder that this user can write to, or set the file of the report with Options.Shadow.Report", err)
		}
	}
	h, err := shadow.New(shadow.Config{Next: &s.front, Upstream: o.Upstream, Answer: side, Sample: o.Sample, Logger: s.options.Logger})
	if err != nil {
		return err
	}
	s.shadow = &shadowServer{server: s, handler: h, path: path, stop: make(chan struct{})}
	s.handler = h
	s.shadow.stopped.Go(s.shadow.writeReports)
	return nil
}

// writeReports writes the report every shadowEvery, until stop is closed.
func (b *shadowServer) writeReports() {
	tick := time.NewTicker(shadowEvery)
	defer tick.Stop()
	for {
		b.write()
		select {
		case <-tick.C:
		case <-b.stop:
			return
		}
	}
}

// end waits for comparisons in progress and writes the last report.
func (b *shadowServer) end() {
	b.ending.Do(func() {
		b.handler.Close()
		close(b.stop)
		b.stopped.Wait()
		b.write()
	})
}

// write replaces the report's file atomically.
func (b *shadowServer) write() {
	text, err := json.MarshalIndent(b.handler.Report(), "", "  ")
	if err == nil {
		err = lastgood.Replace(b.path, 0o600, text, []byte{'\n'})
	}
	if err != nil {
		b.server.options.Logger.Error("the shadow report could not be written", "error", err)
	}
}

// shadowFlags is the maximum number of flags in the table of WriteShadow.
const shadowFlags = 50

// WriteShadow writes the result of the comparison with Options.Shadow, as a table. It writes
// nothing without Options.Shadow.
func (s *Server) WriteShadow(w io.Writer) error {
	if s == nil || s.shadow == nil {
		return nil
	}
	r := s.shadow.handler.Report()
	return r.Write(w, shadowFlags)
}

// metrics returns the totals, without the flags, which are in the report.
func (b *shadowServer) metrics() metrics.Shadow {
	r := b.handler.Report()
	m := metrics.Shadow{Requests: r.Requests, Compared: r.Compared, Differing: r.Differing, EventsLost: r.EventsLost, UpstreamErrors: r.UpstreamErrors}
	for _, n := range r.Skipped {
		m.Skipped += n
	}
	return m
}
