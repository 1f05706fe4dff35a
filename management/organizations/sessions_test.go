package organizations_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

func (w *world) signIn(t *testing.T, text string) (token string, err error) {
	t.Helper()
	token, _, err = w.Organizations.Sessions.Begin(t.Context(), organizations.SignIn{Body: ruletest.Body(t, text), Agent: strings.Repeat("x", 5000)})
	return token, err
}

func (w *world) isSignedIn(t *testing.T, token string) bool {
	t.Helper()
	c, err := w.Organizations.Sessions.Caller(t.Context(), token, true)
	if err != nil {
		t.Fatal(err)
	}
	return c != nil
}

var linkInMail = regexp.MustCompile(`(\S+)/console/sign-in(\S*)#(\S+)`)

// console.md §5.2, Mail: links are mailed through the outbox, are valid for 15 minutes and work
// once; unknown addresses get the same response but no mail.
func TestSessions_Mail(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, true)
	s := w.Organizations.Sessions
	for _, email := range []string{"BOB@example.com", "nobody@example.com", "fay@example.com"} { // fay is inactive
		if err := s.MailLink(t.Context(), email, "?next=p%2F1"); err != nil {
			t.Error(email, err)
		}
	}
	if _, err := w.deliver(t); err != nil || len(w.mails) != 1 || w.mails[0].To != "bob@example.com" {
		t.Fatalf("%v, mails: %+v", err, w.mails)
	}
	link := linkInMail.FindStringSubmatch(w.mails[0].Text)
	if link == nil || link[1] != testURL || link[2] != "?next=p%2F1" || len(link[3]) != 43 {
		t.Fatalf("%q: %q", w.mails[0].Text, link)
	}
	token, err := w.signIn(t, `{"mail_token": "`+link[3]+`"}`)
	if err != nil || !w.isSignedIn(t, token) {
		t.Error(err)
	}
	if _, err := w.signIn(t, `{"mail_token": "`+link[3]+`"}`); err == nil {
		t.Error("the link works twice")
	}
	if err := s.MailLink(t.Context(), "bob@example.com", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.deliver(t); err != nil || len(w.mails) != 1 {
		t.Fatal(err, w.mails)
	}
	w.Clock = w.Clock.Add(15 * time.Minute)
	if _, err := w.signIn(t, `{"link": "`+linkInMail.FindStringSubmatch(w.mails[0].Text)[3]+`"}`); err == nil {
		t.Error("the link works after a quarter of an hour")
	}
}

// console.md §5.1, End, and §5.2, Domains act: the sessions of former members end, and people of a
// domain with enforced single sign-on cannot sign in here, except owners.
func TestSessions_WhoMay(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, true)
	mailed := func(email string) string {
		if err := w.Organizations.Sessions.MailLink(t.Context(), email, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := w.deliver(t); err != nil || len(w.mails) != 1 {
			t.Fatal(err, w.mails)
		}
		return `{"link": "` + linkInMail.FindStringSubmatch(w.mails[0].Text)[3] + `"}`
	}
	bob, err := w.signIn(t, mailed("bob@example.com"))
	if err != nil || !w.isSignedIn(t, bob) {
		t.Fatal(err)
	}
	err = w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		data := []byte(`{"id": "d", "domain": "example.com", "is_verified": true, "sso_enforcement": "saml"}`)
		if err := tx.Put(&management.Record{Kind: "domain", Parent: ruletest.Organization, ID: "d", Unique: "example.com", Data: data}); err != nil {
			return err
		}
		return tx.Delete(storage.KindMember, ruletest.Organization, ruletest.UUID("bob"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.isSignedIn(t, bob) {
		t.Error("a member of nothing has a session")
	}
	for email, want := range map[string]string{"ann@example.com": "", "cyd@example.com": "Single sign-on is enforced for example.com: there is no other way to sign in."} {
		_, err := w.signIn(t, mailed(email))
		if got := errText(err); got != want {
			t.Errorf("%s: %s, want %q", email, got, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A user has at most fifty sessions, of which the oldest ends for a new one, and the stored
// User-Agent is cut.
func TestSessions_Bounded(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	var tokens []string
	for range 52 {
		w.Clock = w.Clock.Add(time.Second)
		link, err := w.Organizations.Sessions.OwnerLink(t.Context(), "ann@example.com", "", true)
		if err != nil {
			t.Fatal(err)
		}
		token, err := w.signIn(t, `{"link": "`+link+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	if w.isSignedIn(t, tokens[1]) || !w.isSignedIn(t, tokens[2]) || !w.isSignedIn(t, tokens[51]) {
		t.Error("want the newest fifty sessions")
	}
	c, err := w.Organizations.Sessions.Caller(t.Context(), tokens[51], true)
	if err != nil || len(c.Session.Agent) != 300 {
		t.Error(err, c.Session)
	}
}
