package browsertest

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// embed builds and starts adapters/server/testdata/embedder, a service that mounts the server.
func embed(t *testing.T, arguments ...string) *server {
	t.Helper()
	t.Parallel()
	path := filepath.Join(t.TempDir(), "embedder")
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", path, "./adapters/server/testdata/embedder").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(path, arguments...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := &server{t: t}
	for lines := bufio.NewScanner(out); s.publicKey == "" && lines.Scan(); {
		if match := listens.FindStringSubmatch(lines.Text()); match != nil {
			s.url = match[1]
		} else if found := keys.FindAllString(lines.Text(), -1); len(found) == 2 {
			s.key, s.publicKey = found[0], found[1]
		}
	}
	if s.publicKey == "" {
		t.Fatal("the service did not start")
	}
	return s
}

// behind returns the server as it is reached through a proxy.
func (s *server) behind(proxy http.Handler, prefix string) *server {
	front := httptest.NewServer(proxy)
	s.t.Cleanup(func() {
		front.CloseClientConnections() // streams
		front.Close()
	})
	out := *s
	out.url = front.URL + prefix
	return &out
}

// proxyTo returns a proxy that keeps the host that the browser has sent, and removes a prefix.
func proxyTo(t *testing.T, address, prefix string) http.Handler {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		if prefix != "" {
			r.Out.Header.Set("X-Forwarded-Prefix", prefix)
		}
	}}
	return http.StripPrefix(prefix, proxy)
}

// firstSteps are the pages on which the journeys of console.md §1.2 begin, with their headings.
var firstSteps = [][2]string{
	{"p/1/flags", "Flags"}, {"p/1/flags/new", "New flag"}, {"p/1/flags/1", "banner"}, {"p/1/why", "Why?"}, {"p/1/flags/1/history", "banner"}, {"p/1/flags/1/schedule", "banner"},
	{"p/1/cohorts/new", "New cohort"}, {"p/1/people", "People"}, {"p/1/live", "Live events"}, {"p/1/insights/new", "New insight"}, {"p/1/experiments/new", "New experiment"},
	{"p/1/approvals", "Approvals"}, {"organization/members", "Members"}, {"p/1/exports/new", "New export"}, {"organization/usage", "Usage"},
}

// T28 (console.md §7): below a prefix, the first steps of all journeys work, and no request leaves the
// prefix. The server is mounted with StripPrefix and with chi, and is behind a proxy that removes the
// prefix.
func TestPrefix_FirstSteps(t *testing.T) {
	s := embed(t)
	mounted := func(prefix string) *server {
		out := *s
		out.url += prefix
		return &out
	}
	for _, m := range []struct {
		name string
		s    *server
	}{{"StripPrefix", mounted("/ph")}, {"chi", mounted("/chi/ph")}, {"proxy", s.behind(proxyTo(t, s.url, "/outer"), "/outer")}} {
		t.Run(m.name, func(t *testing.T) {
			p := m.s.openAnonymous(t)
			p.visit("../") // J1: the root leads a browser to the console
			p.node("button", "Sign in with key")
			p.signInAs(s.key)
			p.node("heading", "First steps")
			if m.name == "StripPrefix" {
				p.click("navigation", "Main", "link", "Flags")
				p.click("button", "New flag")
				p.fill("banner", "textbox", "Key")
				p.click("button", "Save")
				p.node("heading", "banner")
			}
			steps := firstSteps
			if m.name != "StripPrefix" && !*long {
				steps = firstSteps[:3]
			}
			for _, step := range steps {
				p.visit(step[0])
				p.waitLoaded()
				if h1, alert := js[string](p, "document.querySelector('h1').innerText"), js[string](p, "document.querySelector('main [role=alert]')?.innerText ?? ''"); h1 != step[1] || alert != "" {
					t.Errorf("%s: %q, want %q; alert %q", step[0], h1, step[1], alert)
				}
			}
			if base, at := m.s.url+"/console/", js[string](p, "location.href"); !strings.HasPrefix(at, base) {
				t.Errorf("the address is %s, want one below %s", at, base)
			}
		})
	}
}

// console.md §5.2, embedder: a service signs in its users itself. The console has no ways to sign in then,
// and no controls for sessions; changes are those of the user.
func TestEmbedder_OwnSignIn(t *testing.T) {
	s := embed(t, "own-sign-in")
	below := *s
	below.url += "/ph"
	below.provider = s.url
	p := below.openAnonymous(t)
	p.visit("")
	p.node("heading", "Sign in")
	eventually(t, "a text that names the service", func() bool {
		return js[bool](p, "document.querySelector('main').innerText.includes('the service that this server is part of')")
	})
	if buttons := js[int](p, "document.querySelectorAll('main :is(button, input)').length"); buttons != 0 {
		t.Errorf("the page has %d ways to sign in", buttons)
	}
	if err := chromedp.Do(p.ctx, chromedp.Navigate(s.url+"/login")); err != nil {
		t.Fatal(err)
	}
	p.visit("p/1/flags/new")
	p.fill("banner", "textbox", "Key")
	p.click("button", "Save")
	p.node("heading", "banner")
	var flag struct {
		By struct{ Email string } `json:"created_by"`
	}
	if below.api("GET", "/api/projects/1/feature_flags/1/", nil, &flag); flag.By.Email != "owner@localhost" {
		t.Errorf("the flag was created by %q", flag.By.Email)
	}
	p.visit("account")
	p.node("region", "Profile")
	p.waitLoaded()
	if names := js[[]string](p, "[...document.querySelectorAll('main section')].map(s => s.getAttribute('aria-label'))"); strings.Join(names, ", ") != "Profile, Look, Personal keys" {
		t.Errorf("the sections of the account are %q", names)
	}
	p.click("button", "Account menu")
	p.node("menuitem", "Shortcuts")
	if out := p.all(0, "menuitem", "Sign out"); len(out) != 0 {
		t.Error("users can sign out of a session that the server does not have")
	}
}
