// Package pebbletest tests package certificates, and the program, against Pebble, the test server of
// Let's Encrypt.
package pebbletest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"github.com/bunting-flags/bunting/adapters/internal/certificates"
)

var domains = []string{"flags.example.com", "xn--bchse-lua.example.com"}

// authority is Pebble. All names have the address loopback, and it connects to httpPort and tlsPort
// instead of 80 and 443.
type authority struct {
	*httptest.Server
	httpAddress, tlsAddress string
	roots                   *x509.CertPool // of the certificates that it issues
	rootFile                string         // of its own certificate
	requests                atomic.Int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	a := &authority{httpAddress: freeAddress(t), tlsAddress: freeAddress(t), roots: x509.NewCertPool()}
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "of a test", ValidityPeriod: 90 * 24 * 3600}})
	front := wfe.New(quiet, store, va.New(quiet, port(t, a.httpAddress), port(t, a.tlsAddress), true, resolver(t), store), issuer, nil, true, false, 1, 1)
	handler := front.Handler()
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.requests.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	a.roots.AddCert(issuer.GetRootCert(0).Cert)
	a.rootFile = filepath.Join(t.TempDir(), "root.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
	if err := os.WriteFile(a.rootFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) directory() string { return a.URL + wfe.DirectoryPath }

// loopback is the address of all names and of the issuers' ports. Other tests use 127.0.0.1, so they do
// not take a port between freeAddress and the listener.
const loopback = "127.0.0.9"

// resolver starts a DNS server for which every name has the address loopback.
func resolver(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &dns.Server{Listener: l, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, r *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(r)
		if q := r.Question[0]; q.Qtype == dns.TypeA {
			m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.ParseIP(loopback)}}
		}
		_ = w.WriteMsg(m)
	})}
	go func() { _ = srv.ActivateAndServe() }()
	t.Cleanup(func() { _ = srv.Shutdown() })
	return l.Addr().String()
}

// freeAddress returns an address that is free.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func port(t *testing.T, address string) int {
	t.Helper()
	_, text, _ := net.SplitHostPort(address)
	n, err := net.LookupPort("tcp", text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// verify returns an error if a server does not show a valid certificate for each of the domains.
func (a *authority) verify(t *testing.T, address string) error {
	t.Helper()
	for _, name := range domains {
		conn, err := (&tls.Dialer{Config: &tls.Config{ServerName: name, RootCAs: a.roots}}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return err
		}
		_ = conn.Close()
	}
	return nil
}

// A certificate for two domains is obtained with either proof, and clients receive it. It is stored: a
// second issuer uses it without a request.
func TestIssuer(t *testing.T) {
	for name, overHTTP := range map[string]bool{"HTTP-01": true, "TLS-ALPN-01": false} {
		t.Run(name, func(t *testing.T) {
			a := newAuthority(t)
			var current atomic.Pointer[tls.Certificate]
			c := certificates.Config{
				Domains: domains, Folder: t.TempDir(), Directory: a.directory(), Email: "ops@example.com", OverHTTP: overHTTP,
				Client: a.Client(), Logger: slog.New(slog.DiscardHandler), Use: func(pair *tls.Certificate) { current.Store(pair) },
			}
			i, err := certificates.New(c)
			if err != nil {
				t.Fatal(err)
			}
			listen(t, a, i, &current)
			if err := i.Obtain(t.Context()); err != nil || i.Failure() != nil {
				t.Fatal(err, i.Failure())
			}
			if err := a.verify(t, a.tlsAddress); err != nil {
				t.Error(err)
			}
			before, leaf := a.requests.Load(), current.Load().Leaf
			current.Store(nil)
			if _, err := certificates.New(c); err != nil || a.requests.Load() != before {
				t.Errorf("%d requests, %v", a.requests.Load()-before, err)
			}
			if pair := current.Load(); pair == nil || !pair.Leaf.Equal(leaf) {
				t.Error("the second issuer does not use the stored certificate")
			}
			// Other domains need another certificate.
			c.Domains, c.Use = []string{"other.example.com"}, func(*tls.Certificate) { t.Error("a certificate for other domains is used") }
			if _, err := certificates.New(c); err != nil {
				t.Error(err)
			}
		})
	}
}

// listen serves an issuer: its responses over HTTP, and TLS with its certificates.
func listen(t *testing.T, a *authority, i *certificates.Issuer, current *atomic.Pointer[tls.Certificate]) {
	t.Helper()
	plain, err := net.Listen("tcp", a.httpAddress)
	if err != nil {
		t.Fatal(err)
	}
	secure, err := tls.Listen("tcp", a.tlsAddress, &tls.Config{NextProtos: []string{"http/1.1", certificates.Challenge}, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if pair := i.Handshake(hello); pair != nil {
			return pair, nil
		}
		return current.Load(), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []net.Listener{plain, secure} {
		srv := &http.Server{Handler: i, ErrorLog: log.New(io.Discard, "", 0)}
		go func() { _ = srv.Serve(l) }()
		t.Cleanup(func() { _ = srv.Close() })
	}
}

// The error of a proof that fails has the domain, the reason of the authority, and what must be
// changed. An issuer whose attempt was interrupted reports that too, and a later one succeeds.
func TestIssuer_Fails(t *testing.T) {
	a := newAuthority(t)
	var current atomic.Pointer[tls.Certificate]
	i, err := certificates.New(certificates.Config{
		Domains: domains, Folder: t.TempDir(), Directory: a.directory(), OverHTTP: true,
		Client: a.Client(), Logger: slog.New(slog.DiscardHandler), Use: func(pair *tls.Certificate) { current.Store(pair) },
	})
	if err != nil {
		t.Fatal(err)
	}
	err = i.Obtain(t.Context()) // the port is closed
	for _, want := range []string{a.directory() + ": ", ".example.com could not be proven (http-01): ", "connection refused", "requests to port 80 of "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if i.Failure() == nil {
		t.Error("the failure is not kept")
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := i.Obtain(stopped); err == nil {
		t.Error("an attempt whose context has ended succeeds")
	}
	listen(t, a, i, &current)
	if err := i.Obtain(t.Context()); err != nil || i.Failure() != nil || a.verify(t, a.tlsAddress) != nil {
		t.Errorf("%v, %v", err, i.Failure())
	}
}

// A stored certificate that is valid for another hour, of 90 days, is in use until Run has renewed it.
func TestIssuer_Renews(t *testing.T) {
	a, folder := newAuthority(t), t.TempDir()
	stored := filepath.Join(folder, strings.ReplaceAll(strings.TrimPrefix(a.URL, "https://"), ":", "_"))
	if err := os.MkdirAll(stored, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stored, "certificate.pem"), selfSigned(t, time.Now().Add(-90*24*time.Hour), time.Now().Add(time.Hour)), 0o600); err != nil {
		t.Fatal(err)
	}
	var current atomic.Pointer[tls.Certificate]
	used := make(chan struct{}, 2)
	i, err := certificates.New(certificates.Config{
		Domains: domains, Folder: folder, Directory: a.directory(), OverHTTP: true, Client: a.Client(), Logger: slog.New(slog.DiscardHandler),
		Use: func(pair *tls.Certificate) { current.Store(pair); used <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	<-used
	listen(t, a, i, &current)
	if err := a.verify(t, a.tlsAddress); err == nil || current.Load().Leaf.Issuer.CommonName != "stored" {
		t.Errorf("the stored certificate is not in use: %v, %v", err, current.Load().Leaf.Issuer)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { i.Run(ctx); close(ended) }()
	<-used
	if err := a.verify(t, a.tlsAddress); err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
}

// selfSigned returns a certificate for the domains that no authority has issued, with its key, in PEM.
func selfSigned(t *testing.T, from, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stored"}, DNSNames: domains, NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
}
