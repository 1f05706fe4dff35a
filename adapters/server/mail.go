package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/dnstxt"
	"github.com/bunting-flags/bunting/adapters/internal/smtpmail"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// openMail configures the parts of management that use the network: mails and DNS.
func (p *parts) openMail(c *rooms.Config) error {
	c.SiteURL, c.ChallengeHost = p.SiteURL, p.ChallengeHost
	resolver, err := dnstxt.New(p.DNSResolver)
	if err != nil {
		p.log.Warn("domains cannot be verified: set a DNS server with Options.DNSResolver", "error", err)
	} else {
		c.Resolver = resolver
	}
	if p.SMTP.URL == "" {
		return nil
	}
	if p.SiteURL == "" {
		return errors.New("Options.SiteURL is needed with Options.SMTP.URL: links in mails start with it, because a request may contain any host; set the public URL of this server, such as https://flags.example.com")
	}
	smtp, err := smtpmail.ParseURL(p.SMTP.URL)
	if err != nil {
		return fmt.Errorf("Options.SMTP.URL: %w", err)
	}
	if p.SMTP.PasswordFile != "" {
		password, err := os.ReadFile(p.SMTP.PasswordFile)
		if err != nil {
			return fmt.Errorf("Options.SMTP.PasswordFile: %w", err)
		}
		smtp.Password = string(bytes.TrimRight(password, "\r\n"))
	}
	if smtp.From = p.SMTP.From; smtp.From == "" {
		return errors.New("Options.SMTP.From is needed with Options.SMTP.URL: set the address that mails are sent from")
	}
	mailer, err := smtpmail.New(smtp)
	if err != nil {
		return fmt.Errorf("Options.SMTP.From, Options.SMTP.URL: %w", err)
	}
	c.Mailer = mailer
	p.mailQueued = make(chan struct{}, 1)
	c.MailQueued = func() {
		select {
		case p.mailQueued <- struct{}{}:
		default: // a signal is already pending
		}
	}
	return nil
}

// mailPoll is the interval of checks of the outbox without a signal: another server with the same
// database may have added a mail.
const mailPoll = time.Minute

// deliverMail sends the mails of the outbox until the context ends.
func (p *parts) deliverMail(ctx context.Context) {
	p.deliver(ctx, jobMails, mailPoll, p.mailQueued, p.manager.Organizations.Mails.Deliver, p.logMailFailures)
}

// logMailFailures logs each mail that was not sent.
func (p *parts) logMailFailures(err error) {
	var several interface{ Unwrap() []error }
	list := []error{err}
	if errors.As(err, &several) {
		list = several.Unwrap()
	}
	for _, err := range list {
		switch {
		case err == nil:
		case errors.Is(err, organizations.ErrMailRejected):
			p.log.Error("a mail could not be sent, giving up", "error", err)
		default:
			p.log.Warn("a mail could not be sent, it will be tried again", "error", err)
		}
	}
}
