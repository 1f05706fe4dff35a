package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/dnstxt"
	"github.com/bunting-flags/bunting/adapters/smtpmail"
	"github.com/bunting-flags/bunting/management"
)

// mailConfig is what mails and the proof of domains need of the outside.
type mailConfig struct {
	siteURL       string
	smtp          *smtpmail.Config // nil: no mails are sent
	passwordFile  string
	from          string
	dnsResolver   string
	challengeHost string
}

// mailSettings are rows of the table of settings.
var mailSettings = []setting{
	{"site-url", text, "URL", []string{""}, "where people reach this server, for links; needed with --smtp-url: what a request says of the address is not put into mails",
		func(c *config, v []string) error {
			c.mail.siteURL = strings.TrimRight(v[0], "/")
			u, err := url.Parse(v[0])
			if v[0] != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "") {
				return errors.New("want an address such as https://flags.example.com")
			}
			return nil
		}},
	{"smtp-url", text, "URL", []string{""}, "server for mails: smtp://USER@HOST:PORT (STARTTLS), smtps:// (TLS) or smtp+plain:// (not encrypted); without it no mails are sent",
		func(c *config, v []string) error {
			if c.mail.smtp = nil; v[0] == "" {
				return nil
			}
			parsed, err := smtpmail.ParseURL(v[0])
			c.mail.smtp = &parsed
			return err
		}},
	{"smtp-password-file", text, "FILE", []string{""}, "file with the password of the user of --smtp-url, so that it does not stand there",
		func(c *config, v []string) error { c.mail.passwordFile = v[0]; return nil }},
	{"mail-from", text, "ADDRESS", []string{""}, "sender of mails, such as Bunting <bunting@example.com>; needed with --smtp-url",
		func(c *config, v []string) error { c.mail.from = v[0]; return nil }},
	{"dns-resolver", text, "HOST:PORT", []string{""}, "DNS server that is asked for the TXT records of domains; that of the system when empty",
		func(c *config, v []string) error {
			if c.mail.dnsResolver = v[0]; v[0] == "" {
				return nil
			}
			_, err := dnstxt.New(v[0])
			return err
		}},
	{"domain-challenge-host", text, "NAME", []string{management.DefaultChallengeHost}, "what stands before a domain in the name of its TXT record",
		func(c *config, v []string) error { c.mail.challengeHost = v[0]; return nil }},
}

// openMail puts what reaches outside into the configuration of management.
func (s *server) openMail(c *management.Config) error {
	mail := &s.config.mail
	c.SiteURL, c.ChallengeHost = mail.siteURL, mail.challengeHost
	resolver, err := dnstxt.New(mail.dnsResolver)
	if err != nil {
		s.log.Warn("no domain can be verified: name a DNS server with --dns-resolver", "error", err)
	} else {
		c.Resolver = resolver
	}
	if mail.smtp == nil {
		return nil
	}
	if mail.siteURL == "" {
		return errors.New("--site-url is needed with --smtp-url: links in mails are made of it, because a request may name any host; give the address at which people reach this server, such as https://flags.example.com")
	}
	smtp := *mail.smtp
	if mail.passwordFile != "" {
		password, err := os.ReadFile(mail.passwordFile)
		if err != nil {
			return fmt.Errorf("--smtp-password-file: %w", err)
		}
		smtp.Password = string(bytes.TrimRight(password, "\r\n"))
	}
	if smtp.From = mail.from; smtp.From == "" {
		return errors.New("--mail-from is needed with --smtp-url: the address that mails come from")
	}
	mailer, err := smtpmail.New(smtp)
	if err != nil {
		return fmt.Errorf("--mail-from, --smtp-url: %w", err)
	}
	c.Mailer = mailer
	s.mailQueued = make(chan struct{}, 1)
	c.MailQueued = func() {
		select {
		case s.mailQueued <- struct{}{}:
		default: // it is known already
		}
	}
	return nil
}

// mailPoll is how often the outbox is looked at when nothing happens: another
// server with the same database may have left something there.
const mailPoll = time.Minute

// deliverMail sends the mails of the outbox until the context ends.
func (s *server) deliverMail(ctx context.Context) {
	if s.mailQueued == nil {
		return
	}
	for ctx.Err() == nil {
		next, err := s.manager.DeliverMail(ctx)
		if ctx.Err() == nil {
			s.jobs.count(jobMails, err)
			s.mailFailed(err)
		}
		wait := mailPoll
		if !next.IsZero() {
			wait = min(wait, time.Until(next))
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-s.mailQueued:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// mailFailed logs each mail that was not sent.
func (s *server) mailFailed(err error) {
	var several interface{ Unwrap() []error }
	list := []error{err}
	if errors.As(err, &several) {
		list = several.Unwrap()
	}
	for _, err := range list {
		switch {
		case err == nil:
		case errors.Is(err, management.ErrMailRefused):
			s.log.Error("a mail is given up", "error", err)
		default:
			s.log.Warn("a mail was not sent yet", "error", err)
		}
	}
}

// passwordParameter is a password among the parameters of an address, or of a
// connection in PostgreSQL's other form ("host=db password=secret").
var passwordParameter = regexp.MustCompile(`(?i)(password=)('(?:[^'\\]|\\.)*'|[^&\s]*)`)

// withoutPassword is a setting as it may be shown: an address without the password
// in it.
func withoutPassword(text string) string {
	text = passwordParameter.ReplaceAllString(text, "$1***")
	scheme, rest, ok := strings.Cut(text, "://")
	at := strings.LastIndexByte(rest, '@')
	if !ok || at < 0 {
		return text
	}
	user, _, has := strings.Cut(rest[:at], ":")
	if !has {
		return text
	}
	return scheme + "://" + user + ":***" + rest[at:]
}
