package smtpmail_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/smtptest"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// An invitation is mailed over STARTTLS with a password, its link creates a member with a verified
// address, and the other members are notified (§4.5, decision 22).
func TestInvites_MailToMember(t *testing.T) {
	s := smtptest.Start(t, withPassword)
	d := openTestServer(t, inMemory, smtpTo(t, s.Address, s), testStart)
	invite := d.invite(t, `{"target_email": "new@example.com", "first_name": "Nina", "level": 8, "message": "Come <in>!"}`)
	if !invite.Emailed || invite.AcceptURL != "" || d.queued.Load() != 1 {
		t.Errorf("%+v, %d", invite, d.queued.Load())
	}
	if next := d.deliver(t, ""); !next.IsZero() {
		t.Errorf("a mail waits until %v", next)
	}
	got := s.Next(t)
	if !got.TLS || got.User != "me" || got.To != "new@example.com" {
		t.Errorf("%+v", got)
	}
	m, plain, html := readMail(t, got.Text)
	if subject := m.Header.Get("Subject"); subject != "Owner invites you to Orga & <Nization>" {
		t.Errorf("subject %q", subject)
	}
	for _, want := range []string{"Hello Nina,", "Come <in>!", "Orga & <Nization>", "4 January 2026, 12:00"} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in %q", want, plain)
		}
	}
	if !strings.Contains(html, "Come &lt;in&gt;!") || strings.Contains(html, "<in>") {
		t.Errorf("HTML: %q", html)
	}
	id, secret := secretIn(t, got)
	if id != invite.ID || isStored(t, d, secret) {
		t.Error("the link is of another invitation, or its secret is stored in clear")
	}
	acceptance, err := d.Organizations.Invites.Accept(t.Context(), nil, "", id, secret, bodyOf(t, `{"first_name": "Nina"}`))
	if err != nil || acceptance.EmailVerified == nil || !*acceptance.EmailVerified || acceptance.Email != "new@example.com" {
		t.Fatalf("%+v, %v", acceptance, err)
	}
	if scope := d.scopeOf(t, acceptance.Key); scope.Level != management.Admin {
		t.Errorf("level %d", scope.Level)
	}
	if isStored(t, d, acceptance.Key) {
		t.Error("the key is stored in clear")
	}
	d.deliver(t, "")
	if notification := s.Next(t); notification.To != "owner@example.com" || !strings.Contains(notification.Text, "Nina has joined") {
		t.Errorf("%+v", notification)
	}
	d.deliver(t, "")
	if mails := s.Mails(); len(mails) != 2 {
		t.Errorf("%d mails", len(mails))
	}
}

// isStored reports whether a stored invitation or mail contains text.
func isStored(t *testing.T, d *testServer, text string) (found bool) {
	t.Helper()
	err := d.store.Read(t.Context(), func(tx rooms.Tx) error {
		for _, q := range []management.Query{{Kind: "invite", Parent: testOrg}, {Kind: "mail"}, {Kind: "user"}, {Kind: "activity", Parent: testOrg}} {
			list, _, err := tx.List(q)
			if err != nil {
				return err
			}
			for _, r := range list {
				found = found || strings.Contains(string(r.Data), text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// join adds a member by an invitation and returns the member's key.
func (d *testServer) join(t *testing.T, body string) string {
	t.Helper()
	invite := d.invite(t, body)
	link, err := url.Parse(invite.AcceptURL)
	if err != nil {
		t.Fatal(err)
	}
	acceptance, err := d.Organizations.Invites.Accept(t.Context(), nil, "", invite.ID, link.Query().Get("secret"), bodyOf(t, `{"first_name": "Nina"}`))
	if err != nil {
		t.Fatal(err)
	}
	return acceptance.Key
}

// The access to projects is granted with the membership, and a user cannot grant more access than
// the user has (§4.5, §1.8).
func TestInvites_PrivateProjects(t *testing.T) {
	d := openTestServer(t, inMemory, nil, testStart)
	err := d.store.Write(t.Context(), func(tx rooms.Tx) error {
		return errors.Join(
			tx.PutProject(&management.ProjectRecord{ID: 7, Organization: testOrg, Name: "private", APIKey: "phc_7", CreatedAt: testStart, Meta: json.RawMessage(`{"default_access": "none"}`)}),
			tx.PutProject(&management.ProjectRecord{ID: 8, Organization: testOrg, Name: "members", APIKey: "phc_8", CreatedAt: testStart, Meta: json.RawMessage(`{"default_access": "member"}`)}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	access := func(key, project string) management.AccessLevel {
		t.Helper()
		c, err := d.Authenticate(t.Context(), key, "test")
		if err != nil {
			t.Fatal(err)
		}
		scope, err := d.Project(t.Context(), c, project)
		if err != nil {
			return management.NoAccess
		}
		return scope.Access()
	}
	plain := d.join(t, `{"target_email": "plain@example.com"}`)
	member := d.join(t, `{"target_email": "member@example.com", "private_project_access": [{"id": 7, "level": "member"}]}`)
	admin := d.join(t, `{"target_email": "admin@example.com", "private_project_access": [{"id": 7, "level": 8}, {"id": 8, "level": "none"}]}`)
	for _, tt := range []struct {
		key, project string
		want         management.AccessLevel
	}{
		{plain, "7", management.NoAccess}, {plain, "8", management.MemberAccess},
		{member, "7", management.MemberAccess}, {member, "8", management.MemberAccess},
		{admin, "7", management.AdminAccess}, {admin, "8", management.NoAccess},
	} {
		if got := access(tt.key, tt.project); got != tt.want {
			t.Errorf("access to %s is %q, want %q", tt.project, got, tt.want)
		}
	}
	const private = "Project does not exist on this organization, or it is private and you do not have access to it."
	for _, tt := range []struct{ key, body, want string }{
		{plain, `[{"id": 7, "level": "member"}]`, private},
		{member, `[{"id": 7, "level": "none"}]`, private},
		{admin, `[{"id": 7, "level": "admin"}]`, ""},
		{plain, `[{"id": 8, "level": "admin"}]`, "You cannot invite to a private project with a higher level than your own."},
		{plain, `[{"id": 8, "level": "member"}]`, ""},
	} {
		_, err := d.Organizations.Invites.Create(t.Context(), d.scopeOf(t, tt.key), "", bodyOf(t, `{"target_email": "next@example.com", "private_project_access": `+tt.body+`}`))
		var apiErr *management.Error
		if (err == nil) != (tt.want == "") || err != nil && (!errors.As(err, &apiErr) || apiErr.Message != tt.want || apiErr.Field != "private_project_access") {
			t.Errorf("%s: %v, want %q", tt.body, err, tt.want)
		}
	}
}

// Members cannot invite if the organization's setting forbids it (§4.5).
func TestInvites_MembersMayNot(t *testing.T) {
	d := openTestServer(t, inMemory, nil, testStart)
	key := d.join(t, `{"target_email": "new@example.com"}`)
	body := bodyOf(t, `{"target_email": "next@example.com"}`)
	if _, err := d.Organizations.Invites.Create(t.Context(), d.scopeOf(t, key), "", body); err != nil {
		t.Error(err)
	}
	if _, err := d.Organizations.Update(t.Context(), d.owner, "", bodyOf(t, `{"members_can_invite": false}`), false); err != nil {
		t.Fatal(err)
	}
	var apiErr *management.Error
	_, err := d.Organizations.Invites.Create(t.Context(), d.scopeOf(t, key), "", body)
	if !errors.As(err, &apiErr) || apiErr.Kind != management.Forbidden || apiErr.Message != "You do not have permission to perform this action." {
		t.Error(err)
	}
	if _, err = d.Organizations.Invites.CreateBulk(t.Context(), d.scopeOf(t, key), "", management.Body{IsArray: true}); !errors.As(err, &apiErr) || apiErr.Kind != management.Forbidden {
		t.Error(err)
	}
	d.owner = d.scopeOf(t, "phx_owner")
	d.invite(t, `{"target_email": "next@example.com"}`)
}
