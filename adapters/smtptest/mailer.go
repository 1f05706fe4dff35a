package smtptest

import (
	"crypto/tls"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/smtpmail"
	"github.com/bunting-flags/bunting/management/organizations"
)

// Mailer is the one that a server of ours sends with, to an address as o's user.
// trust is the TLS of the Server there; nil trusts none of them.
func Mailer(t testing.TB, address string, o Options, trust *tls.Config) organizations.Mailer {
	t.Helper()
	m, err := smtpmail.New(smtpmail.Config{Address: address, From: "bunting@example.org", User: o.User, Password: o.Password, TLS: trust})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
