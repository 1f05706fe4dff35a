// Package oidc signs people in with a provider of OpenID Connect (console.md §5.2).
package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// answerTimeout is the timeout of one request to the provider.
	answerTimeout = 10 * time.Second
	// maxAnswer is the maximum size of a response, in bytes.
	maxAnswer = 1 << 20
	// retryPause is the minimum time between two attempts to reach a provider that did not respond.
	retryPause = 5 * time.Second
)

// Config configures a Provider. Issuer, ClientID and ClientSecret are required.
type Config struct {
	// Issuer is the provider's address, to which /.well-known/openid-configuration is appended:
	// https, or http on this machine.
	Issuer string
	// ClientID and ClientSecret identify the server to the provider.
	ClientID, ClientSecret string
	// Name is the provider's name for people, by default the host of Issuer.
	Name string
}

// Provider implements organizations.Provider. It fetches the provider's configuration at the first
// sign-in, because the provider may be unavailable when the server starts. It is safe for
// concurrent use.
type Provider struct {
	config Config
	client *http.Client

	mu         sync.Mutex
	discovered *oidc.Provider
	failedAt   time.Time
}

// New checks a Config. It sends no requests.
func New(c Config) (*Provider, error) {
	issuer, err := url.Parse(c.Issuer)
	if err != nil || issuer.Host == "" || issuer.Scheme != "https" && (issuer.Scheme != "http" || !isLoopback(issuer.Hostname())) {
		return nil, fmt.Errorf("oidc: the issuer %q is no https address", c.Issuer)
	}
	if c.ClientID == "" || c.ClientSecret == "" {
		return nil, errors.New("oidc: a client id and a client secret are required: the provider gives them to who registers an application")
	}
	if c.Name == "" {
		c.Name = issuer.Host
	}
	return &Provider{config: c, client: &http.Client{Timeout: answerTimeout, Transport: limitedTransport{http.DefaultTransport}}}, nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// limitedTransport is a transport that truncates responses after maxAnswer bytes.
type limitedTransport struct{ http.RoundTripper }

type limitedBody struct {
	io.Reader
	io.Closer
}

// RoundTrip implements http.RoundTripper.
func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = limitedBody{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// Name implements organizations.Provider.
func (p *Provider) Name() string { return p.config.Name }

// discover returns the provider's configuration, and fetches it if necessary. After a failure it
// returns an error for retryPause without a request.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.discovered != nil {
		return p.discovered, nil
	}
	if time.Since(p.failedAt) < retryPause {
		return nil, fmt.Errorf("%w: it did not answer just now", organizations.ErrProvider)
	}
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.config.Issuer)
	if err != nil {
		p.failedAt = time.Now()
		return nil, fmt.Errorf("%w: %w", organizations.ErrProvider, err)
	}
	p.discovered = found
	return found, nil
}

// flow returns the configuration of the code flow.
func (p *Provider) flow(provider *oidc.Provider, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: provider.Endpoint(), RedirectURL: redirect,
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// Begin implements organizations.Provider: the code flow with PKCE.
func (p *Provider) Begin(ctx context.Context, redirect, state, nonce, verifier string) (string, error) {
	provider, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return p.flow(provider, redirect).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Finish implements organizations.Provider.
func (p *Provider) Finish(ctx context.Context, redirect, code, nonce, verifier string) (*organizations.Identity, error) {
	provider, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	wrong := func(err error) (*organizations.Identity, error) {
		return nil, fmt.Errorf("%w: %w", organizations.ErrProvider, err)
	}
	token, err := p.flow(provider, redirect).Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return wrong(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return wrong(errors.New("it gave no id_token"))
	}
	id, err := provider.Verifier(&oidc.Config{ClientID: p.config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return wrong(err)
	}
	if id.Nonce != nonce {
		return wrong(errors.New("the id_token is not for this sign-in: another nonce"))
	}
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some providers send a string
		Name     string `json:"name"`
	}
	if err := id.Claims(&claims); err != nil {
		return wrong(err)
	}
	return &organizations.Identity{
		Issuer: id.Issuer, Subject: id.Subject, Email: strings.TrimSpace(claims.Email), Name: claims.Name,
		Verified: claims.Verified == true || claims.Verified == "true",
	}, nil
}
