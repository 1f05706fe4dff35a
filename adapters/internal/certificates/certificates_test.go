package certificates

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/acme"
)

// Domains that an authority can prove by RFC 8555 §8.3 or RFC 8737 are accepted: names of hosts
// (RFC 1123), each one time. For all other names the error has advice.
func TestCheckDomains(t *testing.T) {
	many := make([]string, MaxDomains)
	for i := range many {
		many[i] = fmt.Sprintf("a%d.example.com", i)
	}
	label := strings.Repeat("a", 63)
	for _, good := range [][]string{nil, many, {"example.com", "flags.example.com"}, {"xn--bchse-lua.example"}, {label + ".example"}, {"1.example.xn--p1ai"}} {
		if err := CheckDomains(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for want, bad := range map[string][][]string{
		"list each of them":         {{"*.example.com"}},
		"is an address":             {{"192.0.2.1"}, {"::1"}, {"[2001:db8::1]"}},
		"is listed twice":           {{"a.example", "b.example", "a.example"}},
		"at most 100":               {append(slices.Clone(many), "another.example")},
		"without https:// and with": {{"https://example.com"}, {"example.com:443"}, {"Example.com"}, {"büchse.example"}, {"localhost"}, {""}, {"a..example"}, {"a.example."}, {"-a.example"}, {"a_b.example"}, {label + "a.example"}, {strings.Repeat("a.", 126) + "example"}, {"a.example\n"}},
	} {
		for _, domains := range bad {
			if err := CheckDomains(domains); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.60q: %v, want %q", domains, err, want)
			}
		}
	}
}

func newIssuer(t *testing.T, c Config) *Issuer {
	t.Helper()
	c.Domains, c.Logger = []string{"a.example", "b.example"}, slog.New(slog.DiscardHandler)
	if c.Folder == "" {
		c.Folder = t.TempDir()
	}
	i, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// A certificate is renewed when a third of its life remains, and at the earliest 30 days before its
// end (worked by hand for lives of 90 days, 6 days and a year).
func TestIssuer_Due(t *testing.T) {
	i, begin := newIssuer(t, Config{}), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	if d := i.due(begin); d > 0 {
		t.Errorf("without a certificate: %s", d)
	}
	for life, want := range map[time.Duration]time.Duration{90 * day: 60 * day, 6 * day: 4 * day, 365 * day: 335 * day} {
		i.leaf = &x509.Certificate{NotBefore: begin, NotAfter: begin.Add(life)}
		if d := i.due(begin.Add(day)); d != want-day {
			t.Errorf("a life of %s: due in %s, want %s", life, d, want-day)
		}
	}
}

// Attempts wait a minute after the first failure, and longer after each further one, up to an hour;
// an authority that limits the rate sets a longer time, up to a day.
func TestIssuer_Pause(t *testing.T) {
	limited := func(seconds string) error {
		return fmt.Errorf("registering: %w", &acme.Error{ProblemType: "urn:ietf:params:acme:error:rateLimited", Header: http.Header{"Retry-After": {seconds}}})
	}
	i := newIssuer(t, Config{})
	for _, tt := range []struct {
		failures int
		failure  error
		want     time.Duration
	}{
		{1, errors.New("no route"), time.Minute}, {2, nil, 2 * time.Minute}, {6, nil, 32 * time.Minute}, {7, nil, time.Hour}, {1000, nil, time.Hour},
		{1, limited("7200"), 2 * time.Hour}, {1, limited("999999"), 24 * time.Hour}, {7, limited("1"), time.Hour},
	} {
		i.failure = tt.failure
		if got := i.pause(tt.failures); got != tt.want {
			t.Errorf("%d, %v: %s, want %s", tt.failures, tt.failure, got, tt.want)
		}
	}
}

// Over HTTP there are only challenges and redirects, and these lead to a domain of the server whatever
// the Host header is.
func TestIssuer_ServeHTTP(t *testing.T) {
	i := newIssuer(t, Config{})
	end := keep(i, i.paths, "/.well-known/acme-challenge/token", "token.thumbprint")
	defer end()
	for _, tt := range []struct{ host, target, want string }{
		{"a.example", "/.well-known/acme-challenge/token", "token.thumbprint"},
		{"b.example:80", "/console/?a=b", "https://b.example/console/?a=b"},
		{"B.EXAMPLE", "/", "https://b.example/"},
		{"evil.example", "/", "https://a.example/"},
		{"a.example@evil.example", "//evil.example/", "https://a.example//evil.example/"},
		{"", "/.well-known/acme-challenge/another", "https://a.example/.well-known/acme-challenge/another"},
	} {
		r := httptest.NewRequest("GET", tt.target, nil)
		if strings.HasPrefix(tt.target, "//") {
			r = httptest.NewRequest("GET", "http://host"+tt.target, nil)
		}
		r.Host = tt.host
		w := httptest.NewRecorder()
		i.ServeHTTP(w, r)
		if got := w.Header().Get("Location"); got != tt.want && w.Body.String() != tt.want {
			t.Errorf("%s %s: %d to %q, %s, want %s", tt.host, tt.target, w.Code, got, w.Body, tt.want)
		}
	}
}

// RFC 8737 §3: the certificate of a challenge is only for handshakes that offer acme-tls/1 only.
func TestIssuer_Handshake(t *testing.T) {
	i, proof := newIssuer(t, Config{}), &tls.Certificate{}
	end := keep(i, i.handshakes, "a.example", proof)
	for _, tt := range []struct {
		name      string
		protocols []string
		want      *tls.Certificate
	}{
		{"a.example", []string{"acme-tls/1"}, proof}, {"b.example", []string{"acme-tls/1"}, nil},
		{"a.example", nil, nil}, {"a.example", []string{"http/1.1"}, nil}, {"a.example", []string{"acme-tls/1", "http/1.1"}, nil},
	} {
		if got := i.Handshake(&tls.ClientHelloInfo{ServerName: tt.name, SupportedProtos: tt.protocols}); got != tt.want {
			t.Errorf("%s %v: %v", tt.name, tt.protocols, got)
		}
	}
	end()
	if i.Handshake(&tls.ClientHelloInfo{ServerName: "a.example", SupportedProtos: []string{"acme-tls/1"}}) != nil {
		t.Error("the certificate is shown after the challenge")
	}
}

// Each authority has a folder of its own, so that another authority does not use the certificate of
// the first, such as Let's Encrypt's for tests. A damaged key of an account is an error that names it.
func TestIssuer_Folders(t *testing.T) {
	folder := t.TempDir()
	i := newIssuer(t, Config{Folder: folder, Directory: "https://localhost:14000/dir"})
	if want := filepath.Join(folder, "localhost_14000"); i.folder != want {
		t.Errorf("%s, want %s", i.folder, want)
	}
	if i := newIssuer(t, Config{Folder: folder}); i.folder != filepath.Join(folder, "acme-v02.api.letsencrypt.org") {
		t.Error(i.folder)
	}
	first, err := i.accountKey()
	if err != nil {
		t.Fatal(err)
	}
	second, err := i.accountKey()
	if err != nil || !second.Public().(*ecdsa.PublicKey).Equal(first.Public()) {
		t.Errorf("another key the second time, %v", err)
	}
	path := filepath.Join(i.folder, "account.pem")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(path, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := i.accountKey(); err == nil || !strings.Contains(err.Error(), path+" does not contain") {
		t.Errorf("%v", err)
	}
}
