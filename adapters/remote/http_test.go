package remote_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bunting-flags/bunting/adapters/remote"
)

// The key is sent only to the server of Config.URL: not to another port of the same host, to which
// net/http would send it, and not from https to http. The error names the target.
func TestSource_RedirectsKeepTheKey(t *testing.T) {
	var keys atomic.Int64
	thief := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			keys.Add(1)
		}
		_, _ = w.Write([]byte(definitions("stolen")))
	}))
	leads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+thief+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	})
	plain, secure := httptest.NewServer(leads), httptest.NewTLSServer(leads)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	for _, srv := range []*httptest.Server{plain, secure} {
		s := open(t, remote.Config{URL: srv.URL, ProjectKey: projectKey, Key: secretKey, NoCopy: true, HTTPClient: srv.Client()})
		waitUntil(t, "the failure", func() bool { return s.Status().LastError != nil })
		if got := s.Status().LastError.Error(); !strings.Contains(got, "307") || !strings.Contains(got, "to http://"+thief+" (") || strings.Contains(got, projectKey) {
			t.Error(got)
		}
		checkStopped(t, s)
	}
	if keys.Load() != 0 {
		t.Errorf("the key was sent elsewhere %d times", keys.Load())
	}
}

// A redirect to another path of the same server is followed.
func TestSource_RedirectsOfOneServer(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	good := p.handler(t)
	net := &network{}
	net.redirect(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, old := strings.CutPrefix(r.URL.RequestURI(), "/old"); old {
			http.Redirect(w, r, rest, http.StatusPermanentRedirect)
			return
		}
		good.ServeHTTP(w, r)
	})))
	c := config(t, net)
	c.URL += "/old"
	s := open(t, c)
	waitUntil(t, "the definitions", func() bool { return keys(s) == "one" })
}

// A path appended to a URL that ends with ? or # would not become part of its path, so such URLs
// are rejected.
func TestSource_URLWithoutQuery(t *testing.T) {
	for _, u := range []string{"https://flags.test?", "https://flags.test/#", "https://flags.test/?a=b", "https://me@flags.test"} {
		if s, err := remote.Open(remote.Config{URL: u, ProjectKey: projectKey, Key: secretKey, NoCopy: true}); err == nil {
			checkStopped(t, s)
			t.Error(u)
		}
	}
}

// wrapped is a transport, for example to count or trace requests.
type wrapped struct{ http.RoundTripper }

// A program may have replaced net/http's default transport.
func TestSource_OtherDefaultTransport(t *testing.T) {
	before := http.DefaultTransport
	http.DefaultTransport = wrapped{before}
	defer func() { http.DefaultTransport = before }()
	var p project
	p.set(t, definitions("one"))
	s := open(t, remote.Config{URL: "http://" + serve(t, p.handler(t)), ProjectKey: projectKey, Key: secretKey, NoCopy: true})
	if err := s.WaitForReady(context.Background()); err != nil {
		t.Error(err)
	}
	checkStopped(t, s)
	before.(*http.Transport).CloseIdleConnections()
}

// An error about an invalid URL does not repeat it, because it may include a password.
func TestSource_URLErrorTellsNoPassword(t *testing.T) {
	_, err := remote.Open(remote.Config{URL: "https://me:secret@flags.test:port", ProjectKey: projectKey, Key: secretKey})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
