//go:build linux

package faulttest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/smtptest"
)

// mailSite is the base of links in mails; the tests use the server's address instead.
const mailSite = "http://bunting.example"

var (
	mailedLink = regexp.MustCompile(regexp.QuoteMeta(mailSite) + `(/signup/([0-9a-f-]{36})\?secret=[0-9A-Za-z_-]{43})`)
	printedKey = regexp.MustCompile(`phx_[0-9A-Za-z_-]+`)
)

// killsPerOutboxKill is the number of -kills for each kill of this test.
const killsPerOutboxKill = 4

// With SIGKILL at any moment and a mail server that is sometimes down, each stored invitation is
// delivered at least once, and its link works (decision 22).
func TestKill_Outbox(t *testing.T) {
	t.Parallel()
	var calm atomic.Bool // the delay of a rejected mail grows with each attempt
	o := newOutbox(t, func() error {
		time.Sleep(rand.N(30 * time.Millisecond))
		if !calm.Load() && rand.IntN(8) == 0 {
			return smtptest.Refusal(451, [3]int{4, 3, 0}, "later")
		}
		return nil
	}, nil)
	times := max(20, *kills/killsPerOutboxKill) // with fewer, perhaps no mail is interrupted
	for n := range times {
		if n%8 == 7 { // a server that is killed before it listens
			early, _ := launchBare(t, nil, o.args...)
			time.Sleep(rand.N(60 * time.Millisecond))
			early.kill()
			expireLeases(t, o.dir)
		}
		if rand.IntN(3) == 0 {
			o.mails.down()
		} else {
			o.mails.up(t)
		}
		s := o.start(t)
		var inviting sync.WaitGroup
		for range 2 {
			inviting.Go(func() {
				for limit := 400 * (n + 1) / times; s.running() && o.invited() < limit; { // at most 500 mails a day are sent
					o.invite(s)
					time.Sleep(rand.N(40 * time.Millisecond))
				}
			})
		}
		wait := rand.N(500 * time.Millisecond)
		time.Sleep(wait / 2)
		if rand.IntN(4) == 0 { // the mail server stops during delivery
			o.mails.down()
		}
		time.Sleep(wait / 2)
		s.kill()
		inviting.Wait()
		expireLeases(t, o.dir)
	}
	calm.Store(true)
	o.mails.up(t)
	s := o.start(t)
	invites := o.delivered(t, s, 20*time.Minute)
	mails := o.mails.all()
	for _, m := range mails {
		link, id := linkOf(t, m)
		if invites[id] != m.To {
			t.Errorf("a mail of the invitation %s goes to %s, want %q", id, m.To, invites[id])
		}
		if status, page := s.get(t, link); status != http.StatusOK {
			t.Errorf("the link of a mail to %s answers %d: %s", m.To, status, page)
		}
	}
	t.Logf("%d invitations, of which %d were answered 201, in %d mails", len(invites), len(o.answered), len(mails))
	if len(o.answered) < 20 || len(mails) == len(invites) {
		t.Error("no mail was interrupted: that is no test")
	}

	// Each acceptance creates further mails.
	guests := map[string]bool{}
	for i := range 3 {
		link, _ := linkOf(t, mails[rand.IntN(len(mails)/3)+i*(len(mails)/3)])
		target, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("Guest", i)
		form := url.Values{"first_name": {name}, "secret": {target.Query().Get("secret")}}
		status, page := read(t)(s.client.PostForm(s.url+target.Path, form))
		if status == http.StatusBadRequest && len(guests) > 0 { // of an invitation that was delivered twice, and was accepted
			continue
		}
		key := printedKey.FindString(page)
		if status != http.StatusCreated || key == "" {
			t.Fatalf("accepting answers %d: %s", status, page)
		}
		guests[name+" has joined"] = true
		s.must(t, http.MethodGet, "/api/organizations/@current/", key, nil, nil)
		if status, _ := read(t)(s.client.PostForm(s.url+target.Path, form)); status != http.StatusBadRequest {
			t.Errorf("accepting a second time answers %d", status)
		}
	}
	s.kill()
	expireLeases(t, o.dir)
	s = o.start(t)
	eventuallyWithin(t, 10*time.Minute, "the owner is told who has joined", func() bool {
		mailed := map[string]bool{}
		for _, m := range o.mails.all() {
			for guest := range guests {
				if m.To == "owner@localhost" && strings.Contains(m.Text, guest) {
					mailed[guest] = true
				}
			}
		}
		return len(mailed) == len(guests)
	})
	o.empty(t, 10*time.Minute)
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	isIntact(t, o.dir)
	o.check(t)
}

// Without kills each mail is delivered exactly once, also if the mail server was down or returned a
// temporary error.
func TestOutbox(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	rejected := map[string]bool{}
	o := newOutbox(t, nil, func(to string) error {
		mu.Lock()
		defer mu.Unlock()
		if len(rejected) == 10 || rejected[to] {
			return nil
		}
		rejected[to] = true
		return smtptest.Refusal(450, [3]int{4, 2, 1}, "later")
	})
	s := o.start(t)
	for range 10 {
		o.invite(s)
	}
	eventually(t, "the log says that a mail was not sent", func() bool {
		return strings.Contains(s.log.String(), "a mail could not be sent, it will be tried again")
	})
	o.mails.up(t)
	var inviting sync.WaitGroup
	for range 4 {
		inviting.Go(func() {
			for range 10 {
				o.invite(s)
			}
		})
	}
	inviting.Wait()
	invites := o.delivered(t, s, 3*time.Minute)
	o.empty(t, time.Minute)
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if len(o.answered) != 50 || len(invites) != 50 {
		t.Errorf("%d invitations, %d of them answered 201, want 50", len(invites), len(o.answered))
	}
	times := map[string]int{}
	for _, m := range o.mails.all() {
		times[m.To]++
	}
	for _, to := range invites {
		if times[to] != 1 {
			t.Errorf("%s has got %d mails", to, times[to])
		}
	}
	o.check(t)
}

// outbox is a folder with invitations that several servers use in turn.
type outbox struct {
	dir   string
	args  []string
	key   string
	mails *mailServer

	mu       sync.Mutex
	made     int
	answered map[string]string // addresses by the id of the invitation
	wrong    []string          // unexpected responses
}

// newOutbox creates a folder, with one start for its key, and a mail server that is down.
func newOutbox(t testing.TB, data func() error, rcpt func(string) error) *outbox {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.2:0") // no other test uses ports of this address
	if err != nil {
		t.Fatal(err)
	}
	o := &outbox{dir: t.TempDir(), answered: map[string]string{}}
	o.mails = &mailServer{options: smtptest.Options{Address: listener.Addr().String(), Plain: true, Data: data, Rcpt: rcpt}}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	o.args = append(onSQLite(o.dir), "--rate-limit", "off", "--site-url", mailSite, "--mail-from", "Bunting <bunting@example.org>",
		"--smtp-url", "smtp+plain://"+o.mails.options.Address)
	s := o.start(t)
	eventually(t, "the first start shows a key", func() bool {
		o.key = printedKey.FindString(s.out.String())
		return strings.Contains(s.out.String(), "curl") && o.key != ""
	})
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	return o
}

func (o *outbox) start(t testing.TB) *server {
	t.Helper()
	s, address := launchBare(t, nil, o.args...)
	s.await(t, address)
	return s
}

// invited returns the number of requested invitations.
func (o *outbox) invited() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.made
}

// invite invites a new user, and records the invitation if the response is 201.
func (o *outbox) invite(s *server) {
	o.mu.Lock()
	o.made++
	to := fmt.Sprintf("guest-%d@example.com", o.made)
	o.mu.Unlock()
	var created struct{ ID string }
	status, err := s.ask(http.MethodPost, "/api/organizations/@current/invites/", o.key, object{"target_email": to}, &created)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case status == http.StatusCreated && err == nil:
		o.answered[created.ID] = to
	case status != 0:
		o.wrong = append(o.wrong, fmt.Sprint(status, " ", err))
	}
}

// delivered waits until all stored invitations have been mailed, and returns their addresses by id.
// Invitations with the response 201 must be among them.
func (o *outbox) delivered(t testing.TB, s *server, within time.Duration) map[string]string {
	t.Helper()
	invites := map[string]string{}
	for _, in := range everyPage[struct {
		ID string
		To string `json:"target_email"`
	}](t, s, "/api/organizations/@current/invites/?limit=200", o.key) {
		invites[in.ID] = in.To
	}
	for id, to := range o.answered {
		if invites[id] != to {
			t.Errorf("the invitation %s of %s was answered 201 and is gone", id, to)
		}
	}
	eventuallyWithin(t, within, "every invitation has been mailed", func() bool {
		got := map[string]bool{}
		for _, m := range o.mails.all() {
			_, id := linkOf(t, m)
			got[id] = true
		}
		for id := range invites {
			if !got[id] {
				return false
			}
		}
		return true
	})
	return invites
}

// empty waits until the queue of mails is empty.
func (o *outbox) empty(t testing.TB, within time.Duration) {
	t.Helper()
	eventuallyWithin(t, within, "no mail waits", func() bool {
		db := openFolder(t, o.dir)
		defer func() { _ = db.Close() }()
		n := -1
		if err := db.QueryRow(`SELECT COUNT(*) FROM records WHERE kind = 'mail'`).Scan(&n); err != nil {
			t.Fatalf("%s: %v", filepath.Base(o.dir), err)
		}
		return n == 0
	})
}

func (o *outbox) check(t testing.TB) {
	t.Helper()
	for _, w := range o.wrong {
		t.Errorf("an invitation is answered %s", w)
	}
}

// linkOf returns the path of a mail's link, and the id of its invitation.
func linkOf(t testing.TB, m smtptest.Mail) (link, id string) {
	t.Helper()
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(m.Text)))
	if err != nil {
		t.Fatal(err)
	}
	found := mailedLink.FindSubmatch(text)
	if found == nil {
		t.Fatalf("a mail to %s has no link: %s", m.To, m.Text)
	}
	return string(found[1]), string(found[2])
}

// mailServer is an SMTP server that can be stopped and started at the same address.
type mailServer struct {
	options smtptest.Options
	running *smtptest.Server // nil while it is down
	lives   []*smtptest.Server
}

func (m *mailServer) up(t testing.TB) {
	t.Helper()
	if m.running == nil {
		m.running = smtptest.Start(t, m.options)
		m.lives = append(m.lives, m.running)
	}
}

func (m *mailServer) down() {
	if m.running != nil {
		m.running.Stop()
		m.running = nil
	}
}

// all returns all mails that it received.
func (m *mailServer) all() (mails []smtptest.Mail) {
	for _, s := range m.lives {
		mails = append(mails, s.Mails()...)
	}
	return mails
}
