package organizations_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
)

// Accounts at a provider of OpenID Connect follow console.md §5.2, OIDC and Domains act.
func TestProvider_Rules(t *testing.T) {
	runSignInTables(t, false, map[string][]ruletest.Row{
		"first use": firstUseRows, "later": laterUseRows, "another account": otherAccountRows, "users": ssoUserRows, "domains": provisionRows, "domains that do not act": noProvisionRows,
		"invitations": provisionInviteRows, "names": provisionNameRows, "a user who was deleted": deletedIdentityRows,
	})
}

// account returns the account with a subject and an address that the provider has verified.
func account(subject, email string, more ...string) string {
	return `{"Issuer":"https://idp.example","Subject":"` + subject + `","Email":"` + email + `","Verified":true` + strings.Join(more, "") + `}`
}

const (
	unverified       = `403 sso_unverified - The provider has not verified the account's email address.`
	duplicateAccount = `403 sso_taken - bob@example.com signs in with another account of this provider.`
)

// console.md §5.2: the first time a user is found by an address that is verified.
var firstUseRows = []ruletest.Row{
	{"console §5.2 email_verified", "-", "sso", `{"Issuer":"https://idp.example","Subject":"1","Email":"bob@example.com"}`, unverified},
	{"console §5.2 an address", "-", "sso", `{"Issuer":"https://idp.example","Subject":"1","Verified":true}`, unverified},
	{"console §5.2 nobody has it", "-", "sso", account("1", "nobody@example.com"), `403 sso_no_account - There is no user with the address nobody@example.com: ask for an invitation.`},
	{"console §5.2 a refused account is not linked", "-", "sso => in", account("1", "BOB@example.com"), `{"token":"(like) ^[0-9A-Za-z_-]{43}$"}`},
	{"console §5.2", "-", "session <in.token>", ``, `{"email":"bob@example.com","method":"oidc","scopes":["*"],"key":""}`},
	{"its address is proven", "bob", "me", ``, `{"is_email_verified":true}`},
}

// console.md §5.2: then the user is found by issuer and subject.
var laterUseRows = []ruletest.Row{
	{"§1.9", "bob", "me", ``, `{"has_social_auth":false,"has_sso_enforcement":false}`},
	{"console §5.2", "-", "sso", account("1", "bob@example.com"), `{"token":"(like) ."}`},
	{"§1.9 an account is linked", "bob", "me", ``, `{"has_social_auth":true,"has_sso_enforcement":false}`},
	{"§1.9 another user's", "cyd", "me", ``, `{"has_social_auth":false}`},
	{"§4.6", "ann", "members", `{"Email":"bob@example.com"}`, `{"results":[{"has_social_auth":true}]}`},
	{"§4.6 another user's", "ann", "members", `{"Email":"cyd@example.com"}`, `{"results":[{"has_social_auth":false}]}`},
	{"§4.6", "ann", "level " + uuid("bob"), `{"level":8}`, `{"level":8,"has_social_auth":true}`},
	{"§4.6 is no change", "ann", "log organization OrganizationMembership", ``, `{"activity":"updated","detail":{"name":"bob@example.com","changes":[{"field":"level"}]}}`},
	{"§4.6", "ann", "level " + uuid("bob"), `{"level":1}`, `{"level":1,"has_social_auth":true}`},
	{"console §5.2 without an address", "-", "sso => in", `{"Issuer":"https://idp.example","Subject":"1"}`, `{"token":"(like) ."}`},
	{"console §5.2 without an address", "-", "session <in.token>", ``, `{"email":"bob@example.com"}`},
	{"console §5.2 the provider has changed it", "-", "sso => again", account("1", "cyd@example.com"), `{"token":"(like) ."}`},
	{"console §5.2 the provider has changed it", "-", "session <again.token>", ``, `{"email":"bob@example.com"}`},
	{"§1.9 the user has changed it", "bob", "changeme", `{"email":"robert@example.com"}`, `{"email":"robert@example.com"}`},
	{"§1.9 the user has changed it", "-", "sso => third", account("1", "bob@example.com"), `{"token":"(like) ."}`},
	{"§1.9 the user has changed it", "-", "session <third.token>", ``, `{"email":"robert@example.com"}`},
}

// A second account with the same address does not sign in.
var otherAccountRows = []ruletest.Row{
	{"console §5.2", "-", "sso", account("1", "bob@example.com"), `{"token":"(like) ."}`},
	{"another account with the address", "-", "sso", account("2", "bob@example.com"), duplicateAccount},
	{"of another user", "-", "sso", account("2", "cyd@example.com"), `{"token":"(like) ."}`},
	{"of another provider", "-", "sso => in", `{"Issuer":"https://other.example","Subject":"2","Email":"bob@example.com","Verified":true}`, `{"token":"(like) ."}`},
	{"of another provider", "-", "session <in.token>", ``, `{"email":"bob@example.com"}`},
	// The text of issuer and subject together is the same as that of the first account.
	{"other parts of the same text", "-", "sso", `{"Issuer":"https://idp.exampl","Subject":"e1","Email":"nobody@example.com","Verified":true}`, `403 sso_no_account -`},
}

// console.md §5.1: inactive users and users without a membership do not sign in.
var ssoUserRows = []ruletest.Row{
	{"inactive", "-", "sso", account("6", "fay@example.com"), `401 authentication_failed - This user is not active, or not a member of any organization.`},
	{"nothing was stored", "-", "setuser fay", `{"inactive":false}`, `null`},
	{"nothing was stored", "ann", "members", `{"Email":"fay@example.com"}`, `{"results":[{"user":{"is_email_verified":null}}]}`},
	{"nothing was stored", "-", "sso", account("7", "fay@example.com"), `{"token":"(like) ."}`},
	{"a member of nothing", "cyd", "leave @me", ``, `null`},
	{"a member of nothing", "-", "sso", account("3", "cyd@example.com"), `401 authentication_failed - This user is not active, or not a member of any organization.`},
}

// verifiedDomain are the rows by which ours claims and verifies corp.example.
var verifiedDomain = []ruletest.Row{
	{"§4.4", "gus", "domain => it", `{"domain":"corp.example"}`, `{"is_verified":false}`},
	{"§4.4", "-", "dns _posthog-challenge.corp.example <it.verification_challenge>", ``, `null`},
	{"§4.4", "gus", "verify <it>", ``, `{"is_verified":true}`},
}

// withJIT are verifiedDomain with jit_provisioning_enabled.
var withJIT = rows(verifiedDomain, []ruletest.Row{{"§4.4", "gus", "changedomain <it>", `{"jit_provisioning_enabled":true}`, `{"jit_provisioning_enabled":true}`}})

// console.md §5.2, Domains act: the first sign-in creates a member of level 1.
var provisionRows = rows(withJIT, []ruletest.Row{
	{"§5.1.3", "gus", "role => support", `{"name":"support"}`, `{"name":"support"}`},
	{"§5.9", "gus", "changeorganization", `{"default_role_id":"<support>"}`, `{"default_role_id":"<support>"}`},
	{"console §5.2 level 1", "-", "sso => in", account("1", "Zoe@CORP.example", `,"Name":"Zoe Zeta"`), `{"token":"(like) ."}`},
	{"console §5.2 level 1", "-", "whoami <in.token>", ``, `{"user":{"first_name":"Zoe","last_name":"","email":"Zoe@CORP.example","is_email_verified":true},"method":"oidc","organization":{"id":"` + ours + `","level":1},"projects":[{"id":1}]}`},
	{"§5.11", "ann", "log organization OrganizationMembership", ``, `{"activity":"created","user":{"first_name":"Zoe"},"detail":{"name":"Zoe@CORP.example"}}`},
	{"§5.9 default_role_id", "gus", "getrole <support>", ``, `{"members":[{"user":{"first_name":"Zoe"}}]}`},
	{"console §5.2 once", "-", "sso", account("1", "zoe@corp.example"), `{"token":"(like) ."}`},
	{"console §5.2 once", "ann", "members", `{"Email":"zoe@corp.example"}`, `{"count":1}`},
})

var noProvisionRows = rows(verifiedDomain, []ruletest.Row{
	{"console §5.2 without jit_provisioning_enabled", "-", "sso", account("1", "zoe@corp.example"), `403 sso_no_account - There is no user with the address zoe@corp.example: ask for an invitation.`},
	{"§4.4", "gus", "changedomain <it>", `{"jit_provisioning_enabled":true}`, `{"jit_provisioning_enabled":true}`},
	{"console §5.2 a subdomain", "-", "sso", account("1", "zoe@sub.corp.example"), `403 sso_no_account -`},
	{"console §5.2 a longer name", "-", "sso", account("1", "zoe@mycorp.example"), `403 sso_no_account -`},
	{"console §5.2 an address with the name in it", "-", "sso", account("1", "corp.example@evil.example"), `403 sso_no_account -`},
	{"console §5.2 not verified by the provider", "-", "sso", `{"Issuer":"i","Subject":"1","Email":"zoe@corp.example"}`, unverified},
	{"§4.4 a new claim", "gus", "dropdomain <it>", ``, `null`},
	{"§4.4 a new claim", "gus", "domain", `{"domain":"corp.example"}`, `{"is_verified":false}`},
	{"console §5.2 a domain that is not verified", "-", "sso", account("1", "zoe@corp.example"), `403 sso_no_account -`},
})

// §4.4: a pending invitation is used if it is valid.
var provisionInviteRows = rows(withJIT, []ruletest.Row{
	{"§1.8", "gus", "changeproject", `{"access_control":true}`, `{"access_control":true}`},
	{"§4.5", "gus", "invite => in", `{"target_email":"zoe@corp.example","level":8}`, `{"level":8}`},
	{"§4.4 its level", "-", "sso => zoe", account("1", "ZOE@corp.example"), `{"token":"(like) ."}`},
	{"§4.4 its level", "-", "whoami <zoe.token>", ``, `{"organization":{"level":8}}`},
	{"§4.5 the invitation is used", "ann", "invites", ``, `{"count":0}`},
	{"§4.5", "gus", "invite", `{"target_email":"yan@corp.example","private_project_access":[{"id":1,"level":"member"}]}`, `{"level":1}`},
	{"§4.4 its access", "-", "sso => yan", account("2", "yan@corp.example"), `{"token":"(like) ."}`},
	{"§4.4 its access", "-", "whoami <yan.token>", ``, `{"projects":[{"id":1}]}`},
	{"§4.5 one that is void", "gus", "invite", `{"target_email":"xia@corp.example","level":8,"private_project_access":[{"id":1,"level":"member"}]}`, `{"level":8}`},
	{"§4.5 one that is void", "ann", "level " + uuid("gus"), `{"level":1}`, `{"level":1}`},
	{"§4.4 level 1", "-", "sso => xia", account("3", "xia@corp.example"), `{"token":"(like) ."}`},
	{"§4.4 level 1", "-", "whoami <xia.token>", ``, `{"organization":{"level":1},"projects":[]}`},
	{"§4.5 one of three days", "ann", "invite", `{"target_email":"wim@corp.example","level":15}`, `{"level":15}`},
	{"§4.5 one of three days", "-", "wait 72h", ``, `null`},
	{"§4.4 level 1", "-", "sso => wim", account("4", "wim@corp.example"), `{"token":"(like) ."}`},
	{"§4.4 level 1", "-", "whoami <wim.token>", ``, `{"organization":{"level":1}}`},
	{"the newest of two", "ann", "level " + uuid("gus"), `{"level":8}`, `{"level":8}`},
	{"the newest of two", "ann", "invite", `{"target_email":"vic@corp.example","level":15}`, `{"level":15}`},
	{"the newest of two", "gus", "invite", `{"target_email":"vic@corp.example","level":8}`, `{"level":8}`},
	{"the newest of two", "-", "sso => vic", account("5", "vic@corp.example"), `{"token":"(like) ."}`},
	{"the newest of two", "-", "whoami <vic.token>", ``, `{"organization":{"level":8}}`},
	{"§4.5 siblings are deleted", "ann", "invites", `{"Limit":1}`, `{"count":0}`},
	{"of another organization", "dan", "invite", `{"target_email":"una@corp.example","level":15}`, `{"level":15}`},
	{"of another organization", "-", "sso => una", account("6", "una@corp.example"), `{"token":"(like) ."}`},
	{"of another organization", "-", "whoami <una.token>", ``, `{"organization":{"id":"` + ours + `","level":1}}`},
	{"of another organization", "dan", "invites", ``, `{"count":1}`},
})

// The first name is the first word of the name, at most 30 characters, or the part before the @.
var provisionNameRows = rows(withJIT,
	provisioned("1", "a@corp.example", `,"Name":"  Ada Lovelace "`, "Ada"),
	provisioned("2", "b@corp.example", `,"Name":"`+strings.Repeat("ä", 31)+` x"`, strings.Repeat("ä", 30)),
	provisioned("3", "c@corp.example", `,"Name":"`+strings.Repeat("ä", 30)+`"`, strings.Repeat("ä", 30)),
	provisioned("4", "d.e@corp.example", `,"Name":" "`, "d.e"),
	provisioned("5", strings.Repeat("f", 31)+"@corp.example", ``, strings.Repeat("f", 30)),
)

func provisioned(subject, email, name, want string) []ruletest.Row {
	return []ruletest.Row{
		{"a name", "-", "sso => in", account(subject, email, name), `{"token":"(like) ."}`},
		{"a name", "-", "whoami <in.token>", ``, `{"user":{"email":"` + email + `","first_name":"` + want + `"}}`},
	}
}

// A user who has deleted the account may accept a new invitation and sign in.
var deletedIdentityRows = []ruletest.Row{
	{"console §5.2", "-", "sso => in", account("1", "bob@example.com"), `{"token":"(like) ."}`},
	{"§4.6", "bob", "leave @me", ``, `null`},
	{"§1.9 DELETE", "bob", "dropme", ``, `null`},
	{"§1.9 DELETE", "-", "session <in.token>", ``, `null`},
	{"§1.9 DELETE", "-", "sso", account("1", "bob@example.com"), `403 sso_no_account - There is no user with the address bob@example.com: ask for an invitation.`},
	{"§4.5", "ann", "invite => in", `{"target_email":"bob@example.com"}`, `{"level":1}`},
	{"§4.5", "-", "accept <in> <in.accept_url>", `{"first_name":"Bob"}`, `{"first_name":"Bob"}`},
	{"console §5.2 the first time again", "-", "sso => again", account("1", "bob@example.com"), `{"token":"(like) ."}`},
	{"console §5.2 the first time again", "-", "whoami <again.token>", ``, `{"user":{"first_name":"Bob"},"organization":{"level":1}}`},
}

// A user has accounts of at most ten providers.
func TestProvider_Limit(t *testing.T) {
	w := newSignInWorld(t, false)
	var list []ruletest.Row
	for n := range 10 {
		list = append(list, ruletest.Row{"up to ten", "-", "sso", fmt.Sprintf(`{"Issuer":"https://%d.example","Subject":"1","Email":"bob@example.com","Verified":true}`, n), `{"token":"(like) ."}`})
	}
	w.Run(t, w.calls(t), append(list,
		ruletest.Row{"the 11th", "-", "sso", account("1", "bob@example.com"), `403 sso_taken - bob@example.com is already linked to accounts of 10 providers.`},
		ruletest.Row{"the first still signs in", "-", "sso", `{"Issuer":"https://0.example","Subject":"1"}`, `{"token":"(like) ."}`},
	))
}

// provider is a Provider that no test calls.
type provider struct{}

func (provider) Name() string { return "Acme" }

func (provider) Begin(context.Context, string, string, string, string) (string, error) {
	return "", organizations.ErrProvider
}

func (provider) Finish(context.Context, string, string, string, string) (*organizations.Identity, error) {
	return nil, errors.ErrUnsupported
}

// console.md §5.2, Domains act: people of a domain with sso_enforcement sign in only by OIDC, except
// owners while there is no provider.
func TestProvider_Enforced(t *testing.T) {
	const enforced = `403 sso_enforced - Single sign-on is enforced for example.com: there is no other way to sign in.`
	for name, c := range map[string]struct {
		provider organizations.Provider
		owner    string // the response to the sign-in of an owner
	}{"without a provider": {nil, `{"email":"ann@example.com"}`}, "with a provider": {provider{}, enforced}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.ExternalData{}, false)
			w.Organizations.Provider = c.provider
			w.Run(t, w.calls(t), []ruletest.Row{
				{"§1.10", "ann", "newkey => anns", personal, `{"label":"k"}`},
				{"§1.10", "gus", "newkey => guss", personal, `{"label":"k"}`},
				{"§1.10", "dan", "newkey => dans", personal, `{"label":"k"}`},
				{"", "-", "signin => before", `{"key":"<guss.value>"}`, `{"email":"gus@example.com"}`},
				{"§4.4", "gus", "domain => it", `{"domain":"example.com"}`, `{"is_verified":false}`},
				{"§4.4", "-", "dns _posthog-challenge.example.com <it.verification_challenge>", ``, `null`},
				{"§4.4", "gus", "verify <it>", ``, `{"is_verified":true}`},
				{"console §5.2 off", "-", "signin", `{"key":"<guss.value>"}`, `{"email":"gus@example.com"}`},
				{"§4.4", "gus", "changedomain <it>", `{"sso_enforcement":"google-oauth2"}`, `{"sso_enforcement":"google-oauth2"}`},
				{"console §5.2 an administrator", "-", "signin", `{"key":"<guss.value>"}`, enforced},
				{"console §5.2 an owner", "-", "signin", `{"key":"<anns.value>"}`, c.owner},
				{"console §5.2 an owner of another organization", "-", "signin", `{"key":"<dans.value>"}`, enforced},
				{"console §5.2 no proof either", "-", "prove <before.token>", `{"key":"<guss.value>"}`, enforced},
				{"console §5.2 an invitation makes no session", "-", "signinvited " + uuid("bob"), ``, enforced},
				{"console §5.2 by OIDC", "-", "sso => in", account("1", "gus@example.com"), `{"token":"(like) ."}`},
				{"console §5.2 by OIDC", "-", "session <in.token>", ``, `{"email":"gus@example.com"}`},
				{"console §5.2 keys of programs stay", "-", "whose <guss.value>", ``, `{"first_name":"gus"}`},
				{"§4.4", "gus", "changedomain <it>", `{"sso_enforcement":""}`, `{"sso_enforcement":""}`},
				{"console §5.2 off again", "-", "signin", `{"key":"<dans.value>"}`, `{"email":"dan@example.com"}`},
			})
		})
	}
}
