package organizations_test

import (
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Invitations after a change of the inviter, the organization or the domain (§4.5, decision 22).
func TestInvites_Changes(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{"inviters": inviterRows, "organizations": closedInviteRows, "enforced": enforcedAccountRows, "fields": inviteTextRows, "grants": joinedGrantRows})
}

const expiredInvite = `400 expired - This invite has expired. Please ask your admin for a new one.`

var inviterRows = []ruletest.Row{
	{"§4.5", "gus", "invite => in", `{"target_email":"new@example.com","level":8}`, `{"level":8}`},
	{"decision 22 an inactive inviter", "-", "setuser gus", `{"inactive":true}`, `null`},
	{"decision 22 an inactive inviter", "-", "look <in>", ``, expiredInvite},
	{"decision 22 an inactive inviter", "ann", "invites", ``, `{"results":[{"is_expired":true,"created_by":{"first_name":"gus"}}]}`},
	{"decision 22 active again", "-", "setuser gus", `{"inactive":false}`, `null`},
	{"decision 22 active again", "-", "look <in>", ``, `{"id":"<in>"}`},
	{"§4.5 a level that the inviter has lost is not combined", "ann", "level " + uuid("gus"), `{"level":1}`, `{"level":1}`},
	{"§4.5 a level that the inviter has lost is not combined", "ann", "invite => second", `{"target_email":"new@example.com","combine_pending_invites":true}`, `{"level":1,"private_project_access":[]}`},
	{"§4.5 and it is gone", "ann", "invites", ``, `{"count":1,"results":[{"id":"<second>"}]}`},
	{"decision 22 an inviter who has left", "gus", "invite => third", `{"target_email":"zoe@example.com"}`, `{"level":1}`},
	{"decision 22 an inviter who has left", "gus", "leave @me", ``, `null`},
	{"decision 22 an inviter who has left", "-", "accept <third> <third.accept_url>", `{"first_name":"Zoe"}`, expiredInvite},
	{"decision 22 an inviter who has left", "bob", "invite", `{"target_email":"zoe@example.com"}`, `{"level":1}`},
	{"decision 22 an inviter who has left", "bob", "invites", `{"Limit":1}`, `{"count":2}`},
}

var closedInviteRows = []ruletest.Row{
	{"§4.5", "dan", "invite => in", `{"target_email":"new@example.com"}`, `{"level":1}`},
	{"§1.1 an id in any form", "-", "look {<in>}", ``, `{"organization_name":"Theirs"}`},
	{"§5.9 DELETE", "dan", "close", ``, `null`},
	{"§5.9 DELETE", "-", "look <in>", ``, invalidID},
	{"§5.9 DELETE", "-", "form <in> <in.accept_url>", ``, invalidID},
}

// §4.4: sso_enforcement also applies to people with an account.
var enforcedAccountRows = rows(verifiedDomain, []ruletest.Row{
	{"§4.4", "gus", "changedomain <it>", `{"sso_enforcement":"saml"}`, `{"sso_enforcement":"saml"}`},
	{"§1.9", "dan", "changeme", `{"email":"dan@corp.example"}`, `{"email":"dan@corp.example"}`},
	{"§4.5", "ann", "invite => in", `{"target_email":"dan@corp.example"}`, `{"level":1}`},
	{"§4.4 sso_enforced", "dan", "accept <in> <in.accept_url>", ``, `400 sso_enforced - Single sign-on is enforced for corp.example: invitations to its addresses cannot be accepted here.`},
	{"§4.4 the invitation stays", "ann", "invites", ``, `{"count":1}`},
	{"§4.4 of a domain of another organization", "dan", "invite => theirs", `{"target_email":"new@corp.example"}`, `{"level":1}`},
	{"§4.4 of a domain of another organization", "-", "accept <theirs> <theirs.accept_url>", `{"first_name":"New"}`, `400 sso_enforced -`},
})

var inviteTextRows = rows(
	each("§4.5", "bob", "invite",
		[2]string{`{"target_email":"a@example.com","message":` + chars(10_000) + `}`, `{"message":` + chars(10_000) + `}`},
		[2]string{`{"target_email":"a@example.com","message":` + chars(10_001) + `}`, `400 max_length message Ensure this field has no more than 10000 characters.`},
		[2]string{`{"target_email":"a@example.com","message":""}`, `{"message":""}`},
		[2]string{`{"target_email":"a@example.com","first_name":null}`, `400 null first_name`},
		[2]string{`{"target_email":"a@example.com","level":null}`, `400 null level`},
		[2]string{`{"target_email":"a@example.com","send_email":null}`, `400 null send_email`},
		[2]string{`{"target_email":"a@example.com","level":"1"}`, `{"level":1}`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	[]ruletest.Row{
		{"§4.5 accept", "ann", "invite => in", `{"target_email":"b@example.com"}`, `{"level":1}`},
		{"§4.5 accept", "-", "accept <in> <in.accept_url>", `{"first_name":` + chars(129) + `}`, `400 max_length first_name Ensure this field has no more than 128 characters.`},
		{"§4.5 accept", "-", "accept <in> <in.accept_url>", `{"first_name":"B","role_at_organization":null}`, `{"first_name":"B","role_at_organization":null}`},
		{"§1.7 the new organization is the current one", "ann", "members", `{"Email":"b@example.com"}`, `{"count":1}`},
	},
)

// §4.5, combining: per project the highest access, sorted by project.
var joinedGrantRows = []ruletest.Row{
	{"§4.5", "ann", "newproject", `{"name":"Second"}`, `{"id":3}`},
	{"§4.5 one project twice", "ann", "invite", grants(`[{"id":3,"level":"none"},{"id":1,"level":"member"},{"id":3,"level":"admin"}]`), `{"private_project_access":[{"id":3,"level":"none"},{"id":1,"level":"member"},{"id":3,"level":"admin"}]}`},
	{"§4.5 the highest", "ann", "invite", `{"target_email":"c@example.com","combine_pending_invites":true}`, `{"private_project_access":[{"id":1,"level":"member"},{"id":3,"level":"admin"}]}`},
	{"§4.5 a lower one does not count", "ann", "invite", `{"target_email":"c@example.com","combine_pending_invites":true,"private_project_access":[{"id":3,"level":"member"},{"id":1,"level":"none"}]}`, `{"private_project_access":[{"id":1,"level":"member"},{"id":3,"level":"admin"}]}`},
	{"§4.5 more than one's own access", "bob", "invite", `{"target_email":"c@example.com","combine_pending_invites":true}`, `400 invalid_input private_project_access You cannot invite to a private project with a higher level than your own.`},
	{"§4.5 nothing has changed", "ann", "invites", ``, `{"count":1,"results":[{"private_project_access":[{"id":1},{"id":3,"level":"admin"}]}]}`},
}

// §4.5: the 100 members of the longest standing get a mail about a new member.
func TestInvites_JoinMails(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, true)
	var records []management.Record
	for n := range 98 { // with the five active members of the world they are 103
		id := fmt.Sprintf("0191f0a2-5b1c-7d3e-8f40-4000%08d", n)
		u := management.User{ID: int64(100 + n), UUID: id, Email: fmt.Sprintf("m%d@example.com", n)}
		m := management.Membership{ID: id, Organization: ours, User: id, Level: management.Member}
		records = append(records,
			management.Record{Kind: storage.KindUser, ID: id, Sort: storage.SortNumber(u.ID), Unique: u.Email, Data: storage.Encode(u)},
			management.Record{Kind: storage.KindMember, Parent: ours, ID: id, Other: id, Sort: storage.SortTime(ruletest.Start.AddDate(1, 0, n)), Data: storage.Encode(m)})
	}
	w.putRecords(t, records...)
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§4.5", "bob", "invite => in", `{"target_email":"zoe@example.com","send_email":false}`, `{"level":1}`},
		{"§4.5", "-", "accept <in> <in.accept_url>", `{"first_name":"Zoe"}`, `{"first_name":"Zoe"}`},
		// fay, who is inactive, and Zoe are among the 101 oldest members, so 99 get a mail.
		{"§4.5", "-", "deliver", ``, `{"to":"(like) ^ann@example.com bob@example.com cyd@example.com eve@example.com gus@example.com m0@example.com .* m93@example.com$"}`},
	})
}
