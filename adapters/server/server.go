package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/keptsource"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Server is a running server. It is safe for several goroutines. One that Open has not
// made, such as nil, has no flags and takes nothing in; its Handler answers 503.
type Server struct {
	options Options
	jobs    *jobs

	front       front
	handler     http.Handler
	shadow      *shadowServer // nil without Options.Shadow
	listener    net.Listener
	certificate *certificate       // nil without Options.TLS
	geo         *geoip.DB          // nil without Options.GeoIP
	scripts     *httpapi.PosthogJS // nil without Options.PosthogJS
	copies      *keptsource.Copies // nil where no definitions are kept

	full      atomic.Pointer[parts] // nil while the database is away
	degraded  *degraded             // nil where no definitions are kept
	recovered chan struct{}         // closed when there is a whole
	ownerKey  atomic.Pointer[string]

	stop       context.CancelFunc // ends what runs in the background
	background sync.WaitGroup
	closing    sync.Once
	ended      chan struct{} // closed when close has returned
	closed     error
}

// activate makes whole parts serve.
func (s *Server) activate(p *parts) {
	s.full.Store(p)
	p.warnOfKeys()
	s.front.set(p.handler)
	close(s.recovered)
}

// Handler answers everything that the server answers. It may be mounted below any
// prefix: by a pattern of net/http that ends with a slash or {rest...}, by chi's Mount or
// Handle, or in any router behind http.StripPrefix. Links in its answers have the prefix.
// With Options.Shadow it wants to be at the root, or behind StripPrefix.
func (s *Server) Handler() http.Handler {
	if !s.isOpen() {
		return (*httpapi.Handler)(nil)
	}
	return s.handler
}

func (s *Server) isOpen() bool { return s != nil && s.stop != nil }

// parts are those that serve now, nil while the database is away.
func (s *Server) parts() *parts {
	if s == nil {
		return nil
	}
	return s.full.Load()
}

// Recovered is closed when the server answers everything. It is closed already when
// Open returns, except for a server that waits for its database.
func (s *Server) Recovered() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.recovered
}

// OwnerKey is the personal key that the first start has made without
// Options.OwnerKey; empty: this was not the first.
func (s *Server) OwnerKey() string {
	if s == nil {
		return ""
	}
	if key := s.ownerKey.Load(); key != nil {
		return *key
	}
	return ""
}

// Addr is the address that Run serves, nil without Options.Listen.
func (s *Server) Addr() net.Addr {
	if s == nil || s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Decider decides flags in the process, by what the server knows now. A server that
// waits for its database has another one when it has recovered.
func (s *Server) Decider() *flags.Decider {
	switch p := s.parts(); {
	case p != nil:
		return p.decider
	case !s.isOpen() || s.degraded == nil:
		return nil
	}
	return s.degraded.decider
}

// Projects are all projects, by id: their names, API keys and organizations. A server that
// waits for its database knows none.
func (s *Server) Projects(ctx context.Context) ([]flags.Project, error) {
	p := s.parts()
	if p == nil {
		return nil, errNoDatabase
	}
	return p.projects(wire.Context(ctx))
}

// Reader reads the flags of a project in the process, as values of Go types: that of an
// API key, or with an empty one the only project that there is. It is asked for once and
// kept; one that is asked for before Recovered goes on with the last good definitions.
// What its snapshots Track goes to Intake, and is durable when Track returns.
func (s *Server) Reader(apiKey string) flags.Reader {
	if apiKey == "" {
		projects, err := s.Projects(context.Background())
		if err == nil && len(projects) != 1 {
			err = fmt.Errorf("%w: there are %d projects, and Reader was not told the API key of one", flags.ErrUnknownKey, len(projects))
		}
		if err != nil {
			return flags.NewReader(func(_ context.Context, _ string, _ *flags.Subject, out *flags.Detail) { out.Err = err }, nil)
		}
		apiKey = projects[0].APIKey
	}
	r := s.Decider().Reader(apiKey, flags.Selection{})
	if s.isOpen() && s.options.Without&Capture != 0 {
		return r
	}
	return flags.WithTrack(r, func(ctx context.Context, sub *flags.Subject, event string, properties map[string]any) error {
		add := func(name string, value any, isSet bool) {
			if _, exists := properties[name]; isSet && !exists {
				properties[name] = value
			}
		}
		add("$is_server", true, true)
		add("$device_id", sub.DeviceID, sub.DeviceID != "")
		add("$groups", sub.Groups, len(sub.Groups) > 0)
		return s.Intake().Capture(ctx, apiKey, sub.DistinctID, event, properties)
	})
}

// Intake takes events in as the routes of capture do, by the same rules: what it has
// accepted is as durable. Nil without the part Capture, and while the server waits for
// its database; a nil Intake accepts nothing.
func (s *Server) Intake() *capture.Intake {
	if p := s.parts(); p != nil {
		return p.intake
	}
	return nil
}

// Management are the rooms of what people manage. Admit makes a caller, Project brings
// it into a project as far as it may be there, and what it does there is judged as over
// HTTP; only the scopes of keys are for the routes to look at. Nil without the part
// Management, and while the server waits for its database.
func (s *Server) Management() *rooms.Rooms {
	if p := s.parts(); p != nil {
		return p.rooms
	}
	return nil
}

// Copies is how many projects have last good definitions, by which flags are answered
// while the database is away.
func (s *Server) Copies() int {
	if s == nil || s.copies == nil {
		return 0
	}
	return s.copies.Len()
}

// EndStreams ends the streams of definitions that are open, for
// http.Server.RegisterOnShutdown: the shutdown would wait for some of them and
// forget the others. Run does so by itself.
func (s *Server) EndStreams() {
	if s == nil {
		return
	}
	if h := s.front.api(); h != nil {
		h.CloseStreams()
	}
}

// Close ends everything and waits until it has, or until the context ends: then the
// rest ends behind it, and its error is the context's. What was answered before is
// safe. Otherwise the error is that of the store. Further calls wait alike.
func (s *Server) Close(ctx context.Context) error {
	if !s.isOpen() {
		return nil
	}
	s.closing.Do(func() {
		go func() {
			s.closed = s.close()
			close(s.ended)
		}()
	})
	select {
	case <-s.ended:
		return s.closed
	case <-wire.Context(ctx).Done():
		return ctx.Err()
	}
}

func (s *Server) close() (err error) {
	if s.listener != nil {
		_ = s.listener.Close() // closed already where it has served
	}
	if s.shadow != nil {
		s.shadow.end()
	}
	s.EndStreams() // they read the store
	s.stop()
	s.background.Wait()
	if p := s.full.Load(); p != nil {
		err = p.close()
	}
	if s.geo != nil {
		_ = s.geo.Close()
	}
	if s.scripts != nil {
		_ = s.scripts.Close()
	}
	return err
}
