package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bunting-flags/bunting/adapters/dnstxt"
	"github.com/bunting-flags/bunting/adapters/smtpmail"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// openMail puts what reaches outside into the configuration of management.
func (s *server) openMail(c *rooms.Config) error {
	mail := &s.config.Mail
	c.SiteURL, c.ChallengeHost = mail.SiteURL, mail.ChallengeHost
	resolver, err := dnstxt.New(mail.DnsResolver)
	if err != nil {
		s.log.Warn("no domain can be verified: name a DNS server with --dns-resolver", "error", err)
	} else {
		c.Resolver = resolver
	}
	if mail.Smtp == nil {
		return nil
	}
	if mail.SiteURL == "" {
		return errors.New("--site-url is needed with --smtp-url: links in mails are made of it, because a request may name any host; give the address at which people reach this server, such as https://flags.example.com")
	}
	smtp := *mail.Smtp
	if mail.PasswordFile != "" {
		password, err := os.ReadFile(mail.PasswordFile)
		if err != nil {
			return fmt.Errorf("--smtp-password-file: %w", err)
		}
		smtp.Password = string(bytes.TrimRight(password, "\r\n"))
	}
	if smtp.From = mail.From; smtp.From == "" {
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
