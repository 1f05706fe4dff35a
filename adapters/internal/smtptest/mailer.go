package smtptest

import (
	"crypto/tls"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/smtpmail"
	"github.com/bunting-flags/bunting/management/organizations"
)

// Mailer returns the mailer of a Bunting server, for a Server at address with o's user. trust is
// the TLS of that Server; with nil the Mailer does not trust it.
func Mailer(t testing.TB, address string, o Options, trust *tls.Config) organizations.Mailer {
	t.Helper()
	m, err := smtpmail.New(smtpmail.Config{Address: address, From: "bunting@example.org", User: o.User, Password: o.Password, TLS: trust})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
