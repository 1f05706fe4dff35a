package oidc_test

import (
	"context"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/oidc"
	"github.com/bunting-flags/bunting/adapters/internal/oidctest"
)

// A user who disconnects while the provider's configuration is loaded does not make the sign-ins
// of others fail.
func TestProvider_DisconnectDuringDiscovery(t *testing.T) {
	provider := oidctest.New(t)
	p, err := oidc.New(oidc.Config{Issuer: provider.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret})
	if err != nil {
		t.Fatal(err)
	}
	const redirect = "http://localhost/callback"
	disconnected, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = p.Begin(disconnected, redirect, "state", "nonce", "verifier")
	if _, err := p.Begin(t.Context(), redirect, "state", "nonce", "verifier"); err != nil {
		t.Errorf("the next sign-in: %v", err)
	}
}
