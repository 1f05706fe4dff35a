package certificates

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

const (
	// requestTime is the maximum duration of a request to the authority, and attemptTime that of an
	// attempt to obtain a certificate.
	requestTime = 30 * time.Second
	attemptTime = 5 * time.Minute
	// After a failure the next attempt waits for firstWait, and after each further one twice as
	// long, up to longestWait. Let's Encrypt permits five failures an hour.
	firstWait, longestWait = time.Minute, time.Hour
	// recheck is the longest time for which the clock is trusted to go on.
	recheck = time.Hour
	// A certificate is renewed when a third of its life remains, or earliestRenewal.
	earliestRenewal = 30 * 24 * time.Hour
	maxRetries      = 5
)

// Run obtains and renews the certificate until the context ends. Challenges must be answered while
// it runs.
func (i *Issuer) Run(ctx context.Context) {
	for failures := 0; ; {
		if wait := i.due(time.Now()); wait > 0 || failures > 0 {
			if failures > 0 {
				wait = max(wait, i.pause(failures))
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(min(wait, recheck)):
			}
			if i.due(time.Now()) > 0 {
				continue
			}
		}
		if err := i.Obtain(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			failures++
			i.config.Logger.Error("no certificate was obtained, it will be tried again", "error", err, "in", i.pause(failures))
			continue
		}
		failures = 0
	}
}

// due returns the time until the certificate must be obtained, 0 or less for now.
func (i *Issuer) due(now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.leaf == nil {
		return 0
	}
	life := i.leaf.NotAfter.Sub(i.leaf.NotBefore)
	return i.leaf.NotAfter.Add(-min(life/3, earliestRenewal)).Sub(now)
}

// pause returns the time until the next attempt after some failures, at least as long as the
// authority has requested with the last.
func (i *Issuer) pause(failures int) time.Duration {
	wait := min(firstWait<<min(failures-1, 10), longestWait)
	var problem *acme.Error
	if errors.As(i.Failure(), &problem) {
		if requested, limited := acme.RateLimit(problem); limited {
			wait = max(wait, min(requested, 24*time.Hour))
		}
	}
	return wait
}

// Obtain obtains a new certificate, stores it and uses it.
func (i *Issuer) Obtain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	pair, text, err := i.request(ctx)
	if err == nil {
		err = lastgood.Replace(i.certificateFile(), 0o600, text)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", i.config.Directory, err)
		i.mu.Lock()
		i.failure = err
		i.mu.Unlock()
		return err
	}
	i.use(pair)
	i.config.Logger.Info("certificate obtained", "domains", i.config.Domains, "from", i.config.Directory, "until", pair.Leaf.NotAfter.UTC())
	return nil
}

// request proves the domains and returns a new certificate with its key, also in PEM.
func (i *Issuer) request(ctx context.Context) (*tls.Certificate, []byte, error) {
	client, err := i.account(ctx)
	if err != nil {
		return nil, nil, err
	}
	order, err := client.AuthorizeOrder(ctx, acme.DomainIDs(i.config.Domains...))
	if err != nil {
		return nil, nil, err
	}
	for _, address := range order.AuthzURLs {
		if err := i.prove(ctx, client, address); err != nil {
			return nil, nil, err
		}
	}
	if order, err = client.WaitOrder(ctx, order.URI); err != nil {
		return nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: i.config.Domains}, key)
	if err != nil {
		return nil, nil, err
	}
	chain, _, err := client.CreateCertFromOrder(ctx, order, csr, true)
	if err != nil {
		return nil, nil, err
	}
	return i.assemble(chain, key)
}

// assemble checks a new certificate, and returns it also in PEM with its key.
func (i *Issuer) assemble(chain [][]byte, key *ecdsa.PrivateKey) (*tls.Certificate, []byte, error) {
	var text bytes.Buffer
	text.Write(encodeKey(key))
	for _, der := range chain {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	pair, err := tls.X509KeyPair(text.Bytes(), text.Bytes())
	if err == nil {
		err = i.check(&pair, time.Now())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the new certificate is not valid: %w", err)
	}
	return &pair, text.Bytes(), nil
}

func encodeKey(key *ecdsa.PrivateKey) []byte {
	der, _ := x509.MarshalPKCS8PrivateKey(key) // cannot fail for a key of this type
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// account returns a client with an account at the authority.
func (i *Issuer) account(ctx context.Context) (*acme.Client, error) {
	key, err := i.accountKey()
	if err != nil {
		return nil, err
	}
	client := &acme.Client{
		Key: key, DirectoryURL: i.config.Directory, HTTPClient: i.config.Client, UserAgent: "bunting",
		RetryBackoff: func(n int, _ *http.Request, res *http.Response) time.Duration {
			if n > maxRetries || res.StatusCode == http.StatusTooManyRequests {
				return -1 // the next attempt waits for the time that the authority sets
			}
			return time.Second << n
		},
	}
	account := &acme.Account{}
	if i.config.Email != "" {
		account.Contact = []string{"mailto:" + i.config.Email}
	}
	if _, err := client.Register(ctx, account, acme.AcceptTOS); err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return nil, fmt.Errorf("registering: %w", err)
	}
	return client, nil
}

// accountKey returns the key of the account, which it creates at first.
func (i *Issuer) accountKey() (crypto.Signer, error) {
	path := filepath.Join(i.folder, "account.pem")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		return key, lastgood.Replace(path, 0o600, encodeKey(key))
	}
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(text); block != nil {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if signer, ok := key.(crypto.Signer); ok {
				return signer, nil
			}
		}
	}
	return nil, fmt.Errorf("%s does not contain the key of an account: remove it, and a new account is registered", path)
}

// prove proves a domain to the authority.
func (i *Issuer) prove(ctx context.Context, client *acme.Client, address string) error {
	authorization, err := client.GetAuthorization(ctx, address)
	if err != nil || authorization.Status == acme.StatusValid {
		return err
	}
	name := authorization.Identifier.Value
	kind, answer, advice := "tls-alpn-01", i.answerHandshake, "connections to port 443 of "+name+" must reach this server without a proxy that ends TLS"
	if i.config.OverHTTP {
		kind, answer, advice = "http-01", i.answerHTTP, "requests to port 80 of "+name+" must reach this server"
	}
	for _, challenge := range authorization.Challenges {
		if challenge.Type != kind {
			continue
		}
		end, err := answer(client, name, challenge.Token)
		if err != nil {
			return err
		}
		defer end()
		if _, err = client.Accept(ctx, challenge); err == nil {
			_, err = client.WaitAuthorization(ctx, address)
		}
		if err != nil {
			return fmt.Errorf("%s could not be proven (%s): %w; %s", name, kind, err, advice)
		}
		return nil
	}
	return fmt.Errorf("%s: the authority does not offer %s", name, kind)
}

func (i *Issuer) answerHTTP(client *acme.Client, _, token string) (end func(), err error) {
	response, err := client.HTTP01ChallengeResponse(token)
	if err != nil {
		return nil, err
	}
	return keep(i, i.paths, client.HTTP01ChallengePath(token), response), nil
}

func (i *Issuer) answerHandshake(client *acme.Client, name, token string) (end func(), err error) {
	pair, err := client.TLSALPN01ChallengeCert(token, name)
	if err != nil {
		return nil, err
	}
	return keep(i, i.handshakes, name, &pair), nil
}

// keep sets an entry of a map of the Issuer until end is called.
func keep[T any](i *Issuer, m map[string]T, name string, value T) (end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	m[name] = value
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(m, name)
	}
}
