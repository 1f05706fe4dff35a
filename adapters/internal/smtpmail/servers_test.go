package smtpmail_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/smtptest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Servers with one PostgreSQL send each mail once, even if their clocks differ by the allowed
// maximum; the mail server distinguishes their connections.
func TestServers_MailOnce(t *testing.T) {
	url := pgtest.PostgresMigrated(t, sqlstore.Open)
	s := smtptest.Start(t, withPassword)
	servers := []*testServer{
		openTestServer(t, url, smtpTo(t, s.Address, s), testStart),
		openTestServer(t, url, smtpTo(t, s.Address, s), testStart.Add(50*time.Second)),
	}
	const mails = 30
	for i := range mails {
		servers[i%2].invite(t, fmt.Sprintf(`{"target_email": "new%d@example.com"}`, i))
	}
	servers[0].advance(50 * time.Second) // mails that the other server has queued are due here, too
	servers[1].advance(50 * time.Second)
	pgtest.Concurrently(t, 6, func(i int) error {
		_, err := servers[i%2].Organizations.Mails.Deliver(context.Background())
		return err
	})
	got := map[string]int{}
	for _, m := range s.Mails() {
		got[m.To]++
	}
	for to, n := range got {
		if n != 1 {
			t.Errorf("%s has got %d mails", to, n)
		}
	}
	if len(got) != mails {
		t.Errorf("%d people have got a mail, want %d", len(got), mails)
	}
	for i, d := range servers {
		if next := d.deliver(t, ""); !next.IsZero() {
			t.Errorf("desk %d: a mail waits until %v", i, next)
		}
	}
}

// Servers with one PostgreSQL that follow its log while events arrive at both count each exception
// once.
func TestServers_FollowOnce(t *testing.T) {
	url := pgtest.PostgresMigrated(t, sqlstore.Open)
	const servers, batches, perBatch, kinds = 2, 40, 10, 3
	var services [servers]*rooms.Rooms
	var intakes [servers]*capture.Intake
	var first *sqlstore.BootstrapResult
	for i := range servers {
		store, err := sqlstore.Open(t.Context(), url, sqlstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		mgmtStore := store.Management()
		if services[i], err = rooms.Open(rooms.Config{Store: mgmtStore, Events: mgmtStore}); err != nil {
			t.Fatal(err)
		}
		recorder := capture.NewRecorder(capture.RecorderConfig{Ledger: store})
		t.Cleanup(recorder.Close)
		if intakes[i], err = capture.NewIntake(capture.IntakeConfig{Keys: store.CaptureKeys(), Appender: recorder}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if first, err = store.Bootstrap(t.Context(), sqlstore.BootstrapConfig{OwnerEmail: "owner@example.com"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := services[0].Organizations.Adopt(t.Context(), organizations.Adoption{Email: "owner@example.com"}); err != nil {
		t.Fatal(err)
	}
	caller, err := services[0].Authenticate(t.Context(), first.PersonalKey, "")
	if err != nil {
		t.Fatal(err)
	}
	project, err := services[0].Project(t.Context(), caller, "@current")
	if err != nil {
		t.Fatal(err)
	}
	counted := func() (n int64, err error) {
		list, err := services[0].ErrorTracking.Issues(context.Background(), project, "", management.Page{Limit: 100})
		for _, i := range list.Results {
			n += i.Count
		}
		return n, err
	}
	const total = servers * batches * perBatch
	deadline := time.Now().Add(time.Minute)
	pgtest.Concurrently(t, 3*servers, func(i int) error {
		server := i % servers
		if i < servers {
			return sendExceptions(intakes[server], first.APIKey, server, batches, perBatch, kinds)
		}
		for {
			more, err := services[server].ErrorTracking.Follow(context.Background())
			if err != nil {
				return err
			}
			if n, err := counted(); err != nil || n >= total || time.Now().After(deadline) {
				return err
			}
			if !more {
				time.Sleep(5 * time.Millisecond)
			}
		}
	})
	for _, s := range services {
		if more, err := s.ErrorTracking.Follow(t.Context()); err != nil {
			t.Error(more, err)
		}
	}
	if n, err := counted(); err != nil || n != total {
		t.Errorf("%d exceptions are counted, %d were taken, %v", n, total, err)
	}
}

// sendExceptions sends batches of exceptions of several kinds.
func sendExceptions(intake *capture.Intake, key string, server, batches, perBatch, kinds int) error {
	for b := range batches {
		items := make([]string, perBatch)
		for n := range items {
			items[n] = fmt.Sprintf(`{"event":"$exception","distinct_id":"u","properties":{"$exception_fingerprint":"kind %d","n":"%d %d %d"}}`, n%kinds, server, b, n)
		}
		s, err := capture.Decode(`{"api_key":"`+key+`","batch":[`+strings.Join(items, ",")+`]}`, capture.DecodeOptions{})
		if err != nil {
			return err
		}
		receipt, err := intake.Accept(context.Background(), s, capture.Origin{})
		if err != nil || receipt.Accepted != perBatch {
			return fmt.Errorf("%d of %d are accepted, %w", receipt.Accepted, perBatch, err)
		}
	}
	return nil
}
