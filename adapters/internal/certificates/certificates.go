// Package certificates obtains certificates from an authority that speaks ACME (RFC 8555), such as
// Let's Encrypt, and renews them.
//
// An [Issuer] proves that its server has the domains by answering a request of the authority, over
// HTTP (HTTP-01) or in a TLS handshake (TLS-ALPN-01, RFC 8737). All domains share one certificate.
// It is stored in a file with its key, so that a restart sends no requests.
package certificates

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
)

// Challenge is the protocol with which an authority negotiates the handshakes of TLS-ALPN-01.
const Challenge = acme.ALPNProto

// LetsEncrypt is the directory of Let's Encrypt, the default of Config.Directory.
const LetsEncrypt = acme.LetsEncryptURL

// MaxDomains is the maximum number of domains of a certificate, which is also that of Let's Encrypt.
const MaxDomains = 100

// Config configures an Issuer.
type Config struct {
	// Domains are the names in the certificate, as CheckDomains accepts them.
	Domains []string
	// Folder is where the certificates and the keys are stored. It is created if it is missing.
	Folder string
	// Directory is the address of the authority, by default LetsEncrypt.
	Directory string
	// Email is an address at which the authority may send warnings, or empty.
	Email string
	// OverHTTP selects HTTP-01: the program serves the Issuer on port 80 of the domains. Otherwise
	// the domains are proven by TLS-ALPN-01, on port 443.
	OverHTTP bool
	// Use is called with each certificate: the stored one, if it is valid, and each new one.
	Use func(*tls.Certificate)
	// Logger gets a message about each new certificate and each failure.
	Logger *slog.Logger
	// Client sends the requests to the authority, by default one with a limited duration.
	Client *http.Client
}

// Issuer obtains the certificate of some domains. It is safe for concurrent use.
type Issuer struct {
	config Config
	folder string // of the authority

	mu         sync.Mutex
	leaf       *x509.Certificate           // nil without a certificate
	failure    error                       // of the last attempt
	paths      map[string]string           // the responses of HTTP-01 by path; at most one for each domain
	handshakes map[string]*tls.Certificate // the certificates of TLS-ALPN-01 by domain
}

// A domain has at least two labels. Wildcards would need another kind of proof, in the DNS.
var domain = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$`)

// CheckDomains returns an error if an authority cannot issue a certificate for one of the domains.
func CheckDomains(domains []string) error {
	if len(domains) > MaxDomains {
		return fmt.Errorf("%d domains: a certificate has at most %d", len(domains), MaxDomains)
	}
	for i, name := range domains {
		switch {
		case strings.HasPrefix(name, "*."):
			return fmt.Errorf("%s: there are no certificates for all names below a domain: list each of them", name)
		case net.ParseIP(strings.Trim(name, "[]")) != nil:
			return fmt.Errorf("%s is an address: use the name of a domain, such as flags.example.com", name)
		case name != strings.ToLower(name) || len(name) > 253 || !domain.MatchString(name):
			return fmt.Errorf("%q is no domain: use a name in lower case such as flags.example.com, without https:// and without a port, and with other letters than a to z in their form of DNS (xn--…)", name)
		case slices.Contains(domains[:i], name):
			return fmt.Errorf("%s is listed twice", name)
		}
	}
	return nil
}

// CheckDirectory returns an error if text is no address of an authority.
func CheckDirectory(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("must be the address of an ACME directory such as %s, not %q", LetsEncrypt, text)
	}
	return nil
}

// New returns an Issuer, and uses the stored certificate if it is valid.
func New(c Config) (*Issuer, error) {
	c.Directory = cmp.Or(c.Directory, LetsEncrypt)
	if c.Client == nil {
		c.Client = &http.Client{Timeout: requestTime}
	}
	if len(c.Domains) == 0 {
		return nil, errors.New("no domains")
	}
	if err := errors.Join(CheckDomains(c.Domains), CheckDirectory(c.Directory)); err != nil {
		return nil, err
	}
	u, _ := url.Parse(c.Directory) // it was checked
	i := &Issuer{
		config: c, folder: filepath.Join(c.Folder, strings.ReplaceAll(u.Host, ":", "_")),
		paths: map[string]string{}, handshakes: map[string]*tls.Certificate{},
	}
	if err := os.MkdirAll(i.folder, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for certificates cannot be made: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(i.certificateFile(), i.certificateFile())
	if err == nil && i.check(&pair, time.Now()) == nil {
		i.use(&pair)
	}
	return i, nil
}

func (i *Issuer) certificateFile() string { return filepath.Join(i.folder, "certificate.pem") }

// check returns an error if a certificate is not valid for the domains at a time.
func (i *Issuer) check(pair *tls.Certificate, now time.Time) error {
	for _, name := range i.config.Domains {
		if err := pair.Leaf.VerifyHostname(name); err != nil {
			return err
		}
	}
	if now.After(pair.Leaf.NotAfter) {
		return fmt.Errorf("it has expired at %s", pair.Leaf.NotAfter)
	}
	return nil
}

func (i *Issuer) use(pair *tls.Certificate) {
	i.mu.Lock()
	i.leaf, i.failure = pair.Leaf, nil
	i.mu.Unlock()
	i.config.Use(pair)
}

// Failure returns the error of the last attempt to obtain a certificate, or nil if it succeeded.
func (i *Issuer) Failure() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.failure
}

// Handshake returns the certificate for the handshake of an authority that checks a domain, or nil
// for any other handshake.
func (i *Issuer) Handshake(hello *tls.ClientHelloInfo) *tls.Certificate {
	if !slices.Equal(hello.SupportedProtos, []string{Challenge}) {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.handshakes[hello.ServerName]
}

// ServeHTTP answers the requests of an authority that checks a domain, and redirects all other requests to
// the same address with https.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	response, isChallenge := i.paths[r.URL.Path]
	i.mu.Unlock()
	if isChallenge {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte(response))
		return
	}
	// The Host header may be anything.
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if host = strings.ToLower(host); !slices.Contains(i.config.Domains, host) {
		host = i.config.Domains[0]
	}
	http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusPermanentRedirect)
}
