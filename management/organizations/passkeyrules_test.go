package organizations_test

import (
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Passkeys follow console.md §5.2 and N4. The challenges of a world are challenge-1, challenge-2 and
// so on, and an answer must have a counter above that of the answer before.
func TestPasskeys_Rules(t *testing.T) {
	runSignInTables(t, false, map[string][]ruletest.Row{
		"adding": addPasskeyRows, "signing in": passkeySignInRows, "challenges": challengeRows, "time": challengeLifeRows, "sites": passkeySiteRows, "lists": passkeyListRows,
		"names": passkeyNameRows, "as a proof": passkeyProofRows, "users": passkeyUserRows,
	})
}

const (
	badAnswer    = `400 invalid_input passkey The browser's response is invalid, or was not requested in the last five minutes: try again.`
	notRequested = `401 authentication_failed - This passkey was not requested, or the request is older than five minutes: try again.`
	badPasskey   = `401 authentication_failed - This passkey is not registered here, or its response is invalid.`
	noPasskeys   = `409 conflict - Passkeys do not work at this address: they require a domain name instead of an IP address, and HTTPS or http://localhost.`
)

// answerOf returns the answer of a browser to a challenge with a passkey.
func answerOf(challenge int, id string, counter int) string {
	return fmt.Sprintf(`{"challenge":"challenge-%d","id":%q,"counter":%d}`, challenge, id, counter)
}

// newPasskey returns the body that adds a passkey, and proofBy that which signs in with one.
func newPasskey(challenge int, id string) string {
	return `{"name":"` + id + `","passkey":` + answerOf(challenge, id, 1) + `}`
}

func proofBy(challenge int, id string, counter int) string {
	return `{"passkey":` + answerOf(challenge, id, counter) + `}`
}

var addPasskeyRows = rows(
	[]ruletest.Row{
		{"N4 options", "bob", "newoptions", ``, `{"challenge":"challenge-1","user":"bob@example.com","excluded":0}`},
		{"N4 POST", "bob", "newpasskey => it", newPasskey(1, "laptop"), `{"id":"(like) ^[0-9a-f-]{36}$","name":"laptop","created_at":"2026-01-02T12:00:02Z","used_at":null,"credential":"(absent)","user":"(absent)"}`},
		{"one answer for a challenge", "bob", "newpasskey", newPasskey(1, "other"), badAnswer},
		{"N4 those that the user has are excluded", "bob", "newoptions", ``, `{"challenge":"challenge-2","excluded":1}`},
		{"the same passkey again", "bob", "newpasskey", newPasskey(2, "laptop"), `400 unique passkey This passkey is already registered.`},
		{"the same passkey for another user", "cyd", "newoptions", ``, `{"challenge":"challenge-3","user":"cyd@example.com","excluded":0}`},
		{"the same passkey for another user", "cyd", "newpasskey", newPasskey(3, "laptop"), `400 unique passkey This passkey is already registered.`},
		{"a refused one leaves the challenge", "cyd", "newpasskey", newPasskey(3, "phone"), `{"name":"phone"}`},
		{"an invalid answer", "bob", "newpasskey", `{"name":"x","passkey":{"challenge":"challenge-2","id":"x","counter":0}}`, badAnswer},
		{"an unreadable answer", "bob", "newpasskey", `{"name":"x","passkey":{"challenge":7}}`, badAnswer},
	},
	each("N4 fields", "bob", "newpasskey",
		[2]string{`{"passkey":{}}`, `400 required name This field is required.`},
		[2]string{`{"name":"x"}`, `400 required passkey This field is required.`},
		[2]string{`{"name":" ","passkey":{}}`, `400 blank name This field may not be blank.`},
		[2]string{`{"name":` + chars(61) + `,"passkey":{}}`, `400 max_length name Ensure this field has no more than 60 characters.`},
		[2]string{`{"name":"x","passkey":"y"}`, `400 not_a_dict passkey`},
		[2]string{`{"name":` + chars(60) + `,"passkey":` + answerOf(2, "tablet", 1) + `}`, `{"name":` + chars(60) + `}`},
	),
)

var passkeySignInRows = []ruletest.Row{
	{"N4", "bob", "newoptions", ``, `{"challenge":"challenge-1"}`},
	{"N4", "bob", "newpasskey => it", newPasskey(1, "laptop"), `{"used_at":null}`},
	{"console §5.2 options for anybody", "-", "loginoptions", ``, `{"challenge":"challenge-2","user":"","excluded":0}`},
	{"console §5.2", "-", "signin => in", proofBy(2, "laptop", 2), `{"email":"bob@example.com","method":"passkey"}`},
	{"console §5.2 all rights of the user", "-", "session <in.token>", ``, `{"scopes":["*"],"key":""}`},
	{"N4 used_at", "bob", "passkeys", ``, `{"count":1,"results":[{"id":"<it>","created_at":"2026-01-02T12:00:02Z","used_at":"2026-01-02T12:00:04Z"}]}`},
	{"one answer for a challenge", "-", "signin", proofBy(2, "laptop", 3), notRequested},
	{"console §5.2", "-", "loginoptions", ``, `{"challenge":"challenge-3"}`},
	{"console §5.2 counters are checked", "-", "signin", proofBy(3, "laptop", 2), badPasskey},
	{"console §5.2 an unknown passkey", "-", "signin", proofBy(3, "other", 9), badPasskey},
	{"console §5.2 an unreadable answer", "-", "signin", `{"passkey":{"challenge":7}}`, badPasskey},
	{"console §5.2 the next counter", "-", "signin", proofBy(3, "laptop", 3), `{"email":"bob@example.com"}`},
	{"N4 DELETE", "bob", "droppasskey <it>", ``, `null`},
	{"N4 DELETE", "-", "loginoptions", ``, `{"challenge":"challenge-4"}`},
	{"N4 DELETE", "-", "signin", proofBy(4, "laptop", 4), badPasskey},
	{"sessions of a deleted passkey stay", "-", "session <in.token>", ``, `{"email":"bob@example.com"}`},
}

// A challenge is for one purpose and one user.
var challengeRows = []ruletest.Row{
	{"", "-", "loginoptions", ``, `{"challenge":"challenge-1"}`},
	{"one for signing in adds none", "bob", "newpasskey", newPasskey(1, "laptop"), badAnswer},
	{"", "bob", "newoptions", ``, `{"challenge":"challenge-2"}`},
	{"one of another user adds none", "cyd", "newpasskey", newPasskey(2, "laptop"), badAnswer},
	{"the user's own", "bob", "newpasskey", newPasskey(2, "laptop"), `{"name":"laptop"}`},
	{"", "bob", "newoptions", ``, `{"challenge":"challenge-3"}`},
	{"one for adding signs nobody in", "-", "signin", proofBy(3, "laptop", 2), notRequested},
	{"one that nobody made", "-", "signin", proofBy(99, "laptop", 2), notRequested},
	{"the first is still valid", "-", "signin", proofBy(1, "laptop", 2), `{"email":"bob@example.com"}`},
}

// A browser has five minutes for its answer.
var challengeLifeRows = []ruletest.Row{
	{"", "bob", "newoptions", ``, `{"challenge":"challenge-1"}`},
	{"", "bob", "newpasskey", newPasskey(1, "laptop"), `{"name":"laptop"}`},
	{"made at 12:00:03", "-", "loginoptions", ``, `{"challenge":"challenge-2"}`},
	{"made at 12:00:04", "-", "loginoptions", ``, `{"challenge":"challenge-3"}`},
	{"made at 12:00:05", "bob", "newoptions", ``, `{"challenge":"challenge-4"}`},
	{"to 12:05:01", "-", "wait 4m55s", ``, `null`},
	{"5 minutes less a second", "-", "signin", proofBy(2, "laptop", 2), `{"email":"bob@example.com"}`},
	{"", "-", "wait 0s", ``, `null`},
	{"5 minutes", "-", "signin", proofBy(3, "laptop", 3), notRequested},
	{"5 minutes", "bob", "newpasskey", newPasskey(4, "phone"), badAnswer},
}

// console.md §5.2: not on bare IP addresses.
var passkeySiteRows = []ruletest.Row{
	{"console §5.2", "bob", "newoptions elsewhere", ``, noPasskeys},
	{"console §5.2", "-", "loginoptions elsewhere", ``, noPasskeys},
	{"console §5.2", "bob", "newoptions", ``, `{"challenge":"challenge-1"}`},
	{"console §5.2", "bob", "newpasskey elsewhere", newPasskey(1, "laptop"), noPasskeys},
	{"console §5.2", "bob", "newpasskey", newPasskey(1, "laptop"), `{"name":"laptop"}`},
}

var passkeyListRows = []ruletest.Row{
	{"", "bob", "newoptions", ``, `{"challenge":"challenge-1"}`},
	{"", "bob", "newpasskey => first", newPasskey(1, "laptop"), `{"name":"laptop"}`},
	{"", "bob", "newoptions", ``, `{"challenge":"challenge-2"}`},
	{"", "bob", "newpasskey => second", newPasskey(2, "phone"), `{"name":"phone"}`},
	{"N4 newest first", "bob", "passkeys", ``, `{"count":2,"results":[{"id":"<second>","name":"phone"},{"id":"<first>","name":"laptop"}]}`},
	{"§3 limit and offset", "bob", "passkeys", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"id":"<first>"}]}`},
	{"N4 own ones", "cyd", "passkeys", ``, `{"count":0,"results":[]}`},
	{"N4 own ones", "cyd", "renamepasskey <first>", `{"name":"mine"}`, notFound},
	{"N4 own ones", "cyd", "droppasskey <first>", ``, notFound},
	{"N4 DELETE", "bob", "droppasskey <first>", ``, `null`},
	{"N4 DELETE", "bob", "droppasskey <first>", ``, notFound},
	{"N4 DELETE", "bob", "passkeys", ``, `{"count":1,"results":[{"id":"<second>"}]}`},
}

var passkeyNameRows = rows(
	[]ruletest.Row{
		{"", "bob", "newoptions", ``, `{"challenge":"challenge-1"}`},
		{"", "bob", "newpasskey => it", newPasskey(1, "laptop"), `{"name":"laptop"}`},
	},
	each("N4 PATCH", "bob", "renamepasskey <it>",
		[2]string{`{"name":"desk"}`, `{"id":"<it>","name":"desk","created_at":"2026-01-02T12:00:02Z","used_at":null}`},
		[2]string{`{}`, `{"name":"desk"}`},
		[2]string{`{"name":""}`, `400 blank name This field may not be blank.`},
		[2]string{`{"name":` + chars(61) + `}`, `400 max_length name`},
		[2]string{`{"name":null}`, `400 null name`},
	),
	[]ruletest.Row{
		{"N4 PATCH", "bob", "renamepasskey " + nowhere, `{"name":"x"}`, notFound},
		{"the passkey still signs in", "-", "loginoptions", ``, `{"challenge":"challenge-2"}`},
		{"the passkey still signs in", "-", "signin", proofBy(2, "laptop", 2), `{"email":"bob@example.com"}`},
		{"N4", "bob", "passkeys", ``, `{"results":[{"name":"desk"}]}`},
	},
)

// console.md §5.1: a passkey renews a proof.
var passkeyProofRows = []ruletest.Row{
	{"", "bob", "newoptions", ``, `{"challenge":"challenge-1"}`},
	{"", "bob", "newpasskey", newPasskey(1, "laptop"), `{"name":"laptop"}`},
	{"", "cyd", "newoptions", ``, `{"challenge":"challenge-2"}`},
	{"", "cyd", "newpasskey", newPasskey(2, "phone"), `{"name":"phone"}`},
	asBob,
	{"", "-", "loginoptions", ``, `{"challenge":"challenge-3"}`},
	{"console §5.1 another user's", "-", "prove <me.token>", proofBy(3, "phone", 2), `403 permission_denied - This proves the identity of another user`},
	{"console §5.1", "-", "prove <me.token> => again", proofBy(3, "laptop", 2), `{"token":"(like) ."}`},
	{"console §5.1", "-", "session <again.token>", ``, `{"method":"invitation","proven":"2026-01-02T12:00:08Z"}`},
}

// A passkey signs in only active users, and no users of a domain with enforced single sign-on.
var passkeyUserRows = []ruletest.Row{
	{"", "bob", "newoptions", ``, `{"challenge":"challenge-1"}`},
	{"", "bob", "newpasskey", newPasskey(1, "laptop"), `{"name":"laptop"}`},
	{"", "-", "loginoptions", ``, `{"challenge":"challenge-2"}`},
	{"inactive", "-", "setuser bob", `{"inactive":true}`, `null`},
	{"inactive", "-", "signin", proofBy(2, "laptop", 2), `401 authentication_failed - This user is not active, or not a member of any organization.`},
	{"active again", "-", "setuser bob", `{"inactive":false}`, `null`},
	{"what was refused has counted nothing", "-", "signin", proofBy(2, "laptop", 2), `{"email":"bob@example.com"}`},
	{"§4.4", "gus", "domain => it", `{"domain":"example.com"}`, `{"is_verified":false}`},
	{"§4.4", "-", "dns _posthog-challenge.example.com <it.verification_challenge>", ``, `null`},
	{"§4.4", "gus", "verify <it>", ``, `{"is_verified":true}`},
	{"§4.4", "gus", "changedomain <it>", `{"sso_enforcement":"saml"}`, `{"sso_enforcement":"saml"}`},
	{"", "-", "loginoptions", ``, `{"challenge":"challenge-3"}`},
	{"console §5.2 sso_enforced", "-", "signin", proofBy(3, "laptop", 3), `403 sso_enforced - Single sign-on is enforced for example.com: there is no other way to sign in.`},
	{"§4.6", "bob", "leave @me", ``, `null`},
	{"§1.9 a deleted user", "bob", "dropme", ``, `null`},
	{"§1.9 a deleted user", "-", "signin", proofBy(3, "laptop", 3), badPasskey},
}

// A user has at most 20 passkeys, also when several challenges are open.
func TestPasskeys_Limit(t *testing.T) {
	w := newSignInWorld(t, false)
	for n := range 19 {
		id := fmt.Sprintf("0191f0a2-5b1c-7d3e-8f40-3000%08d", n)
		w.putRecords(t, management.Record{Kind: "passkey", Parent: uuid("bob"), ID: id, Unique: id, Data: storage.Encode(map[string]any{"id": id, "credential": map[string]any{}})})
	}
	const full = `400 invalid_input - A user may have no more than 20 passkeys: remove one first.`
	w.Run(t, w.calls(t), []ruletest.Row{
		{"N4", "bob", "newoptions", ``, `{"challenge":"challenge-1","excluded":19}`},
		{"N4", "bob", "newoptions", ``, `{"challenge":"challenge-2"}`},
		{"the 20th", "bob", "newpasskey => last", newPasskey(1, "laptop"), `{"name":"laptop"}`},
		{"the 21st", "bob", "newpasskey", newPasskey(2, "phone"), full},
		{"the 21st", "bob", "newoptions", ``, full},
		{"of each user", "cyd", "newoptions", ``, `{"challenge":"challenge-3"}`},
		{"one less", "bob", "droppasskey <last>", ``, `null`},
		{"one less", "bob", "newpasskey", newPasskey(2, "phone"), `{"name":"phone"}`},
	})
}

// Without Authenticators there are no passkeys.
func TestPasskeys_None(t *testing.T) {
	w := newSignInWorld(t, false)
	w.Organizations.Authenticators = nil
	w.Run(t, w.calls(t), []ruletest.Row{
		{"console §5.2", "bob", "newoptions", ``, noPasskeys},
		{"console §5.2", "-", "loginoptions", ``, noPasskeys},
		{"console §5.2", "bob", "newpasskey", newPasskey(1, "laptop"), noPasskeys},
		{"console §5.2", "-", "signin", proofBy(1, "laptop", 1), noPasskeys},
	})
}
