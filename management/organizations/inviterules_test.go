package organizations_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Invitations follow §4.5 and decision 22.
func TestInvites_Rules(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{
		"fields": inviteRows, "access": grantRows, "replacing": replaceRows, "combining": combineRows, "bulk": bulkRows, "cancelling": uninviteRows, "lists": inviteListRows,
	})
}

var inviteRows = []ruletest.Row{
	{"§6 row 54", "bob", "invite", `{}`, `400 required target_email This field is required.`},
	{"§4.5 not null", "bob", "invite", `{"target_email":null}`, `400 null target_email This field may not be null.`},
	{"§4.5 no address", "bob", "invite", `{"target_email":"nobody"}`, `400 invalid_input target_email Enter a valid email address.`},
	{"§4.5 no address", "bob", "invite", `{"target_email":"a@b@example.com"}`, `400 invalid_input target_email Enter a valid email address.`},
	{"§4.5 no address", "bob", "invite", `{"target_email":"a b@example.com"}`, `400 invalid_input target_email Enter a valid email address.`},
	{"§4.5 blank", "bob", "invite", `{"target_email":""}`, `400 blank target_email This field may not be blank.`},
	{"§4.5 254 characters", "bob", "invite", `{"target_email":"` + address(254) + `"}`, `{"target_email":"` + address(254) + `"}`},
	{"§4.5 255 characters", "bob", "invite", `{"target_email":"` + address(255) + `"}`, `400 max_length target_email Ensure this field has no more than 254 characters.`},
	{"§6 row 55", "bob", "invite => in", `{"target_email":"A.B@EXAMPLE.com"}`, `{"id":"(like) ^[0-9a-f-]{36}$","target_email":"A.B@example.com","first_name":"","level":1,"emailing_attempt_made":false,"is_expired":false,"created_by":{"first_name":"bob"},
		"created_at":"2026-01-02T12:00:09Z","updated_at":"2026-01-02T12:00:09Z","message":null,"private_project_access":[],"send_email":"(absent)","combine_pending_invites":"(absent)"}`},
	{"§5.11", "ann", "log organization OrganizationInvite <in>", ``, `{"activity":"created","user":{"first_name":"bob"},"detail":{"name":"A.B@example.com"}}`},
	{"decision 22 accept_url without a mail server", "bob", "invite", `{"target_email":"u@example.com"}`, `{"accept_url":"(like) ^https://here/signup/[0-9a-f-]{36}\\?secret=[0-9A-Za-z_-]{43}$"}`},
	{"decision 22 in the answer to the creation alone", "bob", "invites", `{"Limit":1}`, `{"results":[{"target_email":"u@example.com","accept_url":"(absent)"}]}`},
	{"§6 row 56", "bob", "invite", `{"target_email":"ann@example.com"}`, `400 invalid_input - A user with this email address already belongs to the organization.`},
	{"§6 row 56 in another case", "bob", "invite", `{"target_email":"ANN@example.com"}`, `400 invalid_input - A user with this email address already belongs to the organization.`},
	{"§4.5 of another organization", "bob", "invite", `{"target_email":"dan@example.com"}`, `{"target_email":"dan@example.com"}`},
	{"§4.5 first_name", "bob", "invite", `{"target_email":"c@example.com","first_name":` + chars(30) + `}`, `{"first_name":` + chars(30) + `}`},
	{"§4.5 first_name", "bob", "invite", `{"target_email":"c@example.com","first_name":` + chars(31) + `}`, `400 max_length first_name Ensure this field has no more than 30 characters.`},
	{"§4.5 message", "bob", "invite", `{"target_email":"c@example.com","message":"Welcome"}`, `{"message":"Welcome"}`},
	{"§4.5 message", "bob", "invite", `{"target_email":"c@example.com","message":null}`, `{"message":null}`},
	{"§4.5 level", "ann", "invite", `{"target_email":"c@example.com","level":5}`, `400 invalid_choice level "5" is not a valid choice.`},
	{"§4.5 level", "ann", "invite", `{"target_email":"c@example.com","level":15}`, `{"level":15}`},
	{"§4.5 level", "gus", "invite", `{"target_email":"d@example.com","level":8}`, `{"level":8}`},
	{"§4.5 above one's own", "bob", "invite", `{"target_email":"e@example.com","level":8}`, `403 permission_denied - You cannot invite a user with a higher permission level than your own.`},
	{"§6 row 57", "gus", "invite", `{"target_email":"e@example.com","level":15}`, `403 permission_denied - You cannot invite a user with a higher permission level than your own.`},
	{"§4.5 send_email", "bob", "invite", `{"target_email":"e@example.com","send_email":"never"}`, `400 invalid_input send_email Must be a valid boolean.`},
	{"§4.5 combine_pending_invites", "bob", "invite", `{"target_email":"e@example.com","combine_pending_invites":7}`, `400 invalid_input combine_pending_invites Must be a valid boolean.`},
	{"§4.5 members_can_invite", "gus", "changeorganization", `{"members_can_invite":false}`, `{"members_can_invite":false}`},
	{"§4.5 members_can_invite", "bob", "invite", `{"target_email":"f@example.com"}`, mayNot},
	{"§4.5 members_can_invite", "bob", "bulk", `[]`, mayNot},
	{"§4.5 administrators always", "gus", "invite", `{"target_email":"f@example.com"}`, `{"target_email":"f@example.com"}`},
}

// address returns an e-mail address of n characters.
func address(n int) string {
	domain := "@" + strings.Repeat("d.", 80) + "example"
	return strings.Repeat("x", 60) + domain + strings.Repeat("e", n-60-len(domain))
}

const (
	noProject = `400 invalid_input private_project_access Project does not exist on this organization, or it is private and you do not have access to it.`
)

func grants(list string) string {
	return `{"target_email":"c@example.com","private_project_access":` + list + `}`
}

func manyGrants(n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(`{"id":1,"level":"member"},`, n), ",") + "]"
}

var grantRows = []ruletest.Row{
	{"§4.5 no list", "ann", "invite", grants(`{}`), `400 invalid_input private_project_access The field must be a list of dictionaries.`},
	{"§4.5 no list", "ann", "invite", grants(`"x"`), `400 invalid_input private_project_access The field must be a list of dictionaries.`},
	{"§4.5 entry", "ann", "invite", grants(`[1]`), `400 invalid_input private_project_access Each item in the list must be a dictionary.`},
	{"§4.5 entry", "ann", "invite", grants(`[[]]`), `400 invalid_input private_project_access Each item in the list must be a dictionary.`},
	{"§4.5 keys", "ann", "invite", grants(`[{"id":1}]`), `400 invalid_input private_project_access Each dictionary must contain "id" and "level" keys.`},
	{"§4.5 keys", "ann", "invite", grants(`[{"level":"member"}]`), `400 invalid_input private_project_access Each dictionary must contain "id" and "level" keys.`},
	{"§4.5 id", "ann", "invite", grants(`[{"id":"1","level":"member"}]`), `400 invalid_input private_project_access The "id" field must be an integer.`},
	{"§4.5 id", "ann", "invite", grants(`[{"id":1.5,"level":"member"}]`), `400 invalid_input private_project_access The "id" field must be an integer.`},
	{"§4.5 id", "ann", "invite", grants(`[{"id":null,"level":"member"}]`), `400 invalid_input private_project_access The "id" field must be an integer.`},
	{"§4.5 level", "ann", "invite", grants(`[{"id":1,"level":"king"}]`), `400 invalid_input private_project_access The "level" field must be a valid access level.`},
	{"§4.5 level", "ann", "invite", grants(`[{"id":1,"level":15}]`), `400 invalid_input private_project_access The "level" field must be a valid access level.`},
	{"§4.5 of another organization", "ann", "invite", grants(`[{"id":2,"level":"member"}]`), noProject},
	{"§4.5 unknown", "ann", "invite", grants(`[{"id":99,"level":"member"}]`), noProject},
	{"§4.5 unknown", "ann", "invite", grants(`[{"id":99999999999999999999,"level":"member"}]`), noProject},
	{"§4.5 levels", "ann", "invite", grants(`[{"id":1,"level":"none"}]`), `{"private_project_access":[{"id":1,"level":"none"}]}`},
	{"§4.5 levels", "ann", "invite", grants(`[{"id":1,"level":"member"}]`), `{"private_project_access":[{"id":1,"level":"member"}]}`},
	{"§4.5 levels", "gus", "invite", grants(`[{"id":1,"level":"admin"}]`), `{"private_project_access":[{"id":1,"level":"admin"}]}`},
	{"§4.5 numbers of old", "ann", "invite", grants(`[{"id":1,"level":1}]`), `{"private_project_access":[{"id":1,"level":"member"}]}`},
	{"§4.5 numbers of old", "ann", "invite", grants(`[{"id":1,"level":8}]`), `{"private_project_access":[{"id":1,"level":"admin"}]}`},
	{"1000 projects", "ann", "invite", grants(manyGrants(1000)), `{"level":1}`},
	{"1001 projects", "ann", "invite", grants(manyGrants(1001)), `400 max_length private_project_access Ensure this field has no more than 1000 elements.`},
	{"§4.5 higher than one's own", "bob", "invite", grants(`[{"id":1,"level":"admin"}]`), `400 invalid_input private_project_access You cannot invite to a private project with a higher level than your own.`},
	{"§4.5 one's own", "bob", "invite", grants(`[{"id":1,"level":"member"}]`), `{"private_project_access":[{"id":1,"level":"member"}]}`},
	{"§4.5 empty is null when it is sent", "ann", "invite", grants(`[]`), `{"private_project_access":null}`},
	{"§4.5 null", "ann", "invite", grants(`null`), `{"private_project_access":null}`},
	{"§4.5 private", "gus", "changeproject", `{"access_control":true}`, `{"access_control":true}`},
	{"§4.5 private: one who is not its admin", "bob", "invite", grants(`[{"id":1,"level":"member"}]`), noProject},
	{"§4.5 private: its admin", "gus", "invite", grants(`[{"id":1,"level":"member"}]`), `{"private_project_access":[{"id":1,"level":"member"}]}`},
}

// §4.5: all earlier invitations of the address are deleted.
var replaceRows = []ruletest.Row{
	{"§4.5", "ann", "invite => first", `{"target_email":"d@example.com","level":8}`, `{"level":8}`},
	{"§6 row 58", "ann", "invite => second", `{"target_email":"D@example.com"}`, `{"level":1}`},
	{"§6 row 58 the first one is gone", "bob", "invites", ``, `{"count":1,"results":[{"id":"<second>","level":1}]}`},
	{"§6 row 58 the first one is gone", "-", "form <first>", ``, `400 invalid_input - The provided invite ID is not valid.`},
	{"§4.5 another address", "ann", "invite", `{"target_email":"e@example.com"}`, `{"level":1}`},
	{"§4.5 another organization", "dan", "invite => theirs", `{"target_email":"d@example.com"}`, `{"level":1}`},
	{"§4.5 the others stay", "ann", "invites", ``, `{"count":2,"results":[{"target_email":"e@example.com"},{"id":"<second>"}]}`},
	{"§4.5 the others stay", "dan", "invites", ``, `{"count":1}`},
	{"§4.5 expired ones too", "ann", "wait " + days(4), ``, `null`},
	{"§4.5 expired ones too", "bob", "invite => third", `{"target_email":"d@example.com"}`, `{"level":1}`},
	{"§4.5 expired ones too", "ann", "invites", ``, `{"count":2,"results":[{"id":"<third>","is_expired":false},{"target_email":"e@example.com","is_expired":true}]}`},
}

var combineRows = []ruletest.Row{
	{"§4.5", "ann", "invite", `{"target_email":"d@example.com","level":8,"private_project_access":[{"id":1,"level":"admin"}]}`, `{"level":8}`},
	{"§6 row 59", "ann", "invite => in", `{"target_email":"d@example.com","level":1,"combine_pending_invites":true}`, `{"level":8,"private_project_access":[{"id":1,"level":"admin"}]}`},
	{"§4.5 the highest access", "ann", "invite", `{"target_email":"d@example.com","combine_pending_invites":true,"private_project_access":[{"id":1,"level":"member"}]}`, `{"level":8,"private_project_access":[{"id":1,"level":"admin"}]}`},
	{"§4.5 per project", "ann", "newproject", `{"name":"Second"}`, `{"id":3}`},
	{"§4.5 per project", "ann", "invite", `{"target_email":"d@example.com","combine_pending_invites":true,"private_project_access":[{"id":3,"level":"member"}]}`, `{"private_project_access":[{"id":1,"level":"admin"},{"id":3,"level":"member"}]}`},
	{"§4.5 the highest level", "ann", "invite", `{"target_email":"d@example.com","level":15,"combine_pending_invites":true}`, `{"level":15}`},
	{"§4.5 what is combined may be more than one's own", "gus", "invite", `{"target_email":"d@example.com","combine_pending_invites":true}`, `403 permission_denied - You cannot invite a user with a higher permission level than your own.`},
	{"§4.5 and then nothing has happened", "ann", "invites", ``, `{"count":1,"results":[{"level":15}]}`},
	{"§4.5 without combining", "ann", "invite", `{"target_email":"d@example.com"}`, `{"level":1,"private_project_access":[]}`},
	{"§4.5", "ann", "invite", `{"target_email":"e@example.com","level":8}`, `{"level":8}`},
	{"§6 row 60", "ann", "wait 72h0m1s", ``, `null`},
	{"§6 row 60", "ann", "invite", `{"target_email":"e@example.com","level":1,"combine_pending_invites":true}`, `{"level":1}`},
	{"§6 row 60 it is gone", "ann", "invites", `{"Limit":1}`, `{"count":2,"results":[{"target_email":"e@example.com","level":1}]}`},
}

func people(n int) string {
	var list []string
	for i := range n {
		list = append(list, `{"target_email":"p`+string(rune('a'+i))+`@example.com"}`)
	}
	return `[` + strings.Join(list, ",") + `]`
}

var bulkRows = []ruletest.Row{
	{"§4.5 nothing", "bob", "bulk", `[]`, `[]`},
	{"§6 row 61 21 items", "bob", "bulk", people(21), `400 max_length - A maximum of 20 invites can be sent in a single request.`},
	{"§6 row 61 item 4 without e-mail", "bob", "bulk", `[{"target_email":"a@example.com"},{"target_email":"b@example.com"},{"target_email":"c@example.com"},{"target_email":"d@example.com"},{"first_name":"E"}]`, `400 required __4__target_email This field is required.`},
	{"§4.5 an invalid item", "bob", "bulk", `[{"target_email":"a@example.com"},{"target_email":"b@example.com","level":5}]`, `400 invalid_choice __1__level "5" is not a valid choice.`},
	{"§4.5 a member", "bob", "bulk", `[{"target_email":"a@example.com"},{"target_email":"cyd@example.com"}]`, `400 invalid_input - A user with this email address already belongs to the organization.`},
	{"§4.5 above one's own", "bob", "bulk", `[{"target_email":"a@example.com"},{"target_email":"b@example.com","level":8}]`, `403 permission_denied - You cannot invite a user with a higher permission level than your own.`},
	{"§4.5 no object", "bob", "bulk", `[{"target_email":"a@example.com"},"b@example.com"]`, `400 invalid_input - Invalid data. Expected a dictionary, but got str.`},
	{"§4.5 no object", "bob", "bulk", `[[]]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	{"§4.5 nothing was created", "bob", "invites", ``, `{"count":0}`},
	{"§4.5 no array", "bob", "bulk", `"x"`, `400 invalid_input - This endpoint needs an array of data for bulk invite creation.`},
	{"§6 row 61 an object is accepted", "bob", "bulk", `{"target_email":"a@example.com"}`, `[{"target_email":"a@example.com"}]`},
	{"§4.5 20 items", "bob", "bulk", people(20), people(20)},
	{"§4.5 20 items", "bob", "invites", ``, `{"count":21}`},
}

var uninviteRows = []ruletest.Row{
	{"§4.5", "bob", "invite => in", `{"target_email":"a@example.com"}`, `{"level":1}`},
	{"§4.5 DELETE 8", "bob", "uninvite <in>", ``, tooLow},
	{"§4.5 another organization's", "dan", "uninvite <in>", ``, notFound},
	{"§4.5 DELETE", "gus", "uninvite <in>", ``, `null`},
	{"§5.11", "ann", "log organization OrganizationInvite <in>", ``, `{"activity":"deleted","user":{"first_name":"gus"},"detail":{"name":"a@example.com"}}`},
	{"§4.5 DELETE", "gus", "uninvite <in>", ``, notFound},
	{"§4.5 it opens nothing", "-", "accept <in> <in.accept_url>", `{"first_name":"A"}`, `400 invalid_input - The provided invite ID is not valid.`},
	{"§4.5 no UUID", "gus", "uninvite 1", ``, notFound},
}

// §4.5: the list has the newest first and includes invitations that expired after 3 days.
var inviteListRows = []ruletest.Row{
	{"§4.5", "bob", "invite => a", `{"target_email":"a@example.com"}`, `{"level":1}`},
	{"§4.5", "ann", "invite => b", `{"target_email":"b@example.com"}`, `{"level":1}`},
	{"§4.5 newest first, for members", "cyd", "invites", ``, `{"count":2,"results":[{"id":"<b>"},{"id":"<a>"}]}`},
	{"§3 limit and offset", "cyd", "invites", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"id":"<a>"}]}`},
	{"§4.5 three days after 12:00:01", "cyd", "wait 71h59m55s", ``, `null`},
	{"§4.5 three days after 12:00:01", "cyd", "invites", ``, `{"results":[{"is_expired":false},{"id":"<a>","is_expired":false}]}`},
	{"§4.5 older than three days", "cyd", "invites", ``, `{"results":[{"id":"<b>","is_expired":false},{"id":"<a>","is_expired":true}]}`},
	{"decision 22 void without its inviter", "ann", "level " + uuid("gus"), `{"level":15}`, `{"level":15}`},
	{"decision 22 void without its inviter", "gus", "invite", `{"target_email":"c@example.com","level":15}`, `{"is_expired":false}`},
	{"decision 22 void without its inviter", "ann", "level " + uuid("gus"), `{"level":8}`, `{"level":8}`},
	{"decision 22 void without its inviter", "cyd", "invites", `{"Limit":1}`, `{"results":[{"target_email":"c@example.com","level":15,"is_expired":true}]}`},
}

// Accepting an invitation follows §4.5 and decision 22.
func TestInvites_Accept(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{
		"a new account": signUpRows, "an account": joinRows, "expiry": expiryRows, "single sign-on": ssoRows, "access": acceptAccessRows,
		"a member": memberRows, "siblings": siblingRows,
	})
}

const invalidID = `400 invalid_input - The provided invite ID is not valid.`

var signUpRows = []ruletest.Row{
	{"§4.5", "ann", "invite => in", `{"target_email":"New@example.com","first_name":"Nina","level":8}`, `{"level":8}`},
	{"§4.5 GET is public", "-", "look <in>", ``, `{"id":"<in>","target_email":"New@example.com","first_name":"Nina","organization_name":"Ours"}`},
	{"§4.5 unknown", "-", "look " + nowhere, ``, invalidID},
	{"§4.5 no UUID", "-", "look 7", ``, invalidID},
	{"decision 22 the id alone accepts nothing", "-", "accept <in>", `{"first_name":"Nina"}`, invalidID},
	{"decision 22 another secret accepts nothing", "-", "accept <in> AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", `{"first_name":"Nina"}`, invalidID},
	{"decision 22 whether a secret opens", "-", "form <in> <in.accept_url>", ``, `{"id":"<in>","target_email":"New@example.com","Account":false,"Displace":false,"Roles":["engineering","data","product","founder","leadership","marketing","sales","other"]}`},
	{"decision 22 whether a secret opens", "-", "form <in> x", ``, `400 invalid_input - This link is incomplete: use the complete link from the email.`},
	{"decision 22 whether a secret opens", "-", "form " + nowhere + " <in.accept_url>", ``, invalidID},
	{"§4.5 first_name", "-", "accept <in> <in.accept_url>", `{}`, `400 required first_name This field is required.`},
	{"§4.5 first_name", "-", "accept <in> <in.accept_url>", `{"first_name":" "}`, `400 blank first_name This field may not be blank.`},
	{"§1.9 role_at_organization", "-", "accept <in> <in.accept_url>", `{"first_name":"Nina","role_at_organization":"king"}`, `400 invalid_choice role_at_organization "king" is not a valid choice.`},
	{"§4.5 POST", "-", "accept <in> <in.accept_url> => nina", `{"first_name":"Nina","role_at_organization":"engineering"}`, `{"first_name":"Nina","email":"New@example.com","role_at_organization":"engineering","redirect_url":"(like) /$","personal_api_key":"(like) ^phx_[0-9A-Za-z]{47,48}$","is_email_verified":null}`},
	{"decision 22 its key opens everything of the user", "-", "whose <nina.personal_api_key>", ``, `{"first_name":"Nina","level":8,"scopes":["*"]}`},
	{"§4.5 membership with the invite's level", "ann", "members", `{"Email":"new@example.com"}`, `{"count":1,"results":[{"level":8,"joined_at":"2026-01-02T12:00:13Z"}]}`},
	{"§5.11", "ann", "log organization OrganizationMembership", ``, `{"activity":"created","user":{"first_name":"Nina","email":"New@example.com"},"detail":{"name":"New@example.com"}}`},
	{"§4.5 the invite is deleted", "ann", "invites", ``, `{"count":0}`},
	{"decision 22 once", "-", "accept <in> <in.accept_url>", `{"first_name":"Nina"}`, invalidID},
	{"§4.5 who is a member", "ann", "invite", `{"target_email":"new@EXAMPLE.com"}`, `400 invalid_input - A user with this email address already belongs to the organization.`},
}

var joinRows = []ruletest.Row{
	{"§4.5", "ann", "invite => in", `{"target_email":"dan@example.com"}`, `{"level":1}`},
	{"§4.5 account_exists", "-", "look <in>", ``, `400 account_exists - /signup/<in>`},
	{"§4.5 account_exists", "-", "accept <in> <in.accept_url>", `{"first_name":"Dan"}`, `400 account_exists -`},
	{"§4.5 the page of the link", "-", "form <in>", ``, `{"target_email":"dan@example.com","organization_name":"Ours","Account":true,"Displace":false}`},
	{"§4.5 invalid_recipient", "bob", "look <in>", ``, `400 invalid_recipient - This invite is intended for another email address.`},
	{"§4.5 invalid_recipient", "bob", "accept <in> <in.accept_url>", ``, `400 invalid_recipient - This invite is intended for another email address.`},
	{"§4.5 look", "dan", "look <in>", ``, `{"id":"<in>"}`},
	{"decision 22 an address that is not proven needs the secret", "dan", "accept <in>", ``, `400 required secret`},
	{"decision 22 an address that is not proven needs the secret", "dan", "accept <in> wrong", ``, `400 required secret`},
	{"§4.5 a second invite", "dan", "accept <in> <in.accept_url>", ``, `{"first_name":"dan","redirect_url":"(like) /$","personal_api_key":"(absent)"}`},
	{"§4.5 membership", "ann", "members", `{"Email":"dan@example.com"}`, `{"count":1,"results":[{"level":1}]}`},
	{"§4.5 both organizations", "dan", "organizations", ``, `{"count":2,"results":[{"name":"Theirs","membership_level":15},{"name":"Ours","membership_level":1}]}`},
	{"§4.5 user_already_member", "dan", "accept <in> <in.accept_url>", ``, invalidID},
	{"decision 22 an address that is proven needs none", "ann", "leave " + uuid("dan"), ``, `null`},
	{"decision 22 an address that is proven needs none", "dan", "setuser dan", `{"is_email_verified":true}`, `null`},
	{"decision 22 an address that is proven needs none", "ann", "invite => again", `{"target_email":"dan@example.com"}`, `{"level":1}`},
	{"decision 22 an address that is proven needs none", "dan", "accept <again>", ``, `{"first_name":"dan"}`},
}

// A member with the invited address cannot be invited.
var memberRows = []ruletest.Row{
	{"§4.5", "ann", "invite => in", `{"target_email":"new@example.com"}`, `{"level":1}`},
	{"§1.9 a member takes the address", "cyd", "changeme", `{"email":"new@example.com"}`, `{"email":"new@example.com"}`},
	{"§4.5 existing_email_address", "-", "look <in>", ``, `400 existing_email_address -`},
	{"§4.5 existing_email_address", "-", "accept <in> <in.accept_url>", `{"first_name":"New"}`, `400 existing_email_address -`},
	{"§4.5 user_already_member", "cyd", "look <in>", ``, `400 user_already_member - You already are a member of this organization.`},
	{"§4.5 user_already_member", "cyd", "accept <in> <in.accept_url>", ``, `400 user_already_member - You already are a member of this organization.`},
	{"§4.5 the level stays", "ann", "members", `{"Email":"new@example.com"}`, `{"count":1,"results":[{"level":1}]}`},
}

// §4.5: accepting deletes all invitations of the address to this organization, and none to other
// organizations.
var siblingRows = []ruletest.Row{
	{"§4.5", "ann", "invite => first", `{"target_email":"new@example.com","level":8}`, `{"level":8}`},
	{"§4.5 a member's replaces none of the owner's", "bob", "invite => second", `{"target_email":"new@example.com"}`, `{"level":1}`},
	{"§4.5", "dan", "invite => theirs", `{"target_email":"new@example.com"}`, `{"level":1}`},
	{"§4.5", "ann", "invites", ``, `{"count":2,"results":[{"id":"<second>"},{"id":"<first>"}]}`},
	{"§4.5 the level of the invite that is accepted", "-", "accept <second> <second.accept_url> => new", `{"first_name":"New"}`, `{"first_name":"New"}`},
	{"§4.5 the level of the invite that is accepted", "-", "whose <new.personal_api_key>", ``, `{"level":1}`},
	{"§4.5 siblings are deleted", "ann", "invites", ``, `{"count":0}`},
	{"§4.5 others stay", "dan", "invites", ``, `{"count":1,"results":[{"id":"<theirs>"}]}`},
}

// Invitations that are older than three days, or for a member, cannot be accepted.
var expiryRows = []ruletest.Row{
	{"§4.5", "ann", "invite => in", `{"target_email":"a@example.com"}`, `{"level":1}`},
	{"§4.5 three days", "-", "wait 71h59m59s", ``, `null`},
	{"§4.5 expired", "-", "look <in>", ``, `400 expired - This invite has expired. Please ask your admin for a new one.`},
	{"§4.5 expired", "-", "accept <in> <in.accept_url>", `{"first_name":"A"}`, `400 expired - This invite has expired. Please ask your admin for a new one.`},
	{"§4.5 expired", "-", "form <in>", ``, `400 expired - This invite has expired.`},
	{"decision 22 void without its inviter", "gus", "invite => of", `{"target_email":"b@example.com","level":8}`, `{"level":8}`},
	{"decision 22 void without its inviter", "ann", "level " + uuid("gus"), `{"level":1}`, `{"level":1}`},
	{"decision 22 void without its inviter", "-", "accept <of> <of.accept_url>", `{"first_name":"B"}`, `400 expired -`},
	{"decision 22 as much as he may still give", "ann", "level " + uuid("gus"), `{"level":8}`, `{"level":8}`},
	{"decision 22 as much as he may still give", "-", "accept <of> <of.accept_url>", `{"first_name":"B"}`, `{"first_name":"B"}`},
}

// §4.4, decision 19: sso_enforcement of a domain prevents its addresses from accepting.
var ssoRows = []ruletest.Row{
	{"§4.4", "ann", "domain => it", `{"domain":"corp.example"}`, `{"is_verified":false}`},
	{"§4.5", "ann", "invite => in", `{"target_email":"a@Corp.example"}`, `{"level":1}`},
	{"§4.4", "-", "dns _posthog-challenge.corp.example <it.verification_challenge>", ``, `null`},
	{"§4.4", "ann", "verify <it>", ``, `{"is_verified":true}`},
	{"§4.4", "ann", "changedomain <it>", `{"sso_enforcement":"saml"}`, `{"sso_enforcement":"saml"}`},
	{"§4.4 sso_enforced", "-", "accept <in> <in.accept_url>", `{"first_name":"A"}`, `400 sso_enforced -`},
	{"§4.4 another domain", "ann", "invite => sub", `{"target_email":"a@sub.corp.example"}`, `{"level":1}`},
	{"§4.4 another domain", "-", "accept <sub> <sub.accept_url>", `{"first_name":"A"}`, `{"first_name":"A"}`},
	{"§4.4 off", "ann", "changedomain <it>", `{"sso_enforcement":""}`, `{"sso_enforcement":""}`},
	{"§4.4 off", "-", "accept <in> <in.accept_url>", `{"first_name":"A"}`, `{"first_name":"A"}`},
}

// §4.5: an accepted invitation grants its access to projects.
var acceptAccessRows = []ruletest.Row{
	{"§1.8", "gus", "changeproject", `{"access_control":true}`, `{"access_control":true}`},
	{"§4.5", "gus", "invite => with", `{"target_email":"dan@example.com","private_project_access":[{"id":1,"level":"member"}]}`, `{"level":1}`},
	{"§4.5", "dan", "accept <with> <with.accept_url>", ``, `{"first_name":"dan"}`},
	{"§4.5 the access of the invite", "dan", "enterproject 1", ``, `{"name":"P"}`},
	{"§4.5 the access of the invite", "dan", "project 1", ``, `{"user_access_level":"member","effective_membership_level":1}`},
	{"§1.8 others have none", "bob", "enterproject 1", ``, `403 permission_denied - You don't have access to the project.`},
	{"§4.5 none", "gus", "invite => none", `{"target_email":"zoe@example.com","private_project_access":[{"id":1,"level":"none"}]}`, `{"level":1}`},
	{"§1.8 open to all", "gus", "changeproject", `{"access_control":false}`, `{"access_control":false}`},
	{"§4.5 none", "-", "accept <none> <none.accept_url> => zoe", `{"first_name":"Zoe"}`, `{"first_name":"Zoe"}`},
	{"§1.8 highest rule", "bob", "enterproject 1", ``, `{"name":"P"}`},
}

// §1.4, §1.6: the scopes and lists that a caller's key needs in order to accept.
func TestInvites_AcceptKeys(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	w.Keys["reader"] = management.KeyRecord{Scopes: []string{"organization_member:read"}}
	w.Keys["writer"] = management.KeyRecord{Scopes: []string{"organization_member:write"}}
	w.Keys["of a project"] = management.KeyRecord{Scopes: []string{"*"}, Projects: []int64{2}}
	w.Keys["of theirs"] = management.KeyRecord{Scopes: []string{"*"}, Organizations: []string{theirs}}
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§4.5", "ann", "invite => in", `{"target_email":"dan@example.com"}`, `{"level":1}`},
		{"§1.5", "dan/reader", "accept <in> <in.accept_url>", ``, `403 permission_denied - API key missing required scope 'organization_member:write'`},
		{"§1.6", "dan/of a project", "accept <in> <in.accept_url>", ``, `403 permission_denied - API keys with scoped projects are only supported on project-based endpoints.`},
		{"§1.6", "dan/of theirs", "accept <in> <in.accept_url>", ``, `403 permission_denied - API key does not have access to the requested organization: ID ` + ours + `.`},
		{"§1.4", "dan/writer", "accept <in> <in.accept_url>", ``, `{"first_name":"dan"}`},
	})
}

// Decision 22: neither the secret nor the key of a new account is stored in clear.
func TestInvites_SecretsAreHashed(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	calls := w.calls(t)
	var secret, key string
	accept := calls["accept"]
	calls["accept"] = func(scope callScope, path, b string) (any, error) {
		_, link, _ := strings.Cut(path, "secret=")
		secret = link
		out, err := accept(scope, path, b)
		var got struct {
			Key string `json:"personal_api_key"`
		}
		_ = json.Unmarshal(storage.Encode(out), &got)
		key = got.Key
		return out, err
	}
	isStored := func(text string) (found bool) {
		err := w.Store.Read(t.Context(), func(tx rooms.Tx) error {
			for _, q := range []management.Query{{Kind: "invite", Parent: ours}, {Kind: "mail"}, {Kind: storage.KindActivity, Parent: ours}, {Kind: storage.KindUser}} {
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
	w.Run(t, calls, []ruletest.Row{
		{"§4.5", "ann", "invite => in", `{"target_email":"a@example.com"}`, `{"level":1}`},
		{"§4.5", "ann", "invite => other", `{"target_email":"b@example.com"}`, `{"level":1}`},
		{"§4.5", "-", "accept <other> <other.accept_url>", `{"first_name":"B"}`, `{"first_name":"B"}`},
	})
	if len(secret) != 43 || len(key) < 47 || isStored(secret) || isStored(key) {
		t.Errorf("%q or %q stands in the store", secret, key)
	}
	if !isStored("a@example.com") {
		t.Error("the test looks at nothing")
	}
}
