package settings

import (
	"math"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/adapters/server"
)

var consoleModes = map[string]*server.SignIn{"on": {}, "read-only": {ReadOnly: true}, "off": nil}

// consoleSettings are the settings of the web console. --console must be the first, since the other
// rows change the SignIn that it creates.
var consoleSettings = []setting{
	{"console", text, "on|read-only|off", []string{"on"}, "web console at /console/: on, read-only (API keys can still make changes) or off",
		oneOf(consoleModes, "on, read-only or off", func(c *Config, s *server.SignIn) {
			if c.SignIn = nil; s != nil {
				c.SignIn = &server.SignIn{ReadOnly: s.ReadOnly}
			}
		})},
	{"console-idle", text, "DURATION", []string{"12h"}, "how long a browser stays signed in without activity; 1m or more",
		sessionTime(func(s *server.SignIn) *time.Duration { return &s.Idle })},
	{"console-life", text, "DURATION", []string{"720h"}, "how long a browser stays signed in at most; 1m or more",
		sessionTime(func(s *server.SignIn) *time.Duration { return &s.Life })},
	{"oidc-issuer", text, "URL", []string{""}, "OpenID Connect provider that people sign in with, such as https://accounts.example.com",
		oidcText(func(o *server.OIDC) *string { return &o.Issuer })},
	{"oidc-client-id", text, "ID", []string{""}, "client ID of this server at the provider; the redirect URL is SITE/api/session/oidc/sso/callback",
		oidcText(func(o *server.OIDC) *string { return &o.ClientID })},
	{"oidc-client-secret-file", text, "FILE", []string{""}, "file with the secret that goes with --oidc-client-id",
		oidcText(func(o *server.OIDC) *string { return &o.ClientSecretFile })},
	{"oidc-name", text, "NAME", []string{""}, "name of the provider on the sign-in page; the host of --oidc-issuer by default",
		oidcText(func(o *server.OIDC) *string { return &o.Name })},
	{"sign-in-link", Boolean, "", []string{"false"}, "print a link that signs the owner in once, within 30 minutes, even if the owner has signed in before",
		func(c *Config, v []string) (err error) { c.SignInLink, err = strconv.ParseBool(v[0]); return err }},
	{"docs", Boolean, "", []string{"true"}, "serve the documentation of this version at /docs/, for people and as Markdown (/docs/llms.txt)",
		func(c *Config, v []string) (err error) { c.HasDocs, err = strconv.ParseBool(v[0]); return err }},
}

func sessionTime(field func(*server.SignIn) *time.Duration) func(*Config, []string) error {
	return durationIn(func(c *Config) *time.Duration {
		if c.SignIn == nil {
			return new(time.Duration) // checked, and without effect
		}
		return field(c.SignIn)
	}, time.Minute, math.MaxInt64, "of 1m or more such as 12h")
}

func oidcText(field func(*server.OIDC) *string) func(*Config, []string) error {
	return func(c *Config, v []string) error {
		if c.SignIn != nil {
			*field(&c.SignIn.OIDC) = v[0]
		}
		return nil
	}
}
