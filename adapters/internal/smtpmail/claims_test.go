package smtpmail_test

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/smtptest"
	"github.com/bunting-flags/bunting/management"
)

// Bounds of invitations and mails, and the codes of errors (spec/clients.md §1, spec/console.md).
const (
	inviteLife             = 3 * 24 * time.Hour
	maxBulkInvites         = 20
	maxMailsPerDay         = 500
	maxConfirmationsPerDay = 20
	codeAccountExists      = "account_exists"
	codeExpired            = "expired"
	codeMailLimit          = "mail_limit"
)

// errorCode returns the code of a management.Error, or "" for nil.
func errorCode(t *testing.T, err error) string {
	t.Helper()
	var apiErr *management.Error
	if err != nil && !errors.As(err, &apiErr) {
		t.Fatal(err)
	}
	if apiErr == nil {
		return ""
	}
	return apiErr.Code
}

// openMailServer opens a test server together with a mail server.
func openMailServer(t *testing.T) (*testServer, *smtptest.Server) {
	t.Helper()
	s := smtptest.Start(t, withPassword)
	return openTestServer(t, inMemory, smtpTo(t, s.Address, s), testStart), s
}

// account applies a change to the user of a key and returns the user's address and the pending one.
func (d *testServer) account(t *testing.T, key, change string) (email, pending string, _ error) {
	t.Helper()
	c, err := d.Authenticate(t.Context(), key, "test")
	if err != nil {
		t.Fatal(err)
	}
	u, err := d.Organizations.Account.Update(t.Context(), c.GlobalScope(), "", bodyOf(t, change), false)
	if err != nil {
		return "", "", err
	}
	if u.PendingEmail != nil {
		pending = *u.PendingEmail
	}
	return u.Email, pending, nil
}

// acceptUnverified adds a member with an unverified address and returns the key.
func (d *testServer) acceptUnverified(t *testing.T, email string) (key string) {
	t.Helper()
	invite := d.invite(t, `{"target_email": "`+email+`", "send_email": false}`)
	link, err := url.Parse(invite.AcceptURL)
	if err != nil {
		t.Fatal(err)
	}
	acceptance, err := d.Organizations.Invites.Accept(t.Context(), nil, "", invite.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "Squatter"}`))
	if err != nil {
		t.Fatal(err)
	}
	return acceptance.Key
}

var confirmation = regexp.MustCompile(`https://flags\.example\.com/verify_email/([0-9a-f-]{36})\?secret=([0-9A-Za-z]{40,})`)

// mailTo sends the due mails and returns the text of the mail to an address.
func (d *testServer) mailTo(t *testing.T, s *smtptest.Server, to string) (plain string) {
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

// §1.9: with a mail server a new address is pending until it is confirmed, so a user cannot block
// the address of another person by claiming it.
func TestAccount_AddressIsPendingUntilConfirmed(t *testing.T) {
	d, s := openMailServer(t)
	email, pending, err := d.account(t, "phx_owner", `{"email": "victim@example.com"}`)
	if err != nil || email != "owner@example.com" || pending != "victim@example.com" {
		t.Fatalf("%s, %s, %v", email, pending, err)
	}
	link := confirmation.FindStringSubmatch(d.mailTo(t, s, "victim@example.com"))
	if link == nil || isStored(t, d, link[2]) {
		t.Fatal("no link, or its secret is stored in clear")
	}
	// The owner of the address is invited in the meantime and accepts.
	d.invite(t, `{"target_email": "victim@example.com"}`)
	d.deliver(t, "")
	mails := s.Mails()
	id, secret := secretIn(t, mails[len(mails)-1])
	if _, err := d.Organizations.Invites.Accept(t.Context(), nil, "", id, secret, bodyOf(t, `{"first_name": "Vic"}`)); err != nil {
		t.Fatal(err)
	}
	if got := errorCode(t, second(d.Organizations.Account.Confirm(t.Context(), link[1], link[2]))); got != "unique" {
		t.Errorf("confirming an address that is another's: %q", got)
	}

	if _, _, err = d.account(t, "phx_owner", `{"email": "mine@example.com"}`); err != nil {
		t.Fatal(err)
	}
	link = confirmation.FindStringSubmatch(d.mailTo(t, s, "mine@example.com"))
	for _, wrong := range []string{"", "x", link[2] + "x"} {
		if got := errorCode(t, second(d.Organizations.Account.Confirm(t.Context(), link[1], wrong))); got != "invalid_token" {
			t.Errorf("secret %q: %q", wrong, got)
		}
	}
	u, err := d.Organizations.Account.Confirm(t.Context(), link[1], link[2])
	if err != nil || u.Email != "mine@example.com" || u.EmailVerified == nil || !*u.EmailVerified {
		t.Fatalf("%+v, %v", u, err)
	}
	if got := errorCode(t, second(d.Organizations.Account.Confirm(t.Context(), link[1], link[2]))); got != "invalid_token" {
		t.Errorf("twice: %q", got)
	}
	if _, _, err := d.account(t, "phx_owner", `{"email": "late@example.com"}`); err != nil {
		t.Fatal(err)
	}
	link = confirmation.FindStringSubmatch(d.mailTo(t, s, "late@example.com"))
	d.advance(inviteLife + time.Second)
	if got := errorCode(t, second(d.Organizations.Account.Confirm(t.Context(), link[1], link[2]))); got != "invalid_token" {
		t.Errorf("too late: %q", got)
	}
}

func second[T any](_ T, err error) error { return err }

// An account with an unverified address loses it to the person who receives mails there.
func TestInvites_MailedSecretDisplacesUnverifiedAccount(t *testing.T) {
	d, s := openMailServer(t)
	key := d.acceptUnverified(t, "victim@example.com")
	c, err := d.Authenticate(t.Context(), key, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Organizations.Members.Delete(t.Context(), d.owner, c.User.UUID); err != nil { // a former member: only the account stays
		t.Fatal(err)
	}
	handed := d.invite(t, `{"target_email": "victim@example.com", "send_email": false}`)
	link, _ := url.Parse(handed.AcceptURL)
	if got := errorCode(t, second(d.Organizations.Invites.Accept(t.Context(), nil, "", handed.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "Vic"}`)))); got != codeAccountExists {
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
	if got := errorCode(t, second(d.Organizations.Invites.Inspect(t.Context(), nil, id, ""))); got != codeAccountExists {
		t.Errorf("without the secret: %q", got)
	}
	acceptance, err := d.Organizations.Invites.Accept(t.Context(), nil, "", id, secret, bodyOf(t, `{"first_name": "Vic"}`))
	if err != nil || acceptance.Email != "victim@example.com" || !*acceptance.EmailVerified || acceptance.UUID == c.User.UUID {
		t.Fatalf("%+v, %v", acceptance, err)
	}
	if c, err = d.Authenticate(t.Context(), key, "test"); err != nil || c.User.Email != c.User.UUID+"@displaced.invalid" {
		t.Errorf("the other account: %+v, %v", c.User, err)
	}
	// A verified account does not lose its address.
	if err := d.Organizations.Members.Delete(t.Context(), d.owner, acceptance.UUID); err != nil {
		t.Fatal(err)
	}
	d.invite(t, `{"target_email": "victim@example.com"}`)
	d.deliver(t, "")
	for _, m := range s.Mails() {
		if m.To == "victim@example.com" {
			id, secret = secretIn(t, m)
		}
	}
	if got := errorCode(t, second(d.Organizations.Invites.Accept(t.Context(), nil, "", id, secret, bodyOf(t, `{"first_name": "Vic"}`)))); got != codeAccountExists {
		t.Errorf("a verified account: %q", got)
	}
}

// An invitation is void if its inviter has left the organization or may not grant the level any
// more.
func TestInvites_VoidWithoutTheInviter(t *testing.T) {
	for name, change := range map[string]func(d *testServer, uuid string) error{
		"left": func(d *testServer, uuid string) error {
			return d.Organizations.Members.Delete(t.Context(), d.owner, uuid)
		},
		"demoted": func(d *testServer, uuid string) error {
			return second(d.Organizations.Members.Update(t.Context(), d.owner, uuid, bodyOf(t, `{"level": 1}`), false))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, s := openMailServer(t)
			admin := d.scopeOf(t, d.join(t, `{"target_email": "admin@example.com", "level": 8, "send_email": false}`))
			invite, err := d.Organizations.Invites.Create(t.Context(), admin, "", bodyOf(t, `{"target_email": "backdoor@example.com", "level": 8, "send_email": false}`))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Organizations.Invites.Create(t.Context(), admin, "", bodyOf(t, `{"target_email": "mailed@example.com", "level": 8}`)); err != nil {
				t.Fatal(err)
			}
			if err := change(d, admin.User.UUID); err != nil {
				t.Fatal(err)
			}
			link, _ := url.Parse(invite.AcceptURL)
			if got := errorCode(t, second(d.Organizations.Invites.Accept(t.Context(), nil, "", invite.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "Bad"}`)))); got != codeExpired {
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

// An invitation by a member does not replace one by a user of a higher level.
func TestInvites_MemberDoesNotReplaceOwners(t *testing.T) {
	d := openTestServer(t, inMemory, nil, testStart)
	member := d.scopeOf(t, d.join(t, `{"target_email": "member@example.com"}`))
	above := d.invite(t, `{"target_email": "new@example.com", "level": 8}`)
	for range 2 { // the second replaces the member's first one
		if _, err := d.Organizations.Invites.Create(t.Context(), member, "", bodyOf(t, `{"target_email": "new@example.com"}`)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := d.Organizations.Invites.List(t.Context(), d.owner, management.Page{Limit: 10})
	if err != nil || len(list.Results) != 2 || list.Results[1].ID != above.ID {
		t.Fatalf("%+v, %v", list, err)
	}
	link, _ := url.Parse(above.AcceptURL)
	acceptance, err := d.Organizations.Invites.Accept(t.Context(), nil, "", above.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "New"}`))
	if err != nil || d.scopeOf(t, acceptance.Key).Level != management.Admin {
		t.Errorf("%+v, %v", acceptance, err)
	}
	if list, err = d.Organizations.Invites.List(t.Context(), d.owner, management.Page{Limit: 10}); err != nil || len(list.Results) != 0 {
		t.Errorf("afterwards: %+v, %v", list, err)
	}
}

// The number of mails of an organization and of a user is limited by day.
func TestMails_CappedByDay(t *testing.T) {
	d, _ := openMailServer(t)
	for n := 0; n < maxMailsPerDay; n += maxBulkInvites {
		items := make([]string, maxBulkInvites)
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
	again := bodyOf(t, `{"target_email": "x0@example.com"}`) // another mail to the same address
	_, err := d.Organizations.Invites.Create(t.Context(), d.owner, "", again)
	if errorCode(t, err) != codeMailLimit || !strings.Contains(err.Error(), "The limit of 500 emails per day has been reached") {
		t.Errorf("one more: %v", err)
	}
	invite := d.invite(t, `{"target_email": "y@example.com", "send_email": false}`)
	link, err := url.Parse(invite.AcceptURL)
	if err != nil || invite.AcceptURL == "" {
		t.Fatal("without a mail", err)
	}
	joined, err := d.Organizations.Invites.Accept(t.Context(), nil, "", invite.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "Y"}`))
	if err != nil || joined.NotNotified != 1 {
		t.Errorf("somebody joins: %+v, %v", joined, err)
	}
	if len(d.results) != 1 || d.results[0].Job != management.JobMail || d.results[0].ID != invite.ID || !strings.Contains(d.results[0].Failure, "at most 500 emails") {
		t.Errorf("told: %+v", d.results)
	}
	for n := range maxConfirmationsPerDay + 1 {
		_, _, err := d.account(t, "phx_owner", fmt.Sprintf(`{"email": "z%d@example.com"}`, n))
		if want := n == maxConfirmationsPerDay; (errorCode(t, err) == codeMailLimit) != want {
			t.Errorf("confirmation %d: %v", n, err)
		}
	}
	d.advance(12 * time.Hour) // the next day in UTC
	if _, err := d.Organizations.Invites.Create(t.Context(), d.owner, "", again); err != nil {
		t.Error(err)
	}
}
