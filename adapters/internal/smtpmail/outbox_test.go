package smtpmail_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/smtptest"
	"github.com/bunting-flags/bunting/management/organizations"
)

// While the mail server is down a mail is delayed; it survives a restart of this server.
func TestOutbox_ServerDown(t *testing.T) {
	down := smtptest.Start(t, withPassword)
	address := down.Address
	down.Stop()
	database := "sqlite:" + filepath.Join(t.TempDir(), "desk.db")
	d := openTestServer(t, database, smtpTo(t, address, nil), testStart)
	d.invite(t, `{"target_email": "new@example.com"}`)
	waits := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second}
	for _, wait := range waits {
		if next := d.deliver(t, "connection refused"); !next.Equal(d.now().Add(wait)) {
			t.Fatalf("next at %v, want %v after %v", next, wait, d.now())
		}
		d.advance(wait - time.Second)
		d.deliver(t, "")
		d.advance(time.Second)
	}
	now := d.now()
	d.close()

	options := withPassword
	options.Address = address
	up := smtptest.Start(t, options)
	d = openTestServer(t, database, smtpTo(t, address, up), now)
	if next := d.deliver(t, ""); !next.IsZero() {
		t.Errorf("a mail waits until %v", next)
	}
	id, secret := secretIn(t, up.Next(t))
	d.deliver(t, "")
	if len(up.Mails()) != 1 {
		t.Errorf("%d mails", len(up.Mails()))
	}
	if _, err := d.Organizations.Invites.Accept(t.Context(), nil, "", id, secret, bodyOf(t, `{"first_name": "Nina"}`)); err != nil {
		t.Error(err)
	}
}

// A mail that is refused permanently is dropped, and other mails are sent.
func TestOutbox_Rejected(t *testing.T) {
	options := withPassword
	options.Rcpt = func(to string) error {
		if to == "gone@example.com" {
			return smtptest.Refusal(550, [3]int{5, 1, 1}, "no such user")
		}
		return nil
	}
	s := smtptest.Start(t, options)
	d := openTestServer(t, inMemory, smtpTo(t, s.Address, s), testStart)
	d.invite(t, `{"target_email": "gone@example.com"}`)
	d.invite(t, `{"target_email": "new@example.com"}`)
	next, err := d.Organizations.Mails.Deliver(t.Context())
	if !errors.Is(err, organizations.ErrMailRejected) || !next.IsZero() {
		t.Errorf("%v, %v", next, err)
	}
	d.advance(time.Hour)
	d.deliver(t, "")
	if mails := s.Mails(); len(mails) != 1 || mails[0].To != "new@example.com" {
		t.Errorf("%+v", mails)
	}
}

// Mails of expired, cancelled and replaced invitations are not sent.
func TestOutbox_NotSentAnyMore(t *testing.T) {
	s := smtptest.Start(t, withPassword)
	d := openTestServer(t, inMemory, smtpTo(t, s.Address, s), testStart)
	d.invite(t, `{"target_email": "late@example.com"}`)
	d.advance(inviteLife)
	cancelled := d.invite(t, `{"target_email": "cancelled@example.com"}`)
	d.invite(t, `{"target_email": "twice@example.com"}`)
	d.invite(t, `{"target_email": "twice@example.com"}`)
	d.invite(t, `{"target_email": "quiet@example.com", "send_email": false}`)
	if err := d.Organizations.Invites.Delete(t.Context(), d.owner, cancelled.ID); err != nil {
		t.Fatal(err)
	}
	d.advance(time.Second)
	if next := d.deliver(t, ""); !next.IsZero() {
		t.Errorf("a mail waits until %v", next)
	}
	if mails := s.Mails(); len(mails) != 1 || mails[0].To != "twice@example.com" {
		t.Errorf("%+v", mails)
	}
}

// mailerFunc implements organizations.Mailer with a function.
type mailerFunc func(ctx context.Context, m organizations.Mail) error

func (f mailerFunc) Send(ctx context.Context, m organizations.Mail) error { return f(ctx, m) }

// If the server is killed between the mail server's confirmation and its own commit, the mail is
// sent again with the same ID after the claim expires, and each of the links works once.
func TestOutbox_Killed(t *testing.T) {
	var sent []organizations.Mail
	database := "sqlite:" + filepath.Join(t.TempDir(), "desk.db")
	var d *testServer
	d = openTestServer(t, database, mailerFunc(func(_ context.Context, m organizations.Mail) error {
		sent = append(sent, m)
		d.close() // the store is closed, as by a kill
		return nil
	}), testStart)
	d.invite(t, `{"target_email": "new@example.com"}`)
	if _, err := d.Organizations.Mails.Deliver(t.Context()); err == nil {
		t.Fatal("recording into a closed store works")
	}
	d = openTestServer(t, database, mailerFunc(func(_ context.Context, m organizations.Mail) error {
		sent = append(sent, m)
		return nil
	}), testStart)
	next := d.deliver(t, "")
	if len(sent) != 1 || !next.After(d.now()) {
		t.Fatalf("%d mails, next at %v", len(sent), next)
	}
	d.clock.Store(next.UnixMicro())
	d.deliver(t, "")
	d.deliver(t, "")
	if len(sent) != 2 || sent[0].ID != sent[1].ID {
		t.Fatalf("%+v", sent)
	}
	first := inviteLink.FindStringSubmatch(sent[0].Text)
	if _, err := d.Organizations.Invites.Accept(t.Context(), nil, "", first[1], first[2], bodyOf(t, `{"first_name": "Nina"}`)); err != nil {
		t.Error("the link of the first mail:", err)
	}
	second := inviteLink.FindStringSubmatch(sent[1].Text)
	if _, err := d.Organizations.Invites.Accept(t.Context(), nil, "", second[1], second[2], bodyOf(t, `{"first_name": "Nina"}`)); err == nil {
		t.Error("the link of the second mail works after that of the first")
	}
}

// If the server stops during an attempt, the mail is due immediately.
func TestOutbox_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	sent := 0
	d := openTestServer(t, inMemory, mailerFunc(func(attempt context.Context, _ organizations.Mail) error {
		if sent++; sent > 1 {
			return nil
		}
		cancel()
		<-attempt.Done()
		return fmt.Errorf("left: %w", attempt.Err())
	}), testStart)
	d.invite(t, `{"target_email": "new@example.com"}`)
	if _, err := d.Organizations.Mails.Deliver(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	d.deliver(t, "")
	if sent != 2 {
		t.Errorf("%d attempts", sent)
	}
}

// Servers with one store send each mail once.
func TestOutbox_Shared(t *testing.T) {
	var mu sync.Mutex
	sent := map[string]int{}
	d := openTestServer(t, inMemory, mailerFunc(func(_ context.Context, m organizations.Mail) error {
		mu.Lock()
		defer mu.Unlock()
		sent[m.To]++
		return nil
	}), testStart)
	const mails = 20
	for i := range mails {
		d.invite(t, fmt.Sprintf(`{"target_email": "new%d@example.com"}`, i))
	}
	var servers sync.WaitGroup
	for range 4 {
		servers.Go(func() {
			if _, err := d.Organizations.Mails.Deliver(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	servers.Wait()
	for to, n := range sent {
		if n != 1 {
			t.Errorf("%s has got %d mails", to, n)
		}
	}
	if len(sent) != mails {
		t.Errorf("%d mails, want %d", len(sent), mails)
	}
}
