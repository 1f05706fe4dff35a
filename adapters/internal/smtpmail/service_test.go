package smtpmail_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/smtptest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

const (
	testOrg = "0191f0a2-5b1c-7d3e-8f40-00000000000a"
	testURL = "https://flags.example.com"
)

var testStart = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// testServer is a service with a mailer and a clock that tests advance.
type testServer struct {
	*rooms.Rooms
	store   rooms.Store
	close   func()
	clock   atomic.Int64 // microseconds since 1970
	queued  atomic.Int64
	onQuery func() // called by each query of an alert, with the result 12
	owner   *management.Scope

	mu      sync.Mutex
	results []management.JobDone
}

func (d *testServer) jobDone(result management.JobDone) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.results = append(d.results, result)
}

func (d *testServer) now() time.Time { return time.UnixMicro(d.clock.Load()).UTC() }

func (d *testServer) advance(elapsed time.Duration) { d.clock.Add(elapsed.Microseconds()) }

// inMemory is the database of tests that do not close it.
const inMemory = "sqlite::memory:"

// openTestServer opens a service on a database, with an organization and its owner.
func openTestServer(t *testing.T, database string, mailer organizations.Mailer, start time.Time) *testServer {
	t.Helper()
	d := &testServer{}
	d.clock.Store(start.UnixMicro())
	store, err := sqlstore.Open(t.Context(), pgtest.SQLiteMigrated(t, database, sqlstore.Open), sqlstore.Config{Now: d.now})
	if err != nil {
		t.Fatal(err)
	}
	d.store, d.close = store.Management(), sync.OnceFunc(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(d.close)
	d.Rooms, err = rooms.Open(rooms.Config{
		Store: d.store, Now: d.now, SiteURL: testURL, Mailer: mailer, MailQueued: func() { d.queued.Add(1) }, JobDone: d.jobDone,
		RunQuery: func(context.Context, *management.ProjectRecord, json.RawMessage) (json.RawMessage, error) {
			if d.onQuery != nil {
				d.onQuery()
			}
			return json.RawMessage(`[{"action":{"order":0},"label":"<b>buy</b>","aggregated_value":12}]`), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = d.store.Write(t.Context(), func(tx rooms.Tx) error {
		return errors.Join(
			tx.PutOrganization(&management.OrganizationRecord{ID: testOrg, Name: "Orga & <Nization>", CreatedAt: testStart}),
			tx.PutKey(&management.KeyRecord{ID: "k", Hash: management.HashKey("phx_owner"), Label: "k", User: 1, Scopes: []string{"*"}, CreatedAt: testStart}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Organizations.Adopt(t.Context(), organizations.Adoption{Email: "owner@example.com"}); err != nil {
		t.Fatal(err)
	}
	d.owner = d.scopeOf(t, "phx_owner")
	return d
}

func (d *testServer) scopeOf(t *testing.T, key string) *management.Scope {
	t.Helper()
	c, err := d.Authenticate(t.Context(), key, "test")
	if err != nil {
		t.Fatal(err)
	}
	scope, err := d.Organization(t.Context(), c, testOrg)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

func bodyOf(t *testing.T, text string) management.Body {
	t.Helper()
	var b management.Body
	if err := json.Unmarshal([]byte(text), &b.Members); err != nil {
		t.Fatal(err)
	}
	return b
}

// testInvite is an invitation that a test has created.
type testInvite struct {
	ID, AcceptURL string
	Emailed       bool
}

func (d *testServer) invite(t *testing.T, body string) testInvite {
	t.Helper()
	invite, err := d.Organizations.Invites.Create(t.Context(), d.owner, "", bodyOf(t, body))
	if err != nil {
		t.Fatal(err)
	}
	return testInvite{invite.ID, invite.AcceptURL, invite.Emailed}
}

// deliver sends the due mails. Its error must contain fails, or be nil if fails is empty.
func (d *testServer) deliver(t *testing.T, fails string) (next time.Time) {
	t.Helper()
	next, err := d.Organizations.Mails.Deliver(t.Context())
	if (err != nil) != (fails != "") || err != nil && !strings.Contains(err.Error(), fails) {
		t.Fatalf("%v, want %q", err, fails)
	}
	return next
}

func smtpTo(t *testing.T, address string, s *smtptest.Server) organizations.Mailer {
	t.Helper()
	if s == nil {
		return smtptest.Mailer(t, address, withPassword, nil)
	}
	return smtptest.Mailer(t, address, withPassword, s.TLS)
}

var withPassword = smtptest.Options{User: "me", Password: "hush"}

// readMail returns the headers, the text part and the HTML part of a mail.
func readMail(t *testing.T, text string) (m *mail.Message, plain, html string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(m.Body, parameters["boundary"])
	for _, to := range []*string{&plain, &html} {
		part, err := parts.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		*to = string(body)
	}
	return m, plain, html
}

var inviteLink = regexp.MustCompile(`https://flags\.example\.com/signup/([0-9a-f-]{36})\?secret=([0-9A-Za-z_-]{43})`)

// secretIn returns the id and the secret of the link in a mail.
func secretIn(t *testing.T, m smtptest.Mail) (id, secret string) {
	t.Helper()
	_, plain, html := readMail(t, m.Text)
	found := inviteLink.FindStringSubmatch(plain)
	if found == nil || !strings.Contains(html, found[0]) {
		t.Fatalf("no link in %q and %q", plain, html)
	}
	return found[1], found[2]
}
