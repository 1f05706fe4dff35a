package sdktest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// server is the product with a real socket, and a record of the requests.
type server struct {
	URL      string
	projects map[string]*project // by name
	source   *memorySource

	mu       sync.Mutex
	requests []request
	ahead    time.Duration // offset of the server's clock
}

// project is one project of testdata/project.json.
type project struct {
	*flags.FileProject
	Set *flags.Set
}

func (p *project) personalKey() string { return p.PersonalKeys[0].Key }

// request is a request of a client, with the status of the response.
type request struct {
	Method, Path string
	Query        string
	Header       http.Header
	Body         string
	Status       int
}

// memorySource serves the projects of a file, which a test can change.
type memorySource struct {
	mu       sync.RWMutex
	projects map[string]flags.FileProject // by API key
}

func (m *memorySource) ProjectByKey(_ context.Context, key string) (flags.Project, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, ok := m.projects[key]
	if !ok {
		return flags.Project{}, flags.ErrUnknownKey
	}
	return p.Project, nil
}

func (m *memorySource) Definitions(_ context.Context, p flags.Project) (flags.Definitions, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.projects[p.APIKey].Definitions, nil
}

// Key implements httpapi.Keys.
func (m *memorySource) Key(_ context.Context, key string) (httpapi.Key, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, p := range m.projects {
		if slices.Contains(p.SecretKeys, key) {
			return httpapi.Key{Secret: true, Projects: []string{p.APIKey}}, nil
		}
		for _, k := range p.PersonalKeys {
			if k.Key == key {
				return httpapi.Key{Scopes: k.Scopes, Projects: []string{p.APIKey}}, nil
			}
		}
	}
	return httpapi.Key{}, flags.ErrUnknownKey
}

// country locates one documentation address.
type country struct{}

func (country) Locate(ip netip.Addr) flags.Properties {
	if ip != netip.MustParseAddr("203.0.113.7") {
		return nil
	}
	return flags.Properties{"$geoip_country_code": "DE"}
}

func readFile(t testing.TB) flags.File {
	t.Helper()
	data, err := os.ReadFile("testdata/project.json")
	if err != nil {
		t.Fatal(err)
	}
	file, err := flags.ParseFile(data)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// serve starts a server with the projects of testdata/project.json.
func serve(t testing.TB) *server {
	t.Helper()
	s := &server{projects: map[string]*project{}, source: &memorySource{projects: map[string]flags.FileProject{}}}
	for _, p := range readFile(t).Projects {
		s.add(p)
	}
	decider, err := serving.NewDecider(serving.Config{Source: s.source, Locator: country{}, Now: s.now})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := httpapi.New(httpapi.Config{Decider: decider, Keys: s.source})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.recorded(handler))
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

// add adds a project.
func (s *server) add(p flags.FileProject) *project {
	s.source.mu.Lock()
	defer s.source.mu.Unlock()
	p.Revision = 1
	s.source.projects[p.APIKey] = p
	s.projects[p.Name] = &project{&p, flags.Compile(p.Definitions)}
	return s.projects[p.Name]
}

func (s *server) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.ahead)
}

// change changes a project and advances the server's clock by two seconds, after which it reads the
// project again.
func (s *server) change(name string, edit func(*flags.FileProject)) {
	key := s.projects[name].APIKey
	s.source.mu.Lock()
	p := s.source.projects[key]
	edit(&p)
	p.Revision++
	s.source.projects[key] = p
	s.source.mu.Unlock()
	s.mu.Lock()
	s.ahead += 2 * time.Second
	s.mu.Unlock()
}

// recorded records the requests to next.
func (s *server) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(rec, r)
		s.mu.Lock()
		s.requests = append(s.requests, request{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), string(body), rec.status})
		s.mu.Unlock()
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// requestsTo returns the recorded requests with a path prefix.
func (s *server) requestsTo(prefix string) []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []request
	for _, r := range s.requests {
		if strings.HasPrefix(r.Path, prefix) {
			out = append(out, r)
		}
	}
	return out
}

// evaluations returns the recorded requests for flags.
func (s *server) evaluations() []request {
	return slices.DeleteFunc(s.requestsTo("/flags"), func(r request) bool { return r.Method != http.MethodPost })
}

// eventually waits for an effect of another goroutine or process.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(served.WaitTimeout); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain for " + what)
		}
	}
}
