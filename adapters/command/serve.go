package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/settings"
	"github.com/bunting-flags/bunting/adapters/internal/otlp"
	"github.com/bunting-flags/bunting/adapters/server"
)

func serveHelp() string {
	var b strings.Builder
	b.WriteString(`Usage: bunting serve [--definitions FILE] [SETTINGS]

Evaluates flags and captures events over HTTP. Everything is stored in one folder,
or in PostgreSQL with --database. The definitions file is read again whenever it
changes; if it is invalid, the last valid version stays in use. Without a file the
first start creates a project. In both cases the first start prints the personal
key of the owner (--owner-email), once. SIGTERM and SIGINT stop the server: running
requests have ten seconds to finish; a second signal stops it at once.

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
        print the settings and their sources as JSON, and exit

Each setting can also be given in the environment (--max-body is
BUNTING_MAX_BODY; an empty value is ignored) and in the config file
({"max_body": 1000000}). The command line takes precedence over the environment,
the environment over the config file, and the config file over the default. Lists
are separated by commas; in the config file they are arrays. Paths are relative to
the working directory.

With OTEL_EXPORTER_OTLP_ENDPOINT=http://HOST:4318 in the environment, traces,
metrics and logs are sent by OTLP, without any data of users. The other variables of
OpenTelemetry apply, too, such as OTEL_SERVICE_NAME, OTEL_EXPORTER_OTLP_HEADERS,
OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_TRACES_SAMPLER and OTEL_LOGS_EXPORTER=none.

Endpoints: /flags and /decide for SDKs, /flags/definitions for SDKs that evaluate
locally, /batch, /capture, /e, /i/v0/e and /i/v1/analytics/events for events,
/api/projects for reading and managing, /docs for the documentation, /_liveness,
/_readiness, and /metrics for Prometheus.
`)
	return b.String()
}

// runServe runs the server until ctx is done or the process receives a signal to end.
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
	if r.Config.Data == "" && r.Config.Database == "" {
		return errors.New("--data is empty: name a folder, or a database with --database")
	}
	tuneMemory(p, r.Config.Memory)
	interrupts, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	ctx, end := context.WithCancel(ctx)
	defer end()
	// The handler is removed before the server starts to shut down, so that a second signal ends
	// the process at once.
	context.AfterFunc(interrupts, func() { stop(); end() })
	hangups, ignore := reloadOnHangup()
	defer ignore()
	written := r.Config.LogHandler(p.Stderr)
	signals, err := otlp.Open(ctx, otlp.Config{Env: p.Env, Version: cli.ReadBuild().Version, Logger: slog.New(written)})
	if err != nil {
		return cli.Usage(err.Error(), "see bunting help serve")
	}
	defer signals.Close()
	s := &served{program: p, scheme: r.Config.Scheme(), log: settings.NewLogger(signals.LogHandler(written)), key: ownerKey{file: r.Config.OwnerKeyFile, print: p.Print}}
	s.key.prepareLink = s.prepareLink
	o := r.Config.Options
	o.Logger, o.Version, o.Grace, o.OwnerKey, o.Console = s.log, cli.ReadBuild().Version, p.Grace, s.key.get, consolePages()
	o.TracerProvider, o.Propagator, o.Registerer = signals.TracerProvider(), signals.Propagator(), signals.Registerer()
	if r.Config.HasDocs {
		o.Docs = docsPages()
	}
	o.OnListen = func(address net.Addr) { s.address = address }
	if s.renewLink = r.Config.SignInLink; o.SignIn == nil || o.Console == nil {
		o.Console, o.SignIn = nil, nil
	}
	s.site, s.owner, s.signIn = o.SiteURL, o.OwnerEmail, o.SignIn != nil
	if s.Server, err = server.Open(ctx, o); err != nil {
		return errors.New(settings.ReplaceNames(err.Error()))
	}
	defer s.close()
	addProcessors(p)
	err = s.run(ctx, hangups)
	signals.CloseMetrics()
	if ctx.Err() != nil {
		_ = s.WriteShadow(p.Stdout)
	}
	return err
}

// reloadOnHangup returns a channel that receives SIGHUP, on which the server reads its files again.
// Without a handler the signal would end the process and interrupt requests. stop removes the
// handler.
func reloadOnHangup() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// served is a running server with the settings that the command needs to print its banner.
type served struct {
	*server.Server
	program *cli.Program
	scheme  string
	log     *slog.Logger
	key     ownerKey

	site, owner string
	address     net.Addr // of Run
	// printedToken is the token of the link that was printed with the first key.
	printedToken string
	// signIn: users may sign in to the console. renewLink: the owner gets a link even after an
	// earlier sign-in.
	signIn, renewLink bool
}

// run serves until ctx is done, prints the banner, and reads files again on each hangup signal.
func (s *served) run(ctx context.Context, hangups <-chan os.Signal) error {
	var background sync.WaitGroup
	defer background.Wait()
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	background.Go(func() {
		for {
			select {
			case <-serving.Done():
				return
			case <-hangups:
				s.Reload()
			}
		}
	})
	select {
	case <-s.Recovered():
		s.print(s.link(ctx) + s.headline() + "\n" + s.projects(ctx))
	default:
		s.print(s.waitingBanner())
		background.Go(func() {
			select {
			case <-serving.Done():
			case <-s.Recovered():
				s.print(s.link(serving) + s.projects(serving))
			}
		})
	}
	background.Go(func() { whenIdle(serving, returnMemory) })
	return <-ended
}

func (s *served) print(text string) {
	if err := s.program.Print(text); err != nil {
		s.log.Warn("the start message could not be printed", "error", err)
	}
}

func (s *served) close() {
	if err := s.Close(context.Background()); err != nil {
		s.log.Error("the store could not be closed", "error", err)
	}
}
