package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/keptsource"
	"github.com/bunting-flags/bunting/adapters/natsstream"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/settings"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management/rooms"
)

func serveHelp() string {
	var b strings.Builder
	b.WriteString(`Usage: bunting serve [--definitions FILE] [SETTINGS]

Answers flag requests and takes in events over HTTP. Everything is stored in one
folder, or in PostgreSQL with --database. The definitions file is read again
whenever it changes; a bad file leaves the last good one in use. Without one the
first start makes a project. With or without, the first start prints the key of
the owner (--owner-email), once. SIGTERM and SIGINT stop
the server: requests under way have ten seconds to end; a second signal ends it
at once.

Settings:
`)
	for _, s := range settings.All {
		name := strings.TrimSuffix("--"+s.Name+" "+s.Arg, " ")
		fmt.Fprintf(&b, "  %s\n        %s\n", name, s.Help)
		if value := strings.Join(s.Fallback, ","); value != "" && s.Kind != settings.Boolean {
			fmt.Fprintf(&b, "        default %s\n", value)
		}
	}
	b.WriteString(`  --config FILE
        config file: a JSON object with the settings as members
  --print-config
        print the settings as JSON, with where each came from, and end

Each setting can also be given in the environment (--max-body is
BUNTING_MAX_BODY, an empty value counts as none) and in the config file
({"max_body": 1000000}). The command line wins over the environment, that over
the config file, and that over the default. Lists are separated by commas; in
the config file they are arrays. Paths are relative to the working directory.

Served: /flags and /decide for SDKs, /flags/definitions for SDKs that evaluate
locally, /batch, /capture, /e, /i/v0/e and /i/v1/analytics/events for their
events, /api/projects to read back, /_liveness, /_readiness, and /metrics for
Prometheus.
`)
	return b.String()
}

// serve runs the server until the context ends or a signal comes.
func runServe(ctx context.Context, p *cli.Program, args []string) error {
	r, err := settings.Resolve(p, args)
	if err != nil {
		return err
	}
	if r.PrintConfig {
		text, err := r.Print()
		if err != nil {
			return err
		}
		return p.Print(text)
	}
	tuneMemory(p)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	hangups, ignore := hangups()
	defer ignore()
	log := newLogger(&r.Config, p.Stderr)
	s := &server{config: &r.Config, log: log, jobs: newJobs(log), files: new(atomic.Pointer[filesource.Source]), front: &front{}, print: p.Print}
	defer s.close()
	// First of all: a first start whose address is taken must not make keys that
	// nobody gets to see.
	if err := s.listen(ctx); err != nil {
		return err
	}
	if err := s.secure(); err != nil {
		return err
	}
	reloading, endReloads := context.WithCancel(context.WithoutCancel(ctx))
	s.background.Go(func() { s.reloads(reloading, hangups) })
	s.endReloads = endReloads
	s.openCopies()
	if s.copies != nil && s.copies.Len() > 0 {
		err = s.openSoon(ctx)
	} else if err = s.open(ctx); err == nil {
		s.front.set(s.handler)
	}
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // what only the start needed
	return s.run(ctx, stop, p)
}

// Memory of the Go runtime: garbage is collected less often than by default while
// there is little of it, and more often near the limit, which with the database's
// own caches keeps a loaded server below 256 MB.
const (
	memoryLimit   = 160 << 20
	memoryPercent = 300
)

// tuneMemory leaves alone what the environment says.
func tuneMemory(p *cli.Program) {
	if p.Env["GOGC"] == "" {
		debug.SetGCPercent(memoryPercent)
	}
	if p.Env["GOMEMLIMIT"] == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

func newLogger(c *settings.Config, to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

// server is the wiring of serve.
type server struct {
	config   *settings.Config
	log      *slog.Logger
	jobs     *jobs
	store    *sqlstore.Store
	recorder *capture.Recorder
	source   *filesource.Source // nil without --definitions
	// files is source once it is open, for who reads it again.
	files       *atomic.Pointer[filesource.Source]
	certificate *certificate       // nil without --tls-cert
	endReloads  func()             // nil where nothing is read again
	first       atomic.Bool        // this start has made the owner's key
	geo         *geoip.DB          // nil without --geoip
	scripts     *httpapi.PosthogJS // nil without --posthog-js
	geoShared   bool               // geo is another server's to close
	copies      *keptsource.Copies // nil where no definitions are kept
	keeper      *keptsource.Keeper // nil without copies
	stream      *natsstream.Stream // nil without --stream
	processor   *capture.Processor // nil without --stream
	intake      *capture.Intake
	decider     *flags.Decider
	manager     *rooms.Rooms
	deciding    atomic.Pointer[flags.Decider] // decider, for those who may come before it
	handler     *httpapi.Handler
	mailQueued  chan struct{} // nil where no mails are sent
	applying    sync.Mutex    // held while files are brought into the store

	front      *front
	print      func(string) error
	degraded   bool
	waits      atomic.Bool   // degraded, with a database that answers and keeps it waiting
	started    chan struct{} // closed when a degraded server has printed that it is
	whole      *server       // what has been opened where there were copies; nil: this server itself, or nothing yet
	listener   net.Listener
	address    atomic.Pointer[net.Addr] // nil until it serves
	warnOnce   sync.Once
	stopWatch  context.CancelFunc
	background sync.WaitGroup
}

// open makes all parts, from the ground up. When the context ends meanwhile it
// fails soon, whatever it waits for.
func (s *server) open(starting context.Context) (err error) {
	if err := s.openStore(starting); err != nil {
		return err
	}
	var ctx context.Context // until close
	ctx, s.stopWatch = context.WithCancel(context.WithoutCancel(starting))
	if err := s.openGeo(ctx); err != nil {
		return err
	}
	if err := s.openScripts(); err != nil {
		return err
	}
	if err := s.openManagement(); err != nil {
		return err
	}
	if err := s.openDefinitions(starting, ctx); err != nil {
		return err
	}
	if err := s.manager.TellBrowsers(starting); err != nil {
		return err
	}
	if err := s.openStream(ctx); err != nil {
		return err
	}
	if err := s.openIntake(); err != nil {
		return err
	}
	s.background.Go(func() { s.retain(ctx) })
	s.background.Go(func() { s.deliverMail(ctx) })
	s.background.Go(func() { s.runExports(ctx) })
	s.background.Go(func() { s.schedule(ctx) })
	s.background.Go(func() { s.follow(ctx) })
	s.background.Go(func() { s.reportMerges(ctx) })
	deciding := flags.DeciderConfig{Source: s.flagSource(), LastGood: s.lastGood(), People: s.store, Continuity: s.store, Members: s.store, Usage: s.store}
	if s.geo != nil {
		deciding.Locator = s.geo
	}
	if s.decider, err = flags.NewDecider(deciding); err != nil {
		return err
	}
	s.deciding.Store(s.decider)
	s.handler, err = httpapi.New(httpapi.Config{
		Decider: s.decider, Intake: s.intake, History: s.store, People: &capture.People{History: s.store, Between: s.recorder, Intake: s.intake}, Keys: keys{s.store},
		Management: s.manager, ManagementLimits: s.config.ManagementLimits, Backup: s.backups(),
		TrustedProxies: s.config.TrustedProxies, StrictGeoIP: s.config.GeoIPStrict,
		MaxBody: s.config.MaxBody, RateLimits: s.config.RateLimits, TokenRates: s.config.TokenRates,
		Ready: s.ready, Metrics: s.metrics(), Logger: s.log, LogRequests: s.config.LogRequests,
		PosthogJS: s.scripts,
	})
	if err != nil {
		return err
	}
	s.background.Go(func() { s.reportSpent(ctx) })
	return nil
}

func (s *server) openGeo(ctx context.Context) (err error) {
	path := s.config.GeoIP
	if path == "" || s.geo != nil {
		return nil
	}
	if s.geo, err = geoip.Open(path); err != nil {
		return fmt.Errorf("--geoip: %w", err)
	}
	s.background.Go(func() {
		s.geo.Watch(ctx, 0, func(err error) {
			s.log.Warn("location database is not taken into use, the last good one stays", "error", err)
		})
	})
	return nil
}

// openScripts takes the copy of posthog-js that there is.
func (s *server) openScripts() (err error) {
	if s.config.PosthogJS == "" || s.scripts != nil {
		return nil
	}
	if s.scripts, err = httpapi.OpenPosthogJS(s.config.PosthogJS); err != nil {
		return fmt.Errorf("--posthog-js: %w", err)
	}
	return nil
}

func (s *server) close() {
	if s.listener != nil {
		_ = s.listener.Close() // closed already where it has served
	}
	if s.handler != nil {
		s.handler.CloseStreams() // they read the store
	}
	if s.stopWatch != nil {
		s.stopWatch()
	}
	if s.endReloads != nil {
		s.endReloads()
	}
	if s.source != nil {
		_ = s.source.Close()
	}
	s.background.Wait()
	if s.whole != nil {
		s.whole.close()
	}
	if s.keeper != nil {
		s.keeper.Close()
	}
	if s.stream != nil {
		s.stream.Close()
	}
	if s.recorder != nil {
		s.recorder.Close()
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.log.Error("the store could not be closed", "error", err)
		}
	}
	if s.geo != nil && !s.geoShared {
		_ = s.geo.Close()
	}
	if s.scripts != nil {
		_ = s.scripts.Close()
	}
}

// run listens and serves until the context ends, then lets requests end. From
// then on, after stopCatching, a signal meets no handler and ends the process.
func (s *server) run(ctx context.Context, stopCatching func(), p *cli.Program) error {
	handler, endShadow, err := s.besideUpstream(s.front)
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	srv.RegisterOnShutdown(s.endStreams)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(s.listener) }()
	address := s.listener.Addr()
	banner := ""
	if s.degraded {
		banner = s.degradedBanner(address)
	} else {
		banner = s.opened().announce(ctx, address)
	}
	if err := p.Print(banner); err != nil {
		s.log.Warn("the start could not be printed", "error", err)
	}
	if s.degraded {
		close(s.started)
	}
	select {
	case err := <-ended: // never nil
		endShadow()
		return fmt.Errorf("the server has failed: %w", err)
	case <-ctx.Done():
	}
	stopCatching()
	s.drain()
	s.log.Info("stopping, requests under way may end", "within", p.Grace)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Grace)
	defer cancel()
	if err = srv.Shutdown(grace); err != nil {
		_ = srv.Close()
	}
	if report := endShadow(); report != nil {
		_ = report.Write(p.Stdout, shadowFlags)
	}
	if ended := <-ended; !errors.Is(ended, http.ErrServerClosed) {
		s.log.Warn("the server had failed", "error", ended)
	}
	if err != nil {
		return fmt.Errorf("requests that were still under way after %s were cut off", p.Grace)
	}
	s.log.Info("stopped")
	return nil
}

// makeFolder makes a folder and tries whether it can be written to.
func makeFolder(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".bunting-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
