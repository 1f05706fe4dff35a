package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/fallbacksource"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Server is a running server. It is safe for concurrent use. A Server that Open did not create,
// such as nil, has no flags and accepts no events; its Handler responds 503.
type Server struct {
	options Options
	jobs    *jobs

	front       front
	handler     http.Handler
	shadow      *shadowServer // nil without Options.Shadow
	listener    net.Listener
	challenges  net.Listener           // nil without Options.TLS.HTTP
	certificate *certificate           // nil without Options.TLS
	geo         *geoip.DB              // nil without Options.GeoIP
	scripts     *httpapi.PosthogJS     // nil without Options.PosthogJS
	copies      *fallbacksource.Copies // nil if no definitions are saved

	full      atomic.Pointer[parts] // nil until the database has been reached
	degraded  *degraded             // nil if no definitions are saved
	recovered chan struct{}         // closed when full is set
	ownerKey  atomic.Pointer[string]

	registering sync.Mutex
	registered  prometheus.Collector // in Options.Registerer; nil if none are

	stop       context.CancelFunc // ends the background work
	background sync.WaitGroup
	closing    sync.Once
	ended      chan struct{} // closed when close has returned
	closed     error
}

// activate serves requests with p from now on. The error is that of Options.Registerer.
func (s *Server) activate(p *parts) error {
	s.full.Store(p)
	p.warnOfKeys()
	s.front.set(p.handler)
	err := s.register(p.measured)
	close(s.recovered)
	return err
}

// Handler serves all routes of the server. It may be mounted below any prefix: by a pattern of
// net/http that ends with a slash or {rest...}, by chi's Mount or Handle, or in any router behind
// http.StripPrefix. Links in its responses include the prefix. With Options.Shadow it must be at
// the root, or behind StripPrefix.
func (s *Server) Handler() http.Handler {
	if !s.isOpen() {
		return (*httpapi.Handler)(nil)
	}
	return s.handler
}

func (s *Server) isOpen() bool { return s != nil && s.stop != nil }

// parts returns the parts that serve requests, or nil until the database has been reached.
func (s *Server) parts() *parts {
	if s == nil {
		return nil
	}
	return s.full.Load()
}

// Recovered returns a channel that is closed when the server serves all requests. It is already
// closed when Open returns, except for a server that waits for its database.
func (s *Server) Recovered() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.recovered
}

// OwnerKey returns the personal key that the first start created because Options.OwnerKey was nil.
// It is empty if this was not the first start.
func (s *Server) OwnerKey() string {
	if s == nil {
		return ""
	}
	if key := s.ownerKey.Load(); key != nil {
		return *key
	}
	return ""
}

// Addr returns the address that Run serves, or nil without Options.Listen.
func (s *Server) Addr() net.Addr {
	if s == nil || s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Decider returns the decider that evaluates flags in the process, with the current definitions. A
// server that waits for its database has another one after it has recovered.
func (s *Server) Decider() *serving.Decider {
	switch p := s.parts(); {
	case p != nil:
		return p.decider
	case !s.isOpen() || s.degraded == nil:
		return nil
	}
	return s.degraded.decider
}

// Projects returns all projects, sorted by id, with their names, API keys and organizations. It
// fails while the server waits for its database.
func (s *Server) Projects(ctx context.Context) ([]flags.Project, error) {
	p := s.parts()
	if p == nil {
		return nil, errNoDatabase
	}
	return p.projects(wire.Context(ctx))
}

// Reader returns a reader of a project's flags in the process, as values of Go types. apiKey is the
// project's API key; if it is empty, the server must have exactly one project. Callers should
// create a Reader once and reuse it; one created before Recovered continues with the last good
// definitions. Events that its snapshots Track go to Intake, and are durable when Track returns.
func (s *Server) Reader(apiKey string) flags.Reader {
	if apiKey == "" {
		projects, err := s.Projects(context.Background())
		if err == nil && len(projects) != 1 {
			err = fmt.Errorf("%w: there are %d projects, so Reader needs the API key of one", flags.ErrUnknownKey, len(projects))
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

// Intake accepts events like the routes of capture, with the same rules and the same durability. It
// is nil without the part Capture, and while the server waits for its database; a nil Intake
// accepts no events.
func (s *Server) Intake() *capture.Intake {
	if p := s.parts(); p != nil {
		return p.intake
	}
	return nil
}

// Management returns the packages of management. Admit returns a caller, Project returns the
// caller's scope in a project, and its permissions are checked as over HTTP, except for the scopes
// of keys, which only the routes check. It is nil without the part Management, and while the server
// waits for its database.
func (s *Server) Management() *rooms.Rooms {
	if p := s.parts(); p != nil {
		return p.rooms
	}
	return nil
}

// Copies returns the number of projects with last good definitions, with which flags are evaluated
// while the database is unavailable.
func (s *Server) Copies() int {
	if s == nil || s.copies == nil {
		return 0
	}
	return s.copies.Len()
}

// EndStreams ends the open streams of definitions, for http.Server.RegisterOnShutdown: Shutdown
// would wait for some of them and ignore others. Run calls it.
func (s *Server) EndStreams() {
	if s == nil {
		return
	}
	if h := s.front.api(); h != nil {
		h.CloseStreams()
	}
}

// Close stops everything and waits until that is done or the context ends. In the latter case
// stopping continues in the background, and the error is the context's; otherwise it is the error
// of closing the store. Everything that was acknowledged to clients before is durable. Further
// calls wait in the same way.
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
		_ = s.listener.Close() // already closed if Run has served it
	}
	if s.challenges != nil {
		_ = s.challenges.Close()
	}
	if s.shadow != nil {
		s.shadow.end()
	}
	s.EndStreams() // streams read the store
	s.stop()
	s.background.Wait()
	s.unregister()
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

// front forwards requests to the current handler. While draining is set, the server is about to
// stop.
type front struct {
	handler  atomic.Pointer[http.Handler]
	draining atomic.Bool
}

func (f *front) set(h http.Handler) { f.handler.Store(&h) }

// api returns the current handler, or nil before there is one.
func (f *front) api() *httpapi.Handler {
	h := f.handler.Load()
	if h == nil {
		return nil
	}
	api, _ := (*h).(*httpapi.Handler)
	return api
}

const drainingBody = `{"type":"server_error","code":"service_unavailable","detail":"The server is stopping: send requests to another one.","attr":null}`

// ServeHTTP serves requests also while the server drains. It then closes the connections of
// clients, and responds 503 to /_readiness so that load balancers stop sending requests.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.draining.Load() {
		w.Header().Set("Connection", "close")
		if strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/_readiness") { // below any prefix
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, drainingBody)
			return
		}
	}
	(*f.handler.Load()).ServeHTTP(w, r)
}
