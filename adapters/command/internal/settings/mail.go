package settings

import (
	"errors"
	"net/url"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/dnstxt"
	"github.com/bunting-flags/bunting/adapters/internal/smtpmail"
	"github.com/bunting-flags/bunting/management/organizations"
)

// mailSettings are the settings of mails and of the verification of domains.
var mailSettings = []setting{
	{"site-url", text, "URL", []string{""}, "public URL of this server, for links; needed with --smtp-url, because mails do not use the address in a request",
		func(c *Config, v []string) error {
			c.SiteURL = strings.TrimRight(v[0], "/")
			u, err := url.Parse(v[0])
			if v[0] != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "") {
				return errors.New("must be a URL such as https://flags.example.com")
			}
			return nil
		}},
	{"smtp-url", text, "URL", []string{""}, "server for mails: smtp://USER@HOST:PORT (STARTTLS), smtps:// (TLS) or smtp+plain:// (not encrypted); without it no mails are sent",
		func(c *Config, v []string) error {
			if c.SMTP.URL = v[0]; v[0] == "" {
				return nil
			}
			_, err := smtpmail.ParseURL(v[0])
			return err
		}},
	{"smtp-password-file", text, "FILE", []string{""}, "file with the password of the user of --smtp-url, so that the URL does not contain it",
		func(c *Config, v []string) error { c.SMTP.PasswordFile = v[0]; return nil }},
	{"mail-from", text, "ADDRESS", []string{""}, "sender of mails, such as Bunting <bunting@example.com>; needed with --smtp-url",
		func(c *Config, v []string) error { c.SMTP.From = v[0]; return nil }},
	{"dns-resolver", text, "HOST:PORT", []string{""}, "DNS server for the TXT records of domains; the system's by default",
		func(c *Config, v []string) error {
			if c.DNSResolver = v[0]; v[0] == "" {
				return nil
			}
			_, err := dnstxt.New(v[0])
			return err
		}},
	{"domain-challenge-host", text, "NAME", []string{organizations.DefaultChallengeHost}, "prefix of a domain in the name of its TXT record",
		func(c *Config, v []string) error { c.ChallengeHost = v[0]; return nil }},
}
