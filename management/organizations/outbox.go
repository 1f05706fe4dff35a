package organizations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// The outbox has two queues, so that webhooks that nobody answers do not delay mails. Sort of the
// records is the time when they are due.
const (
	// kindMail is the kind of records of queued mails: ID is the id of the invitation for its mail.
	kindMail = "mail"
	// kindWebhook is the kind of records of queued webhooks: Other is the organization.
	kindWebhook = "webhook"
)

// waitingMail is a mail or a webhook of the outbox. A mail has only the facts: the text is composed
// for each attempt, together with a new secret.
type waitingMail struct {
	ID string `json:"id"`
	// Invite is the id of the invitation to mail. Otherwise Joined is the uuid of a user who has
	// joined Organization, for a mail to the member To.
	Invite string `json:"invite,omitempty"`
	Joined string `json:"joined,omitempty"`
	// Confirms is the uuid of a user whose pending address is To.
	Confirms string `json:"confirms,omitempty"`
	// SignsIn reports whether the mail has a link for signing in. Next is the path of the console
	// to which that leads.
	SignsIn bool   `json:"signs_in,omitempty"`
	Next    string `json:"next,omitempty"`
	// Notice is a notice about a project.
	Notice       *notice          `json:"notice,omitempty"`
	Webhook      *webhook         `json:"webhook,omitempty"` // nil for a mail
	Organization string           `json:"organization,omitempty"`
	To           string           `json:"to,omitempty"`
	Site         string           `json:"site"`
	Created      management.Stamp `json:"created_at"`
	// Attempts is the number of attempts that have begun.
	Attempts int `json:"attempts"`
}

const (
	// mailBatch is the greatest number of mails or webhooks that one call sends.
	mailBatch = 100
	// sendTime is the limit of one attempt. No other server tries a claimed mail within claimTime;
	// by then the attempt has ended, or its server has stopped. The clocks of the servers may
	// differ by at most the difference of the two.
	sendTime  = time.Minute
	claimTime = 2 * time.Minute
	// The time until the next attempt doubles from firstWait up to lastWait.
	firstWait = 10 * time.Second
	lastWait  = 15 * time.Minute
)

// kind returns the queue of the mail.
func (m *waitingMail) kind() string {
	if m.Webhook != nil {
		return kindWebhook
	}
	return kindMail
}

// put stores the mail, to be sent at due.
func (m *waitingMail) put(tx management.Tx, due time.Time) error {
	r := &management.Record{Kind: m.kind(), ID: m.ID, Sort: storage.SortTime(due), Data: storage.Encode(m)}
	if m.Webhook != nil {
		r.Other = m.Organization
	}
	return tx.Put(r)
}

// wait returns the time until the next attempt.
func (m *waitingMail) wait() time.Duration {
	wait := firstWait
	for range m.Attempts - 1 {
		if wait *= 2; wait >= lastWait {
			return lastWait
		}
	}
	return wait
}

// queueInvite queues the mail of an invitation.
func (s *core) queueInvite(tx Tx, invite *storedInvite, site string) error {
	m := &waitingMail{ID: invite.ID, Invite: invite.ID, Site: site, Created: invite.Created}
	return m.put(tx, invite.Created.Time)
}

// notifyQueued calls MailQueued after a successful commit. It returns err unchanged.
func (s *core) notifyQueued(err error) error {
	if err == nil && s.Mailer != nil && s.MailQueued != nil {
		s.MailQueued()
	}
	return err
}

// outbox is a queue of mails or webhooks that are sent at least once: if the server stops between the
// receiver's confirmation and the commit that records it, the mail is sent again after two minutes
// with the same ID. Several goroutines and servers with one store share the work.
type outbox struct {
	*core
	kind string
}

// Deliver sends what is due. It must be called again at next or earlier; next is zero if the queue is
// empty. The error is about the store, or about mails that were not sent; they stay in the queue,
// except those that the mail server refuses permanently. Mails of expired or deleted invitations are
// not sent, and webhooks not any more after webhookLife.
func (s outbox) Deliver(ctx context.Context) (next time.Time, err error) {
	if s.kind == kindMail && s.Mailer == nil || s.kind == kindWebhook && s.Poster == nil {
		return time.Time{}, nil
	}
	// Most calls find nothing, so they only read.
	first, err := management.Read(ctx, &s.Env, func(tx Tx) ([]management.Record, error) {
		list, _, err := tx.List(management.Query{Kind: s.kind, Limit: 1})
		return list, err
	})
	if err != nil {
		return s.Env.Now().Add(firstWait), fmt.Errorf("reading the outbox: %w", err)
	}
	if len(first) == 0 {
		return time.Time{}, nil
	}
	if due, err := dueTime(&first[0]); err != nil || due.After(s.Env.Now()) {
		return due, err
	}
	var failed []error
	for range mailBatch {
		claimed, mail, due, err := s.claim(ctx)
		if err != nil {
			return s.Env.Now().Add(firstWait), errors.Join(append(failed, fmt.Errorf("reading the outbox: %w", err))...)
		}
		if claimed == nil {
			return due, errors.Join(failed...)
		}
		sent := s.send(ctx, claimed, mail)
		if sent != nil {
			failed = append(failed, fmt.Errorf("%s %s, attempt %d: %w", s.kind, claimed.ID, claimed.Attempts, sent))
		}
		// The result is recorded even if ctx has ended.
		if err := s.settle(context.WithoutCancel(ctx), claimed, sent); err != nil {
			failed = append(failed, fmt.Errorf("recording the result of %s %s: %w", s.kind, claimed.ID, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return s.Env.Now(), errors.Join(failed...)
}

// send makes one attempt to send a mail or a webhook.
func (s *core) send(ctx context.Context, claimed *waitingMail, mail Mail) error {
	if claimed.Webhook != nil {
		return s.post(ctx, claimed)
	}
	attempt, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	return s.Mailer.Send(attempt, mail)
}

// Backlog returns the number of mails in the queue, and the time since when the oldest of the next
// mailBatch mails has been waiting, or zero if there are none.
func (s outbox) Backlog(ctx context.Context) (count int, oldest time.Time, err error) {
	list, err := management.Read(ctx, &s.Env, func(tx Tx) (management.List[waitingMail], error) {
		return management.ListRecords[waitingMail](tx, management.Query{Kind: s.kind, Limit: mailBatch})
	})
	for i := range list.Results {
		if created := list.Results[i].Created.Time; oldest.IsZero() || created.Before(oldest) {
			oldest = created
		}
	}
	return list.Count, oldest, err
}

// claim claims the mail that has been due for the longest time, and deletes mails
// before it that must not be sent any more. If no mail is due, claimed is nil and next is when the
// next one will be.
func (s outbox) claim(ctx context.Context) (claimed *waitingMail, mail Mail, next time.Time, err error) {
	var dropped []*waitingMail
	var unreadable error // does not block the other mails
	err = s.Env.Store.Write(ctx, func(tx Tx) error {
		claimed, mail, next, dropped, unreadable = nil, Mail{}, time.Time{}, nil, nil
		now := s.Env.Now()
		list, _, err := tx.List(management.Query{Kind: s.kind, Limit: mailBatch})
		if err != nil {
			return err
		}
		for i := range list {
			// Mails are sorted by due time: the remaining mails are not due.
			if list[i].Sort > storage.SortTime(now) {
				next, err = dueTime(&list[i])
				return err
			}
			m, err := management.Decode[waitingMail](&list[i])
			if err != nil {
				unreadable = err
				continue
			}
			ok, err := s.compose(tx, m, &mail)
			if err != nil {
				return err
			}
			if ok {
				claimed = m
				// Another server will not try the mail before this attempt must have ended.
				m.Attempts++
				return m.put(tx, now.Add(claimTime))
			}
			if err := tx.Delete(s.kind, "", m.ID); err != nil {
				return err
			}
			dropped = append(dropped, m)
		}
		// All mails of the batch were deleted, and there may be more.
		if len(list) == mailBatch {
			next = now
		}
		return nil
	})
	if err != nil {
		return nil, Mail{}, time.Time{}, err
	}
	s.reportDropped(dropped)
	if claimed == nil {
		err = unreadable
	}
	return claimed, mail, next, err
}

// settle records the result of an attempt, unless the mail was deleted or another attempt has
// begun.
func (s outbox) settle(ctx context.Context, claimed *waitingMail, sent error) error {
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		m, err := management.Found[waitingMail](tx.Get(claimed.kind(), "", claimed.ID))
		switch {
		// The attempt was longer than claimTime, and another server has claimed the mail.
		case err != nil || m == nil || m.Attempts != claimed.Attempts:
			return err
		case sent == nil || errors.Is(sent, ErrMailRejected):
			return tx.Delete(m.kind(), "", m.ID)
		case errors.Is(sent, context.Canceled): // the server stops: the next one retries at once
			return m.put(tx, s.Env.Now())
		}
		return m.put(tx, s.Env.Now().Add(m.wait()))
	})
}

// compose writes a mail. It returns false if the mail must not be sent any more.
func (s *core) compose(tx Tx, m *waitingMail, mail *Mail) (bool, error) {
	if m.Webhook != nil {
		return s.isCurrent(tx, m)
	}
	if s.Env.Now().Sub(m.Created.Time) > inviteLife {
		return false, nil
	}
	if m.Invite != "" {
		return s.composeInvite(tx, m, mail)
	}
	if m.Confirms != "" {
		return s.composeConfirmation(tx, m, mail)
	}
	if m.SignsIn {
		return s.composeLink(tx, m, mail)
	}
	if m.Notice != nil {
		return s.composeNotice(tx, m, mail)
	}
	return s.composeJoined(tx, m, mail)
}

// composeInvite writes the mail of an invitation and stores its new secret.
func (s *core) composeInvite(tx Tx, m *waitingMail, mail *Mail) (bool, error) {
	invite, err := inviteByID(tx, m.Invite)
	if err != nil || invite == nil {
		return false, err
	}
	if level, err := inviterLevel(tx, invite); err != nil || level < invite.Level {
		return false, err
	}
	org, err := tx.Organization(invite.Organization)
	if err != nil || org == nil {
		return false, err
	}
	creator, err := management.UserByNumber(tx, invite.CreatorID)
	if err != nil {
		return false, err
	}
	link := inviteLink(cmp.Or(s.SiteURL, m.Site), invite.ID, invite.newSecret(true))
	if err := invite.put(tx); err != nil {
		return false, err
	}
	inviter := "Somebody"
	if creator != nil {
		inviter = displayName(creator)
	}
	hello := "Hello,"
	if invite.FirstName != "" {
		hello = "Hello " + oneLine(invite.FirstName) + ","
	}
	parts := []string{hello, inviter + " invites you to the organization " + oneLine(org.Name) + "."}
	if invite.Message != nil && strings.TrimSpace(*invite.Message) != "" {
		parts = append(parts, strings.TrimSpace(*invite.Message))
	}
	until := invite.Created.Add(inviteLife).Format("2 January 2006, 15:04")
	*mail = Mail{ID: m.ID, To: invite.Email, Subject: inviter + " invites you to " + oneLine(org.Name)}
	mail.write(parts, singleLink("Accept the invitation", link), "The link works once, until "+until+" UTC. If you do not know what this is about, ignore this mail.")
	return true, nil
}

// composeJoined writes the mail about a new member.
func (s *core) composeJoined(tx Tx, m *waitingMail, mail *Mail) (bool, error) {
	org, err := tx.Organization(m.Organization)
	if err != nil || org == nil {
		return false, err
	}
	u, err := management.UserByUUID(tx, m.Joined)
	if err != nil || u == nil {
		return false, err
	}
	*mail = Mail{ID: m.ID, To: m.To, Subject: displayName(u) + " has joined " + oneLine(org.Name)}
	mail.write([]string{displayName(u) + " (" + u.Email + ") has accepted an invitation to the organization " + oneLine(org.Name) + "."}, singleLink("Open it", cmp.Or(s.SiteURL, m.Site)+"/"), "")
	return true, nil
}

// MailLink mails a link for signing in to a user. For unknown addresses it does the same work up to
// the queued mail, so that its result does not disclose who has an account. next is the path below
// the console to which the link leads.
func (s Sessions) MailLink(ctx context.Context, email, next string) error {
	if s.Mailer == nil {
		return management.CodedFault("not_supported", "", "This server does not send emails.")
	}
	clean, ok := plain.NormalizeEmail(email)
	if !ok {
		return management.Fault("email", "Enter a valid email address.")
	}
	return s.notifyQueued(s.Env.Store.Write(ctx, func(tx Tx) error {
		now := s.Env.Now()
		m := &waitingMail{ID: s.Env.NewID(), SignsIn: true, Next: next, To: clean, Site: s.SiteURL, Created: management.NewStamp(now)}
		return m.put(tx, now)
	}))
}

// composeLink writes the mail with a link for signing in. It returns false if no active user has
// the address.
func (s *core) composeLink(tx Tx, m *waitingMail, mail *Mail) (bool, error) {
	u, err := management.UserByEmail(tx, m.To)
	until := m.Created.Add(mailLinkLife)
	if err != nil || u == nil || u.Inactive || !s.Env.Now().Before(until) {
		return false, err
	}
	token := newToken()
	if err := s.putLink(tx, u.UUID, "mail", token, until); err != nil {
		return false, err
	}
	link := s.SiteURL + "/console/sign-in" + m.Next + "#" + token
	*mail = Mail{ID: m.ID, To: u.Email, Subject: "Sign in to Bunting"}
	mail.write([]string{"Hello " + displayName(u) + ",", "somebody, probably you, wants to sign in with your address."},
		singleLink("Sign in", link), "The link works once, until "+until.Format("2 January 2006, 15:04")+" UTC. If it was not you, ignore this mail.")
	return true, nil
}
