package organizations_test

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/smtptest"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// code is that of an error of management, "" for none.
func code(t *testing.T, err error) string {
	t.Helper()
	var told *management.Error
	if err != nil && !errors.As(err, &told) {
		t.Fatal(err)
	}
	if told == nil {
		return ""
	}
	return told.Code
}

// mailedDesk is a desk with a mail server.
func mailedDesk(t *testing.T) (*desk, *smtptest.Server) {
	t.Helper()
	s := smtptest.Start(t, withPassword)
	return openDesk(t, inMemory, smtpTo(t, s.Address, s), deskStart), s
}

// account is what a user sees of itself.
func (d *desk) account(t *testing.T, key, change string) (*organizations.Me, error) {
	t.Helper()
	c, err := d.Authenticate(t.Context(), key, "test")
	if err != nil {
		t.Fatal(err)
	}
	return d.Organizations.Account.Update(t.Context(), c.Anywhere(), bodyOf(t, change))
}

// squatter is a member with an address that is not proven.
func (d *desk) squatter(t *testing.T, email string) (key string) {
	t.Helper()
	in := d.invite(t, `{"target_email": "`+email+`", "send_email": false}`)
	link, err := url.Parse(in.AcceptURL)
	if err != nil {
		t.Fatal(err)
	}
	done, err := d.Organizations.Invites.Accept(t.Context(), nil, "", in.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "Squatter"}`))
	if err != nil {
		t.Fatal(err)
	}
	return done.Key
}

var confirmation = regexp.MustCompile(`https://flags\.example\.com/verify_email/([0-9a-f-]{36})\?secret=([0-9A-Za-z]{40,})`)

// mailTo takes the mails that are due and returns the one to somebody.
func (d *desk) mailTo(t *testing.T, s *smtptest.Server, to string) (plain string) {
	t.Helper()
	d.deliver(t, "")
	for _, m := range s.Mails() {
		if m.To == to {
			_, plain, _ = readMail(t, m.Text)
		}
	}
	if plain == "" {
		t.Fatalf("no mail to %s", to)
	}
	return plain
}

// §1.9: where mails are sent another address is pending until its mail comes back.
// So nobody keeps the address of somebody else by saying it is one's own.
func TestAccount_AddressIsPendingUntilConfirmed(t *testing.T) {
	d, s := mailedDesk(t)
	me, err := d.account(t, "phx_owner", `{"email": "victim@example.com"}`)
	if err != nil || me.Email != "owner@example.com" || me.PendingEmail == nil || *me.PendingEmail != "victim@example.com" {
		t.Fatalf("%+v, %v", me, err)
	}
	link := confirmation.FindStringSubmatch(d.mailTo(t, s, "victim@example.com"))
	if link == nil || stored(t, d, link[2]) {
		t.Fatal("no link, or its secret is stored in clear")
	}
	// The holder of the address is invited meanwhile, and gets in.
	d.invite(t, `{"target_email": "victim@example.com"}`)
	d.deliver(t, "")
	mails := s.Mails()
	id, secret := secretIn(t, mails[len(mails)-1])
	if _, err := d.Organizations.Invites.Accept(t.Context(), nil, "", id, secret, bodyOf(t, `{"first_name": "Vic"}`)); err != nil {
		t.Fatal(err)
	}
	if got := code(t, second(d.Organizations.Account.Confirm(t.Context(), link[1], link[2]))); got != "unique" {
		t.Errorf("confirming an address that is another's: %q", got)
	}

	if me, err = d.account(t, "phx_owner", `{"email": "mine@example.com"}`); err != nil {
		t.Fatal(err)
	}
	link = confirmation.FindStringSubmatch(d.mailTo(t, s, "mine@example.com"))
	for _, wrong := range []string{"", "x", link[2] + "x"} {
		if got := code(t, second(d.Organizations.Account.Confirm(t.Context(), link[1], wrong))); got != "invalid_token" {
			t.Errorf("secret %q: %q", wrong, got)
		}
	}
	u, err := d.Organizations.Account.Confirm(t.Context(), link[1], link[2])
	if err != nil || u.Email != "mine@example.com" || u.EmailVerified == nil || !*u.EmailVerified {
		t.Fatalf("%+v, %v", u, err)
	}
	if got := code(t, second(d.Organizations.Account.Confirm(t.Context(), link[1], link[2]))); got != "invalid_token" {
		t.Errorf("twice: %q", got)
	}
	if _, err := d.account(t, "phx_owner", `{"email": "late@example.com"}`); err != nil {
		t.Fatal(err)
	}
	link = confirmation.FindStringSubmatch(d.mailTo(t, s, "late@example.com"))
	d.pass(organizations.InviteLife + time.Second)
	if got := code(t, second(d.Organizations.Account.Confirm(t.Context(), link[1], link[2]))); got != "invalid_token" {
		t.Errorf("too late: %q", got)
	}
}

func second[T any](_ T, err error) error { return err }

// An account that says it has an address loses it to whoever reads the mail there.
func TestInvites_MailedSecretDisplacesUnverifiedAccount(t *testing.T) {
	d, s := mailedDesk(t)
	key := d.squatter(t, "victim@example.com")
	c, err := d.Authenticate(t.Context(), key, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Organizations.Members.Delete(t.Context(), d.owner, c.User.UUID); err != nil { // no member any more, the account is there
		t.Fatal(err)
	}
	handed := d.invite(t, `{"target_email": "victim@example.com", "send_email": false}`)
	link, _ := url.Parse(handed.AcceptURL)
	if got := code(t, second(d.Organizations.Invites.Accept(t.Context(), nil, "", handed.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "Vic"}`)))); got != organizations.CodeAccountExists {
		t.Errorf("with a secret that was handed on: %q", got)
	}
	s.Mails()
	d.invite(t, `{"target_email": "victim@example.com"}`)
	d.deliver(t, "")
	var id, secret string
	for _, m := range s.Mails() {
		if m.To == "victim@example.com" {
			id, secret = secretIn(t, m)
		}
	}
	if got := code(t, second(d.Organizations.Invites.Look(t.Context(), nil, id, ""))); got != organizations.CodeAccountExists {
		t.Errorf("without the secret: %q", got)
	}
	done, err := d.Organizations.Invites.Accept(t.Context(), nil, "", id, secret, bodyOf(t, `{"first_name": "Vic"}`))
	if err != nil || done.Email != "victim@example.com" || !*done.EmailVerified || done.UUID == c.User.UUID {
		t.Fatalf("%+v, %v", done, err)
	}
	if c, err = d.Authenticate(t.Context(), key, "test"); err != nil || c.User.Email != c.User.UUID+"@displaced.invalid" {
		t.Errorf("the other account: %+v, %v", c.User, err)
	}
	// One that is verified keeps its address.
	if err := d.Organizations.Members.Delete(t.Context(), d.owner, done.UUID); err != nil {
		t.Fatal(err)
	}
	d.invite(t, `{"target_email": "victim@example.com"}`)
	d.deliver(t, "")
	for _, m := range s.Mails() {
		if m.To == "victim@example.com" {
			id, secret = secretIn(t, m)
		}
	}
	if got := code(t, second(d.Organizations.Invites.Accept(t.Context(), nil, "", id, secret, bodyOf(t, `{"first_name": "Vic"}`)))); got != organizations.CodeAccountExists {
		t.Errorf("a verified account: %q", got)
	}
}

// What somebody has invited to is void when that one has left, or may give it no more.
func TestInvites_VoidWithoutTheInviter(t *testing.T) {
	for name, change := range map[string]func(d *desk, uuid string) error{
		"left": func(d *desk, uuid string) error { return d.Organizations.Members.Delete(t.Context(), d.owner, uuid) },
		"demoted": func(d *desk, uuid string) error {
			return second(d.Organizations.Members.Update(t.Context(), d.owner, uuid, bodyOf(t, `{"level": 1}`)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, s := mailedDesk(t)
			admin := d.standing(t, d.join(t, `{"target_email": "admin@example.com", "level": 8, "send_email": false}`))
			in, err := d.Organizations.Invites.Create(t.Context(), admin, "", bodyOf(t, `{"target_email": "backdoor@example.com", "level": 8, "send_email": false}`))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Organizations.Invites.Create(t.Context(), admin, "", bodyOf(t, `{"target_email": "mailed@example.com", "level": 8}`)); err != nil {
				t.Fatal(err)
			}
			if err := change(d, admin.User.UUID); err != nil {
				t.Fatal(err)
			}
			link, _ := url.Parse(in.AcceptURL)
			if got := code(t, second(d.Organizations.Invites.Accept(t.Context(), nil, "", in.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "Bad"}`)))); got != organizations.CodeExpired {
				t.Errorf("accepted: %q", got)
			}
			list, err := d.Organizations.Invites.List(t.Context(), d.owner, management.Page{Limit: 10})
			if err != nil || len(list.Results) != 2 || !list.Results[0].Expired || !list.Results[1].Expired {
				t.Errorf("%+v, %v", list, err)
			}
			d.deliver(t, "")
			for _, m := range s.Mails() {
				if m.To == "mailed@example.com" {
					t.Error("it is mailed")
				}
			}
		})
	}
}

// A member's invitation does not take away one that is above it.
func TestInvites_MemberDoesNotReplaceOwners(t *testing.T) {
	d := openDesk(t, inMemory, nil, deskStart)
	member := d.standing(t, d.join(t, `{"target_email": "member@example.com"}`))
	above := d.invite(t, `{"target_email": "new@example.com", "level": 8}`)
	for range 2 { // which replaces the member's own
		if _, err := d.Organizations.Invites.Create(t.Context(), member, "", bodyOf(t, `{"target_email": "new@example.com"}`)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := d.Organizations.Invites.List(t.Context(), d.owner, management.Page{Limit: 10})
	if err != nil || len(list.Results) != 2 || list.Results[1].ID != above.ID {
		t.Fatalf("%+v, %v", list, err)
	}
	link, _ := url.Parse(above.AcceptURL)
	done, err := d.Organizations.Invites.Accept(t.Context(), nil, "", above.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "New"}`))
	if err != nil || d.standing(t, done.Key).Level != management.Admin {
		t.Errorf("%+v, %v", done, err)
	}
	if list, err = d.Organizations.Invites.List(t.Context(), d.owner, management.Page{Limit: 10}); err != nil || len(list.Results) != 0 {
		t.Errorf("afterwards: %+v, %v", list, err)
	}
}

// Nobody sends mails to strangers without end.
func TestMails_CappedByDay(t *testing.T) {
	d, _ := mailedDesk(t)
	for n := 0; n < organizations.MaxMailsPerDay; n += organizations.MaxBulkInvites {
		items := make([]string, organizations.MaxBulkInvites)
		for i := range items {
			items[i] = fmt.Sprintf(`{"target_email": "x%d@example.com"}`, n+i)
		}
		var b management.Body
		b.IsArray = true
		for _, item := range items {
			b.Array = append(b.Array, []byte(item))
		}
		if _, err := d.Organizations.Invites.CreateBulk(t.Context(), d.owner, "", b); err != nil {
			t.Fatal(err)
		}
	}
	again := bodyOf(t, `{"target_email": "x0@example.com"}`) // a mail again
	_, err := d.Organizations.Invites.Create(t.Context(), d.owner, "", again)
	if code(t, err) != organizations.CodeMailLimit || !strings.Contains(err.Error(), "At most 500 mails are sent a day") {
		t.Errorf("one more: %v", err)
	}
	in := d.invite(t, `{"target_email": "y@example.com", "send_email": false}`)
	link, err := url.Parse(in.AcceptURL)
	if err != nil || in.AcceptURL == "" {
		t.Fatal("without a mail", err)
	}
	joined, err := d.Organizations.Invites.Accept(t.Context(), nil, "", in.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "Y"}`))
	if err != nil || joined.Untold != 1 {
		t.Errorf("somebody joins: %+v, %v", joined, err)
	}
	if len(d.done) != 1 || d.done[0].Job != management.JobMail || d.done[0].ID != in.ID || !strings.Contains(d.done[0].Failure, "at most 500 mails") {
		t.Errorf("told: %+v", d.done)
	}
	for n := range organizations.MaxConfirmationsPerDay + 1 {
		_, err := d.account(t, "phx_owner", fmt.Sprintf(`{"email": "z%d@example.com"}`, n))
		if want := n == organizations.MaxConfirmationsPerDay; (code(t, err) == organizations.CodeMailLimit) != want {
			t.Errorf("confirmation %d: %v", n, err)
		}
	}
	d.pass(12 * time.Hour) // the next day in UTC
	if _, err := d.Organizations.Invites.Create(t.Context(), d.owner, "", again); err != nil {
		t.Error(err)
	}
}
