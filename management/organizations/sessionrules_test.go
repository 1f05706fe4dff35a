package organizations_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
)

// Sessions follow console.md §5.1, and the ways to start one console.md §5.2.
func TestSessions_Rules(t *testing.T) {
	runSignInTables(t, false, map[string][]ruletest.Row{
		"proofs of identity": signInRows, "links": linkRows, "links of a user": manyLinksRows, "links at the start": ownerLinkRows, "idle": idleRows, "life": sessionLifeRows,
		"a new token": newTokenRows, "new proof": proofRows, "what needs it": provenRows, "keys": sessionOfKeyRows, "revoked keys": endedKeyRows, "lists": sessionListRows, "other users": otherSessionRows,
		"whoami": whoamiRows, "invited": invitedSessionRows, "without rights": formerUserRows,
	})
}

// personal is the body of a new personal key of all scopes.
const personal = `{"label":"k","scopes":["*"],"scoped_teams":[],"scoped_organizations":[]}`

const (
	badLink   = `401 authentication_failed - This link is invalid or has expired.`
	badKey    = `401 authentication_failed - This personal key is not valid.`
	oneProof  = `400 invalid_input - Send exactly one of link, key, mail_token and passkey.`
	noSession = `401 not_authenticated - There is no session.`
)

var signInRows = rows(
	[]ruletest.Row{
		{"§1.10", "bob", "newkey => own", personal, `{"label":"k"}`},
		{"§1.11", "gus", "rotate => secret", ``, `{"secret_api_token":"(like) ^phs_"}`},
		{"console §5.2 key", "-", "signin => in", `{"key":"<own.value>"}`, `{"token":"(like) ^[0-9A-Za-z_-]{43}$","email":"bob@example.com","method":"key"}`},
		{"console §5.2 key", "-", "session <in.token>", ``, `{"email":"bob@example.com","method":"key","agent":"Firefox"}`},
		{"a key with spaces around it", "-", "signin", `{"key":" <own.value>\n"}`, `{"email":"bob@example.com"}`},
		{"console §5.2 link", "-", "ownerlink ann@example.com => link", `true`, `{"token":"(like) ^[0-9A-Za-z_-]{43}$"}`},
		{"console §5.2 link", "-", "signin => linked", `{"link":"<link.token>"}`, `{"email":"ann@example.com","method":"link"}`},
	},
	each("console N2 exactly one", "-", "signin",
		[2]string{`{}`, oneProof},
		[2]string{`{"link":"a","key":"b"}`, oneProof},
		[2]string{`{"key":"b","mail_token":"c"}`, oneProof},
		[2]string{`{"key":"b","passkey":{}}`, oneProof},
		[2]string{`{"link":"","key":"b"}`, `400 blank link This field may not be blank.`},
		[2]string{`{"link":null}`, `400 null link This field may not be null.`},
		[2]string{`{"passkey":"x"}`, `400 not_a_dict passkey`},
		[2]string{`{"key":` + chars(200) + `}`, badKey},
		[2]string{`{"key":` + chars(201) + `}`, `400 max_length key`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	[]ruletest.Row{
		{"console §5.2 an unknown key", "-", "signin", `{"key":"phx_wrong"}`, badKey},
		{"§1.11 a secret key is no personal one", "-", "signin", `{"key":"<secret.secret_api_token>"}`, badKey + ` Keys that begin with phs_ are secret project keys`},
		{"console §5.2 a public key", "-", "signin", `{"key":"phc_ours"}`, badKey + ` Keys that begin with phc_ are public project keys`},
		{"console §5.2 a link is no key", "-", "signin", `{"link":"<own.value>"}`, badLink},
	},
)

// console.md §5.2: a link is valid for one use within 30 minutes, and its user can be read before.
var linkRows = []ruletest.Row{
	{"console §5.2", "-", "ownerlink => one", ``, `{"token":"(like) ."}`},
	{"console N2 look", "-", "linkemail", `{"link":"<one.token>"}`, `"ann@example.com"`},
	{"console N2 look does not use it", "-", "linkemail", `{"link":"<one.token>"}`, `"ann@example.com"`},
	{"console N2 look", "-", "linkemail", `{}`, `400 required link This field is required.`},
	{"console N2 look", "-", "linkemail", `{"link":"x"}`, `null`},
	{"console §5.2 mail_token is the same", "-", "signin", `{"mail_token":"<one.token>"}`, `{"email":"ann@example.com","method":"link"}`},
	{"console §5.2 one use", "-", "signin", `{"link":"<one.token>"}`, badLink},
	{"console §5.2 one use", "-", "linkemail", `{"link":"<one.token>"}`, `null`},
	{"made at 12:00:09", "-", "ownerlink => early", `true`, `{"token":"(like) ."}`},
	{"made at 12:00:10", "-", "ownerlink => late", `true`, `{"token":"(like) ."}`},
	{"to 12:30:06", "-", "wait 29m55s", ``, `null`},
	{"console §5.2 30 minutes less 2 seconds", "-", "linkemail", `{"link":"<early.token>"}`, `"ann@example.com"`},
	{"console §5.2 30 minutes less a second", "-", "signin", `{"link":"<early.token>"}`, `{"email":"ann@example.com"}`},
	{"to 12:30:09", "-", "wait 0s", ``, `null`},
	{"console §5.2 30 minutes", "-", "signin", `{"link":"<late.token>"}`, badLink},
}

// A user has at most eight links; a new one ends the oldest.
var manyLinksRows = rows(
	[]ruletest.Row{
		{"the 1st", "-", "ownerlink => first", `true`, `{"token":"(like) ."}`},
		{"the 2nd", "-", "ownerlink => second", `true`, `{"token":"(like) ."}`},
	},
	repeat(6, ruletest.Row{"the 3rd to the 8th", "-", "ownerlink", `true`, `{"token":"(like) ."}`}),
	[]ruletest.Row{
		{"eight are valid", "-", "linkemail", `{"link":"<first.token>"}`, `"ann@example.com"`},
		{"the 9th", "-", "ownerlink => ninth", `true`, `{"token":"(like) ."}`},
		{"the 9th ends the first", "-", "linkemail", `{"link":"<first.token>"}`, `null`},
		{"the second stays", "-", "linkemail", `{"link":"<second.token>"}`, `"ann@example.com"`},
		{"other users have their own", "-", "ownerlink dan@example.com", `true`, `{"token":"(like) ."}`},
		{"other users have their own", "-", "linkemail", `{"link":"<second.token>"}`, `"ann@example.com"`},
	},
)

// console.md §5.2: the server prints a link until the first sign-in of the owner, or with
// --sign-in-link.
var ownerLinkRows = []ruletest.Row{
	{"console §5.2 the owner", "-", "ownerlink dan@example.com => dan", ``, `{"token":"(like) ."}`},
	{"console §5.2 the owner", "-", "linkemail", `{"link":"<dan.token>"}`, `"dan@example.com"`},
	{"in another case", "-", "ownerlink DAN@example.com => upper", ``, `{"token":"(like) ."}`},
	{"in another case", "-", "linkemail", `{"link":"<upper.token>"}`, `"dan@example.com"`},
	{"an address of no owner: the first one", "-", "ownerlink gus@example.com => gus", ``, `{"token":"(like) ."}`},
	{"an address of no owner: the first one", "-", "linkemail", `{"link":"<gus.token>"}`, `"ann@example.com"`},
	{"console §5.2 never signed in", "-", "ownerlink ann@example.com => again", ``, `{"token":"(like) ."}`},
	{"console §5.2", "-", "signin", `{"link":"<again.token>"}`, `{"email":"ann@example.com"}`},
	{"console §5.2 signed in once", "-", "ownerlink ann@example.com", ``, `{"token":""}`},
	{"console §5.2 when asked", "-", "ownerlink ann@example.com", `true`, `{"token":"(like) ."}`},
	{"console §5.2 another owner", "-", "ownerlink dan@example.com", ``, `{"token":"(like) ."}`},
	{"an inactive owner is none", "-", "setuser ann", `{"inactive":true}`, `null`},
	{"an inactive owner is none", "-", "ownerlink ann@example.com => other", ``, `{"token":"(like) ."}`},
	{"an inactive owner is none", "-", "linkemail", `{"link":"<other.token>"}`, `"dan@example.com"`},
	{"nobody", "-", "setuser dan", `{"inactive":true}`, `null`},
	{"nobody", "-", "ownerlink ann@example.com", `true`, `{"token":""}`},
}

// console.md §5.1, Life: a session ends after 12 hours without use, and seen_at changes at most
// every minute.
var idleRows = []ruletest.Row{
	{"§1.10", "bob", "newkey => own", personal, `{"label":"k"}`},
	{"started at 12:00:02", "-", "signin => in", `{"key":"<own.value>"}`, `{"method":"key"}`},
	{"to 12:01:00", "-", "wait 57s", ``, `null`},
	{"console §5.1 after 59 seconds", "-", "session <in.token>", ``, `{"seen":"2026-01-02T12:00:02Z"}`},
	{"console §5.1 after a minute", "-", "session <in.token>", ``, `{"seen":"2026-01-02T12:01:02Z"}`},
	{"console §5.1 it is stored", "-", "peek <in.token>", ``, `{"seen":"2026-01-02T12:01:02Z","proven":"2026-01-02T12:00:02Z"}`},
	{"to 00:00:58", "-", "wait 11h59m54s", ``, `null`},
	{"console §5.1 not a use", "-", "peek <in.token>", ``, `{"seen":"2026-01-02T12:01:02Z"}`},
	{"console §5.1 12 hours less 2 seconds", "-", "session <in.token>", ``, `{"seen":"2026-01-03T00:01:00Z"}`},
	{"to 12:00:59 of the next day", "-", "wait 11h59m58s", ``, `null`},
	{"console §5.1 12 hours", "-", "session <in.token>", ``, `null`},
	{"console §5.1 12 hours", "-", "peek <in.token>", ``, `null`},
	{"console §5.1 an unknown token", "-", "session x", ``, `null`},
	{"console §5.1 no token", "-", "session", ``, `null`},
}

// console.md §5.1, Life: a session in use ends after 30 days.
var sessionLifeRows = rows(
	[]ruletest.Row{
		{"§1.10", "bob", "newkey => own", personal, `{"label":"k"}`},
		{"started at 12:00:02", "-", "signin => in", `{"key":"<own.value>"}`, `{"method":"key"}`},
	},
	// 60 uses at intervals of 11h59m50s end 10 minutes less than 30 days after the start.
	repeat(60, ruletest.Row{"", "-", "wait 11h59m48s", ``, `null`}, ruletest.Row{"console §5.1 in use", "-", "session <in.token>", ``, `{"email":"bob@example.com"}`}),
	[]ruletest.Row{
		{"expires_at is the end of the 30 days", "-", "whoami <in.token>", ``, `{"expires_at":"2026-02-01T12:00:02Z"}`},
		{"to 30 days less 2 seconds", "-", "wait 9m56s", ``, `null`},
		{"console §5.1 30 days less a second", "-", "session <in.token>", ``, `{"email":"bob@example.com"}`},
		{"console §5.1 30 days", "-", "session <in.token>", ``, `null`},
	},
)

// console.md §5.1, New token: the browser's former session ends at a sign-in.
var newTokenRows = []ruletest.Row{
	{"§1.10", "bob", "newkey => own", personal, `{"label":"k"}`},
	{"§1.10", "cyd", "newkey => cyds", personal, `{"label":"k"}`},
	{"console §5.1", "-", "signin => first", `{"key":"<own.value>"}`, `{"method":"key"}`},
	{"console §5.1 a refused sign-in ends nothing", "-", "signin <first.token>", `{"key":"phx_wrong"}`, badKey},
	{"console §5.1 a refused sign-in ends nothing", "-", "session <first.token>", ``, `{"email":"bob@example.com"}`},
	{"console §5.1 another user in the same browser", "-", "signin <first.token> => second", `{"key":"<cyds.value>"}`, `{"email":"cyd@example.com"}`},
	{"console §5.1 the old one ends", "-", "session <first.token>", ``, `null`},
	{"console §5.1 one sent along is not taken over", "-", "signin made-up => third", `{"key":"<own.value>"}`, `{"token":"(like) ^[0-9A-Za-z_-]{43}$"}`},
	{"console §5.1 one sent along is not taken over", "-", "session made-up", ``, `null`},
	{"console §5.1 End", "-", "signout <third.token>", ``, `null`},
	{"console §5.1 End", "-", "session <third.token>", ``, `null`},
	{"console §5.1 only that one", "-", "session <second.token>", ``, `{"email":"cyd@example.com"}`},
	{"a key has no session to end", "bob", "signout", ``, `403 permission_denied - There is no session to end: this request used a key.`},
}

// console.md §5.1, New proof: the session gets a new token, and keeps its rights and its end.
var proofRows = []ruletest.Row{
	{"§1.10", "ann", "newkey => all", personal, `{"label":"k"}`},
	{"§1.10", "ann", "newkey => less", `{"label":"less","scopes":["user:read"],"scoped_teams":[],"scoped_organizations":[]}`, `{"label":"less"}`},
	{"§1.10", "ann", "newkey => bounded", `{"label":"P","scopes":["*"],"scoped_teams":[1],"scoped_organizations":[]}`, `{"label":"P"}`},
	{"§1.10", "ann", "newkey => ofours", `{"label":"O","scopes":["*"],"scoped_teams":[],"scoped_organizations":["` + ours + `"]}`, `{"label":"O"}`},
	{"§1.10", "bob", "newkey => bobs", personal, `{"label":"k"}`},
	{"console §5.2", "-", "ownerlink ann@example.com => link", ``, `{"token":"(like) ."}`},
	{"started at 12:00:07", "-", "signin => in", `{"link":"<link.token>"}`, `{"method":"link"}`},
	{"N1 proof_until", "-", "whoami <in.token>", ``, `{"proof_until":"2026-01-02T12:10:07Z","expires_at":"2026-01-03T00:00:07Z"}`},
	{"console §5.1 another user's", "-", "prove <in.token>", `{"key":"<bobs.value>"}`, `403 permission_denied - This proves the identity of another user than the one who is signed in.`},
	{"console §5.1 fewer scopes", "-", "prove <in.token>", `{"key":"<less.value>"}`, `403 permission_denied - This key has fewer permissions than the session: confirm with a key that has all permissions.`},
	{"console §5.1 fewer projects", "-", "prove <in.token>", `{"key":"<bounded.value>"}`, `403 permission_denied - This key has fewer permissions than the session: confirm with a key that has all permissions.`},
	{"console §5.1 fewer organizations", "-", "prove <in.token>", `{"key":"<ofours.value>"}`, `403 permission_denied - This key has fewer permissions than the session: confirm with a key that has all permissions.`},
	{"console §5.1 nothing proven", "-", "prove <in.token>", `{}`, oneProof},
	{"console §5.1 the old token is still valid", "-", "peek <in.token>", ``, `{"proven":"2026-01-02T12:00:07Z"}`},
	{"console §5.1", "-", "prove <in.token> => again", `{"key":"<all.value>"}`, `{"token":"(like) ^[0-9A-Za-z_-]{43}$"}`},
	{"console §5.1 the old one ends", "-", "session <in.token>", ``, `null`},
	{"console §5.1 started by the link still", "-", "session <again.token>", ``, `{"method":"link","proven":"2026-01-02T12:00:15Z","scopes":["*"]}`},
	{"N1 proof_until", "-", "whoami <again.token>", ``, `{"proof_until":"2026-01-02T12:10:15Z"}`},
	{"another user's link", "-", "ownerlink dan@example.com => dans", ``, `{"token":"(like) ."}`},
	{"another user's link", "-", "prove <again.token>", `{"link":"<dans.token>"}`, `403 permission_denied - This proves the identity of another user`},
	{"which it does not use up", "-", "signin", `{"link":"<dans.token>"}`, `{"email":"dan@example.com"}`},
	{"console §5.1 of keys", "bob", "prove", `{"key":"<bobs.value>"}`, `403 permission_denied - There is no session: requests with a key need no further proof.`},
	{"console §5.1 a session of the restricted key", "-", "signin => small", `{"key":"<less.value>"}`, `{"method":"key"}`},
	{"console §5.1 the same key proves it", "-", "prove <small.token> => same", `{"key":"<less.value>"}`, `{"token":"(like) ."}`},
	{"console §5.1 so does one of all rights", "-", "prove <same.token> => more", `{"key":"<all.value>"}`, `{"token":"(like) ."}`},
	{"console §5.1 that key's scopes, for good", "-", "session <more.token>", ``, `{"scopes":["user:read"],"key":"<less>"}`},
}

const proofRequired = `403 proof_required - Verify your identity with POST /api/session/proof/, then send this request again.`

// console.md §5.1, New proof: changing one's address and removing an owner need a proof within 10
// minutes.
var provenRows = []ruletest.Row{
	{"§4.6", "ann", "level " + uuid("gus"), `{"level":15}`, `{"level":15}`},
	{"console §5.2", "-", "ownerlink ann@example.com => link", ``, `{"token":"(like) ."}`},
	{"started at 12:00:03", "-", "signin => in", `{"link":"<link.token>"}`, `{"method":"link"}`},
	{"to 12:10:00", "-", "wait 9m56s", ``, `null`},
	{"console §5.1 10 minutes less 2 seconds", "-", "changemyself <in.token>", `{"email":"a@example.com"}`, `{"email":"a@example.com"}`},
	{"console §5.1 10 minutes less a second", "-", "levelby <in.token> " + uuid("gus"), `{"level":8}`, `{"level":8}`},
	{"console §5.1 10 minutes", "-", "changemyself <in.token>", `{"email":"b@example.com"}`, proofRequired},
	{"what it is already needs none", "-", "changemyself <in.token>", `{"email":"a@example.com"}`, `{"email":"a@example.com"}`},
	{"other fields need none", "-", "changemyself <in.token>", `{"first_name":"Ann"}`, `{"first_name":"Ann"}`},
	{"console §5.1 to make an owner needs none", "-", "levelby <in.token> " + uuid("gus"), `{"level":15}`, `{"level":15}`},
	{"console §5.1 an owner who stays one", "-", "levelby <in.token> " + uuid("gus"), `{"level":15}`, `{"level":15}`},
	{"console §5.1 removing an owner", "-", "levelby <in.token> " + uuid("gus"), `{"level":8}`, proofRequired},
	{"console §5.1 other members need none", "-", "levelby <in.token> " + uuid("bob"), `{"level":8}`, `{"level":8}`},
	{"console §5.1 no proof for keys", "ann", "level " + uuid("gus"), `{"level":1}`, `{"level":1}`},
}

// console.md §5.1, Rights: a session of a key has that key's scopes and limits.
var sessionOfKeyRows = []ruletest.Row{
	{"§1.10", "bob", "newkey => own", `{"label":"P","scopes":["user:write","dashboard:read"],"scoped_teams":[1],"scoped_organizations":[]}`, `{"label":"P"}`},
	{"console §5.1", "-", "signin => in", `{"key":"<own.value>"}`, `{"method":"key"}`},
	{"console §5.1", "-", "session <in.token>", ``, `{"scopes":["user:write","dashboard:read"],"projects":[1],"key":"<own>"}`},
	{"N1 scopes", "-", "whoami <in.token>", ``, `{"method":"key","scopes":["user:write","dashboard:read"],"projects":[{"id":1}]}`},
	{"console §5.1 no organization", "-", "levelby <in.token> @me", `{"level":1}`, `403 permission_denied - API keys with scoped projects are only supported on project-based endpoints.`},
	{"§1.10", "bob", "newkey => all", personal, `{"label":"k"}`},
	{"console §5.1", "-", "signin => ofKey", `{"key":"<all.value>"}`, `{"method":"key"}`},
	{"console §5.2", "-", "signinvited " + uuid("bob") + " => ofNone", ``, `{"token":"(like) ."}`},
	{"§1.5 members_can_use_personal_api_keys", "gus", "changeorganization", `{"members_can_use_personal_api_keys":false}`, `{"members_can_use_personal_api_keys":false}`},
	{"§1.5 of a personal key", "-", "levelby <ofKey.token> @me", `{"level":1}`, `403 permission_denied - Organization 'Ours' does not allow using personal API keys.`},
	{"§1.5 of the user", "-", "levelby <ofNone.token> @me", `{"level":1}`, `403 permission_denied - You can't change your own access level.`},
}

// console.md §5.1, End: a key that is revoked or rolled ends the sessions that were created from it.
var endedKeyRows = []ruletest.Row{
	{"§1.10", "bob", "newkey => first", personal, `{"label":"k"}`},
	{"§1.10", "bob", "newkey => second", personal, `{"label":"k"}`},
	{"console §5.1", "-", "signin => ofFirst", `{"key":"<first.value>"}`, `{"method":"key"}`},
	{"console §5.1", "-", "signin => ofSecond", `{"key":"<second.value>"}`, `{"method":"key"}`},
	{"a change of the key's scopes counts", "bob", "changekey <second>", `{"scopes":["user:read"]}`, `{"scopes":["user:read"]}`},
	{"a change of the key's scopes counts", "-", "session <ofSecond.token>", ``, `{"scopes":["user:read"]}`},
	{"console §5.1 rolled", "bob", "rollkey <first>", ``, `{"label":"k"}`},
	{"console §5.1 rolled", "-", "session <ofFirst.token>", ``, `null`},
	{"console §5.1 revoked", "bob", "dropkey <second>", ``, `null`},
	{"console §5.1 revoked", "-", "session <ofSecond.token>", ``, `null`},
	{"they are not listed", "bob", "sessions", ``, `{"count":0,"results":[]}`},
}

// console.md N3: the user's own sessions.
var sessionListRows = []ruletest.Row{
	{"§1.10", "bob", "newkey => own", personal, `{"label":"k"}`},
	{"started at 12:00:02", "-", "signin => first", `{"key":"<own.value>"}`, `{"method":"key"}`},
	{"started at 12:00:03", "-", "signin => second", `{"key":"<own.value>"}`, `{"method":"key"}`},
	{"N3 newest first", "-", "sessions <first.token>", ``, `{"count":2,"results":[
		{"id":"<second.id>","created_at":"2026-01-02T12:00:03Z","seen_at":"2026-01-02T12:00:03Z","expires_at":"2026-01-03T00:00:03Z","method":"key","address":"192.0.2.1","agent":"Firefox","current":false},
		{"id":"<first.id>","created_at":"2026-01-02T12:00:02Z","current":true}]}`},
	{"N3 with a key none is the current one", "bob", "sessions", ``, `{"count":2,"results":[{"current":false},{"current":false}]}`},
	{"§3 limit and offset", "bob", "sessions", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"id":"<first.id>"}]}`},
	{"§3 beyond the end", "bob", "sessions", `{"Limit":1,"Offset":2}`, `{"count":2,"results":[]}`},
	{"N3 one of them", "-", "endsession <first.token> <second.id>", ``, `null`},
	{"N3 one of them", "-", "session <second.token>", ``, `null`},
	{"N3 it is gone", "-", "endsession <first.token> <second.id>", ``, notFound},
	{"§1.10", "-", "signin => third", `{"key":"<own.value>"}`, `{"method":"key"}`},
	{"N3 ended ones are not listed", "-", "wait 11h59m53s", ``, `null`},
	{"N3 ended ones are not listed", "bob", "sessions", ``, `{"count":1,"results":[{"id":"<third.id>"}]}`},
	{"N3 others=true", "-", "signin => fourth", `{"key":"<own.value>"}`, `{"method":"key"}`},
	{"N3 others=true", "-", "endothers <fourth.token>", ``, `null`},
	{"N3 others=true", "-", "session <third.token>", ``, `null`},
	{"N3 not the one of the request", "-", "session <fourth.token>", ``, `{"email":"bob@example.com"}`},
	{"N3 a key ends all", "bob", "endothers", ``, `null`},
	{"N3 a key ends all", "-", "session <fourth.token>", ``, `null`},
}

var otherSessionRows = []ruletest.Row{
	{"§1.10", "bob", "newkey => bobs", personal, `{"label":"k"}`},
	{"§1.10", "cyd", "newkey => cyds", personal, `{"label":"k"}`},
	{"console §5.1", "-", "signin => bob", `{"key":"<bobs.value>"}`, `{"email":"bob@example.com"}`},
	{"console §5.1", "-", "signin => cyd", `{"key":"<cyds.value>"}`, `{"email":"cyd@example.com"}`},
	{"N3 own ones", "-", "sessions <cyd.token>", ``, `{"count":1,"results":[{"id":"<cyd.id>"}]}`},
	{"N3 own ones", "-", "endsession <cyd.token> <bob.id>", ``, notFound},
	{"N3 own ones", "-", "endothers <cyd.token>", ``, `null`},
	{"N3 own ones", "-", "session <bob.token>", ``, `{"email":"bob@example.com"}`},
	{"N3 unknown", "-", "endsession <bob.token> " + nowhere, ``, notFound},
}

// console.md N1: who the caller is and which projects the caller reaches.
var whoamiRows = []ruletest.Row{
	{"N1 a key", "bob", "whoami", ``, `{"user":{"email":"bob@example.com"},"method":"key","scopes":["*"],"organization":{"id":"` + ours + `","name":"Ours","level":1},
		"projects":[{"id":1,"name":"P","level":1,"timezone":"UTC"}],"project":1,"proof_until":null,"expires_at":null,"language":null}`},
	{"N1 no project that is out of reach", "eve", "whoami", ``, `{"organization":{"name":"Ours"},"projects":[],"project":null}`},
	{"N1 the time zone", "bob", "changeproject", `{"timezone":"Europe/Oslo"}`, `{"timezone":"Europe/Oslo"}`},
	{"§5.9", "bob", "neworganization => other", `{"name":"Other"}`, `{"name":"Other"}`},
	{"N1 all organizations", "bob", "whoami", ``, `{"organization":{"id":"<other>","level":15},"projects":[{"id":1,"level":1,"timezone":"Europe/Oslo"},{"id":3,"level":15}],"project":3}`},
	{"N1 the current project", "bob", "changeme", `{"set_current_team":1}`, `{"team":{"id":1}}`},
	{"N1 the current project", "bob", "whoami", ``, `{"organization":{"id":"` + ours + `"},"project":1}`},
	{"N1 one that is out of reach now", "gus", "changeproject 1", `{"access_control":true}`, `{"access_control":true}`},
	{"N1 one that is out of reach now", "bob", "whoami", ``, `{"projects":[{"id":3}],"project":3}`},
	{"§1.10", "bob", "newkey => bounded", `{"label":"O","scopes":["*"],"scoped_teams":[],"scoped_organizations":["<other>"]}`, `{"label":"O"}`},
	{"§1.10", "ann", "newkey => anns", `{"label":"none","scopes":["user:read"],"scoped_teams":[1],"scoped_organizations":[]}`, `{"label":"none"}`},
	{"console §5.1", "-", "signin => in", `{"key":"<bounded.value>"}`, `{"method":"key"}`},
	{"N1 the organizations of the key", "-", "whoami <in.token>", ``, `{"projects":[{"id":3}]}`},
	{"§5.8", "ann", "newproject", `{"name":"Second"}`, `{"id":4}`},
	{"N1 the user's projects", "ann", "whoami", ``, `{"projects":[{"id":1},{"id":4}]}`},
	{"console §5.1", "-", "signin => out", `{"key":"<anns.value>"}`, `{"method":"key"}`},
	{"N1 the projects of the key", "-", "whoami <out.token>", ``, `{"projects":[{"id":1}],"project":1}`},
}

// console.md §5.2, Invitation: accepting also creates a session.
var invitedSessionRows = []ruletest.Row{
	{"§4.5", "ann", "invite => in", `{"target_email":"new@example.com"}`, `{"level":1}`},
	{"§4.5", "-", "accept <in> <in.accept_url> => new", `{"first_name":"New"}`, `{"uuid":"(like) ."}`},
	{"console §5.2", "-", "signinvited <new.uuid> => session", ``, `{"token":"(like) ^[0-9A-Za-z_-]{43}$"}`},
	{"console §5.2", "-", "session <session.token>", ``, `{"email":"new@example.com","method":"invitation","scopes":["*"],"key":""}`},
	{"§1.10", "bob", "newkey => bobs", `{"label":"k","scopes":["user:read"],"scoped_teams":[],"scoped_organizations":[]}`, `{"label":"k"}`},
	{"with a key of the user", "-", "signinvited " + uuid("bob") + " => ofKey", `<bobs.value>`, `{"token":"(like) ."}`},
	{"with a key of the user", "-", "session <ofKey.token>", ``, `{"email":"bob@example.com","method":"key","scopes":["user:read"]}`},
	{"with a key of another user", "-", "signinvited <new.uuid>", `<bobs.value>`, `401 authentication_failed - This user has not accepted the invitation.`},
	{"with no key that exists", "-", "signinvited <new.uuid>", `phx_wrong`, badKey},
	{"nobody", "-", "signinvited " + nowhere, ``, `401 authentication_failed - This user has not accepted the invitation.`},
	{"an inactive user", "-", "signinvited " + uuid("fay"), ``, `401 authentication_failed - This user is not active, or not a member of any organization.`},
}

// console.md §5.1, End: the sessions of inactive users and of users without membership are invalid.
var formerUserRows = []ruletest.Row{
	{"§1.10", "bob", "newkey => bobs", personal, `{"label":"k"}`},
	{"§1.10", "cyd", "newkey => cyds", personal, `{"label":"k"}`},
	{"console §5.1", "-", "signin => bob", `{"key":"<bobs.value>"}`, `{"email":"bob@example.com"}`},
	{"console §5.1", "-", "signin => cyd", `{"key":"<cyds.value>"}`, `{"email":"cyd@example.com"}`},
	{"console §5.1 inactive", "-", "setuser bob", `{"inactive":true}`, `null`},
	{"console §5.1 inactive", "-", "session <bob.token>", ``, `null`},
	{"console §5.1 inactive", "-", "signin", `{"key":"<bobs.value>"}`, `401 authentication_failed - This user is not active, or not a member of any organization.`},
	{"console §5.1 active again", "-", "setuser bob", `{"inactive":false}`, `null`},
	{"console §5.1 active again", "-", "session <bob.token>", ``, `{"email":"bob@example.com"}`},
	{"console §5.1 without a membership", "ann", "leave " + uuid("cyd"), ``, `null`},
	{"console §5.1 without a membership", "-", "session <cyd.token>", ``, `null`},
	{"console §5.1 without a membership", "-", "whoami <cyd.token>", ``, noSession},
	{"console §5.1 without a membership", "-", "signin", `{"key":"<cyds.value>"}`, `401 authentication_failed - This user is not active, or not a member of any organization.`},
}

// Mails with links follow console.md §5.2, Mail.
func TestSessions_MailRules(t *testing.T) {
	runSignInTables(t, true, map[string][]ruletest.Row{"mails": {
		{"made at 12:00:01", "-", "maillink bob@example.com", ``, `null`},
		{"console §5.2 an unknown address answers the same", "-", "maillink nobody@example.com", ``, `null`},
		{"console §5.2 one mail", "-", "deliver => mail", ``, `{"to":"bob@example.com","subject":"Sign in to Bunting","text":"(like) The link works once, until 2 January 2026, 12:15 UTC\\.","next":null}`},
		{"to 12:14:59", "-", "wait 14m55s", ``, `null`},
		{"console §5.2 15 minutes less a second", "-", "linkemail", `{"link":"<mail.token>"}`, `"bob@example.com"`},
		{"console §5.2 15 minutes", "-", "signin", `{"mail_token":"<mail.token>"}`, badLink},
		{"made at 12:15:02", "-", "maillink bob@example.com", ``, `null`},
		{"the mail server is down", "-", "refuse down", ``, `null`},
		{"the mail server is down", "-", "deliver", ``, `{"failed":"(like) down$"}`},
		{"a later attempt has a link of its own", "-", "wait 1m", ``, `null`},
		{"with the end of the first", "-", "deliver => second", ``, `{"to":"bob@example.com","text":"(like) until 2 January 2026, 12:30 UTC"}`},
		{"console §5.2", "-", "signin", `{"mail_token":"<second.token>"}`, `{"email":"bob@example.com","method":"mail"}`},
		{"made at 12:16:08", "-", "maillink bob@example.com", ``, `null`},
		{"a mail that is too late is not sent", "-", "wait 14m58s", ``, `null`},
		{"a mail that is too late is not sent", "-", "deliver", ``, `{"to":"","next":null}`},
		{"§2.2 no address", "-", "maillink bob", ``, `400 invalid_input email Enter a valid email address.`},
	}})
	runSignInTables(t, false, map[string][]ruletest.Row{"without a mail server": {
		{"console §5.2", "-", "maillink bob@example.com", ``, `400 not_supported - This server does not send emails.`},
	}})
}

// A user who signs in for the fifty-first time keeps the newest fifty sessions; expired
// sessions do not count.
func TestSessions_EndedOnesMakeRoom(t *testing.T) {
	w := newSignInWorld(t, false)
	w.Run(t, w.calls(t), rows(
		[]ruletest.Row{{"§1.10", "bob", "newkey => own", personal, `{"label":"k"}`}},
		repeat(2, ruletest.Row{"", "-", "signin", `{"key":"<own.value>"}`, `{"method":"key"}`}),
		[]ruletest.Row{{"these two end", "-", "wait 13h", ``, `null`}, {"", "-", "signin => first", `{"key":"<own.value>"}`, `{"method":"key"}`}},
		repeat(49, ruletest.Row{"", "-", "signin", `{"key":"<own.value>"}`, `{"method":"key"}`}),
		[]ruletest.Row{
			{"the 50th ends none", "-", "session <first.token>", ``, `{"email":"bob@example.com"}`},
			{"the 50th ends none", "bob", "sessions", `{"Limit":1}`, `{"count":50}`},
			{"the 51st", "-", "signin", `{"key":"<own.value>"}`, `{"method":"key"}`},
			{"the 51st", "-", "session <first.token>", ``, `null`},
			{"the 51st", "bob", "sessions", `{"Limit":1}`, `{"count":50}`},
		},
	))
}

// A cut User-Agent is valid UTF-8: 299 bytes and a character of two bytes become 299 bytes.
func TestSessions_Agent(t *testing.T) {
	w := newSignInWorld(t, false)
	link, err := w.Organizations.Sessions.OwnerLink(t.Context(), "", "", true)
	if err != nil {
		t.Fatal(err)
	}
	_, c, err := w.Organizations.Sessions.Begin(t.Context(), organizations.SignIn{Body: ruletest.Body(t, `{"link":`+strconv.Quote(link)+`}`), Agent: strings.Repeat("x", 299) + "é"})
	if err != nil || c.Session.Agent != strings.Repeat("x", 299) {
		t.Errorf("%+v, %v", c, err)
	}
}
