package client

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// Where the keys of sign-ins are stored: below the folder for settings of the user. There is no
// file if its variable is missing or relative, since a key must not be written into the working folder.
func TestLogin_File(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the variables are those of Linux")
	}
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"the folder for settings": {map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/home/a"}, "/x/bunting/sign-in.json"},
		"the home folder":         {map[string]string{"HOME": "/home/a"}, "/home/a/.config/bunting/sign-in.json"},
		"no folder":               {nil, ""},
		"a relative folder":       {map[string]string{"XDG_CONFIG_HOME": "x", "HOME": "/home/a"}, ""},
		"a relative home":         {map[string]string{"HOME": "."}, ""},
		"of another system":       {map[string]string{"AppData": "/x"}, ""},
	} {
		if got := signInFile(c.env); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// polled answers polls in order.
type polled struct {
	answers []string
	pauses  []time.Duration
}

// awaited runs awaitProgram with a server that answers the polls.
func (p *polled) awaited(t *testing.T, codes *programCodes) (*loginResult, []string, error) {
	t.Helper()
	s := newCannedServer(t, map[string]string{})
	client, err := newAPIClient(s.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.close)
	client.pause = func(_ context.Context, d time.Duration) error {
		if len(p.answers) == 0 {
			return context.Canceled
		}
		p.pauses = append(p.pauses, d)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answers["POST /api/cli-auth/poll/"] = p.answers[0]
		p.answers = p.answers[1:]
		return nil
	}
	in, err := (&manager{client: client}).awaitProgram(context.Background(), codes)
	return in, s.requests, err
}

// A program polls at the server's interval, at least a second, until it gets a key. 400 means that
// the code was refused or has expired (spec/clients.md §14.2).
func TestLogin_Polls(t *testing.T) {
	t.Parallel()
	const poll = `POST /api/cli-auth/poll/ {"device_code":"dev"}`
	const pending = `202 {"status":"pending"}`
	const done = `{"status":"authorized","personal_api_key":"phx_1","label":"L","project_id":"1"}`
	for name, c := range map[string]struct {
		answers  []string
		interval int
		pauses   []time.Duration
		want     string
	}{
		"at once":         {[]string{done}, 5, []time.Duration{5 * time.Second}, ""},
		"after two polls": {[]string{pending, pending, done}, 2, []time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second}, ""},
		"no interval":     {[]string{done}, 0, []time.Duration{time.Second}, ""},
		"below a second":  {[]string{done}, -3, []time.Duration{time.Second}, ""},
		"refused":         {[]string{pending, `400 {"status":"expired"}`}, 1, []time.Duration{time.Second, time.Second}, "not signed in: the code was refused or has expired; run bunting login again"},
		"another error":   {[]string{`403 {"detail":"no"}`}, 1, []time.Duration{time.Second}, "the server answered 403: no"},
		"interrupted":     {[]string{pending}, 1, []time.Duration{time.Second}, context.Canceled.Error()},
	} {
		p := &polled{answers: c.answers}
		in, requests, err := p.awaited(t, &programCodes{Device: "dev", Interval: c.interval})
		if c.want == "" && (err != nil || in.Key != "phx_1" || in.Label != "L" || in.Project != "1") || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %+v, %v, want %q", name, in, err, c.want)
		}
		if diff := cmp.Diff(c.pauses, p.pauses); diff != "" {
			t.Errorf("%s: pauses (-want +got):\n%s", name, diff)
		}
		for _, r := range requests {
			if r != poll {
				t.Errorf("%s: sent %s", name, r)
			}
		}
	}
}

// A sign-in requests all scopes, or the scopes of --scopes. If the server refuses to create a code,
// no file is written.
func TestLogin_Begins(t *testing.T) {
	t.Parallel()
	const begin = "POST /api/cli-auth/device-code/"
	for scopes, want := range map[string]string{
		"":                              begin + ` {"client":"bunting","scopes":["*"]}`,
		"feature_flag:write,query:read": begin + ` {"client":"bunting","scopes":["feature_flag:write","query:read"]}`,
	} {
		s := newCannedServer(t, map[string]string{begin: `400 {"detail":"unknown scope"}`})
		home := t.TempDir()
		args := []string{"login", "--server", s.URL}
		if scopes != "" {
			args = append(args, "--scopes", scopes)
		}
		r := clitest.Call(context.Background(), []cli.Command{Login}, "", []string{"HOME=" + home}, args...)
		r.Want(t, cli.ExitError, "", "bunting: the server answered 400: unknown scope\n")
		if files, err := os.ReadDir(home); err != nil || len(files) != 0 {
			t.Errorf("%v, %v", files, err)
		}
		if diff := cmp.Diff([]string{want}, s.requests); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
}

// Signing out removes the key of one server, sends no request, and keeps the other keys. The file may
// be read by its user only.
func TestLogout(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := &cli.Program{Env: map[string]string{"HOME": home}}
	stored := signIns{Last: "http://one.example", Servers: map[string]signIn{"http://one.example": {"phx_one", "laptop\n"}, "http://two.example": {"phx_two", "CI"}}}
	if err := writeSignIns(p, &stored); err != nil {
		t.Fatal(err)
	}
	logout := func(args ...string) clitest.Result {
		return clitest.Call(context.Background(), []cli.Command{Logout}, "", []string{"HOME=" + home}, append([]string{"logout"}, args...)...)
	}
	logout("--server", "http://three.example").Want(t, cli.ExitError, "", "bunting: this machine is not signed in to http://three.example\n")
	logout("--server", "HTTP://ONE.example/").Want(t, cli.ExitOK, `signed out; the key "laptop " stays valid until it is revoked`, "")
	logout("--server", "http://one.example").Want(t, cli.ExitError, "", "is not signed in")
	left, err := readSignIns(p)
	if diff := cmp.Diff(signIns{Servers: map[string]signIn{"http://two.example": {"phx_two", "CI"}}}, left); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	logout("--server", "http://two.example").Want(t, cli.ExitOK, "signed out", "")
	file := signInFile(p.Env)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	logout().Want(t, cli.ExitError, "", file+" cannot be read: ")
	if err := writeSignIns(&cli.Program{}, &signIns{}); err == nil || !strings.Contains(err.Error(), "HOME is not set") {
		t.Error(err)
	}
}

// The client: it names itself, sends a key and a type only if there are any, does not follow
// redirects, and reports warnings of successful responses.
func TestAPIClient_Requests(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t)
	var seen []*http.Request
	s.intercept = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		seen = append(seen, r)
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/refused":
			w.Header().Add("Bunting-Warning", "not shown")
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.Header().Add("Bunting-Warning", "one")
			w.Header().Add("Bunting-Warning", "two")
			_, _ = w.Write([]byte("{}"))
		}
		return true
	}
	c, _ := testClient(t, s)
	var warnings []string
	c.onWarning = func(text string) { warnings = append(warnings, text) }
	do := func(method, path string, body []byte) error {
		return c.do(context.Background(), method, path, body, nil)
	}
	if err := errors.Join(do("GET", "/plain", nil), do("POST", "/body", []byte("{}"))); err != nil {
		t.Fatal(err)
	}
	if err := do("POST", "/moved", []byte("{}")); statusOf(err) != http.StatusTemporaryRedirect {
		t.Errorf("a redirect: %v", err)
	}
	if err := do("GET", "/refused", nil); statusOf(err) != http.StatusBadRequest || err.Error() != "the server answered 400 Bad Request" {
		t.Errorf("refused: %v", err)
	}
	c.key = ""
	if err := do("GET", "/public", nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"/plain Bearer phx_good ", "/body Bearer phx_good application/json", "/moved Bearer phx_good application/json", "/refused Bearer phx_good ", "/public  "}
	var got []string
	for _, r := range seen {
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Content-Type"))
		if !strings.HasPrefix(r.UserAgent(), "bunting/") {
			t.Errorf("%s comes from %q", r.URL.Path, r.UserAgent())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one", "two", "one", "two", "one", "two"}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// A server may request a pause, of at most five minutes: a longer one is cut, so that a mistake of a
// proxy does not stop an export for a day.
func TestAPIClient_RequestedPauses(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{"1": time.Second, "300": 5 * time.Minute, "301": 5 * time.Minute, "86400": 5 * time.Minute, "": minPause, "soon": minPause} {
		s := newAPIServer(t)
		s.intercept = func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n == 1 {
				w.Header().Set("Retry-After", header)
				w.WriteHeader(http.StatusTooManyRequests)
			}
			return n == 1
		}
		c, pauses := testClient(t, s)
		err := c.do(context.Background(), "GET", "/api/projects/1/groups_types/", nil, nil)
		if diff := cmp.Diff([]time.Duration{want}, *pauses); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", header, err, diff)
		}
	}
}

// The pauses double up to half a minute, and the tenth failure is the last.
func TestAPIClient_Backoff(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t)
	s.intercept = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	c, pauses := testClient(t, s)
	var reported []time.Duration
	c.onRetry = func(why string, d time.Duration) {
		if reported = append(reported, d); why != "the server answered 503 Service Unavailable" {
			t.Error(why)
		}
	}
	err := c.do(context.Background(), "GET", "/", nil, nil)
	if err == nil || err.Error() != "after 10 tries: the server answered 503 Service Unavailable" || s.requests != 10 {
		t.Errorf("%v after %d requests", err, s.requests)
	}
	want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second, 30 * time.Second}
	if diff := cmp.Diff(want, *pauses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, reported); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}
