package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/bunting-flags/bunting/adapters/metrics"
	"github.com/bunting-flags/bunting/adapters/shadow"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/settings"
)

func shadowHelp() string {
	return `Usage: bunting shadow --upstream URL [SETTINGS OF serve]

Serves as bunting serve does, and compares each answer to a flag request with that
of another service that speaks PostHog's wire. It shows before a move which flags
would change for whom, and why.

  --upstream URL            the other service, such as https://us.i.posthog.com
  --shadow-answer SIDE      who answers: self (default), or upstream: then this
                            server answers flags only while the upstream does not,
                            and is given the events that pass, so that it knows the
                            same people
  --shadow-sample SHARE     share of the requests to compare, 1 by default
  --shadow-report FILE      where the report is written, as JSON, every ten seconds;
                            shadow.json in the data folder by default

Differences are told by flag and cause: value, payload, only_self, only_upstream,
fails_self, fails_upstream, of the whole answer status and quota, and reason where
only the reason differs, which no user sees. A table is printed at the end. Requests
are compared behind the answer; each costs the upstream one flag request. What does
not fit into the queue (1,024 requests, 32 MiB) is answered and not compared.
`
}

// shadow is serve with an upstream.
func runShadow(ctx context.Context, p *cli.Program, args []string) error {
	r, err := settings.Resolve(p, args)
	if err != nil {
		var help cli.HelpWanted
		if errors.As(err, &help) {
			return cli.HelpWanted("shadow")
		}
		return err
	}
	if r.Config.Shadow.Upstream == nil && !r.PrintConfig {
		return cli.BadUsage("shadow", "--upstream is missing: whom to compare with")
	}
	return runServe(ctx, p, args)
}

// shadowFlags is how many flags the table at the end has at most.
const shadowFlags = 50

// shadowEvery is how old the report in the file may be.
const shadowEvery = 10 * time.Second

// besideUpstream puts a handler beside the upstream, if there is one. The result is
// to be called at the end: it closes the shadow and returns its report.
func (s *server) besideUpstream(next http.Handler) (http.Handler, func() *shadow.Report, error) {
	c := &s.config.Shadow
	if c.Upstream == nil {
		return next, func() *shadow.Report { return nil }, nil
	}
	h, err := shadow.New(shadow.Config{Next: next, Upstream: c.Upstream, Answer: c.Answer, Sample: c.Sample, Logger: s.log})
	if err != nil {
		return nil, nil, err
	}
	s.front.beside = h
	path := c.Report
	if path == "" {
		path = filepath.Join(s.config.Data, "shadow.json")
		if err := makeFolder(s.config.Data); err != nil {
			h.Close()
			return nil, nil, fmt.Errorf("--data: %w; choose a folder that this user may write to, or name the report with --shadow-report", err)
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(shadowEvery)
		defer tick.Stop()
		for {
			s.writeShadow(path, h.Report())
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return h, func() *shadow.Report {
		h.Close()
		close(stop)
		<-stopped
		r := h.Report()
		s.writeShadow(path, r)
		return &r
	}, nil
}

// shadowMetrics are the totals without flags: those stand in the report.
func (s *server) shadowMetrics() metrics.Shadow {
	r := s.front.beside.Report()
	m := metrics.Shadow{Requests: r.Requests, Compared: r.Compared, Differing: r.Differing, EventsLost: r.EventsLost, UpstreamErrors: r.UpstreamErrors}
	for _, n := range r.Skipped {
		m.Skipped += n
	}
	return m
}

// writeShadow replaces the report's file in one step.
func (s *server) writeShadow(path string, r shadow.Report) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path+".new", append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		s.log.Error("the report of the shadow could not be written", "error", err)
	}
}
