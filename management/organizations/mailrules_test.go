package organizations_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Mails follow §4.5 and decision 22. The call deliver returns the recipients, the content of the
// last mail, and when to deliver next.
func TestMails_Rules(t *testing.T) {
	runAllTables(t, true, map[string][]ruletest.Row{
		"invitations": mailRows, "not sent": unsentRows, "the joined": joinedRows, "words": wordRows, "without a name": namelessRows, "again": againRows, "refused": rejectedMailRows,
	})
}

var mailRows = []ruletest.Row{
	{"decision 22 true from the moment it is in the outbox", "bob", "invite => in", `{"target_email":"a@example.com"}`, `{"emailing_attempt_made":true,"accept_url":"(absent)"}`},
	{"§4.5", "-", "deliver => mail", ``, `{"to":"a@example.com","id":"<in>","next":null,"failed":"","link":"(like) ^https://flags.example.com/signup/<in>\\?secret=[0-9A-Za-z_-]{43}$"}`},
	{"§4.5 once", "-", "deliver", ``, `{"to":"","next":null}`},
	{"decision 22 the secret of the mail", "-", "accept <in> <mail.link>", `{"first_name":"A"}`, `{"first_name":"A","email":"a@example.com","is_email_verified":true,"redirect_url":"https://flags.example.com/"}`},
	{"§4.5 all of a bulk", "bob", "bulk", people(3), `[{"emailing_attempt_made":true},{"emailing_attempt_made":true},{"emailing_attempt_made":true}]`},
	{"§4.5 member-joined mails and three invitations", "-", "deliver", ``, `{"to":"(like) pa@example.com pb@example.com pc@example.com$","failed":""}`},
}

var unsentRows = []ruletest.Row{
	{"§4.5 send_email", "bob", "invite => handed", `{"target_email":"a@example.com","send_email":false}`, `{"emailing_attempt_made":false,"accept_url":"(like) ^https://flags.example.com/signup/"}`},
	{"§4.5 send_email", "-", "deliver", ``, `{"to":"","next":null}`},
	{"§4.5 it is not proof of the address", "-", "accept <handed> <handed.accept_url>", `{"first_name":"A"}`, `{"is_email_verified":null}`},
	{"§4.5", "-", "deliver", ``, `{"subject":"A has joined Ours"}`},
	{"decision 22 cancelled", "bob", "invite => gone", `{"target_email":"b@example.com"}`, `{"emailing_attempt_made":true}`},
	{"decision 22 cancelled", "gus", "uninvite <gone>", ``, `null`},
	{"decision 22 cancelled", "-", "deliver", ``, `{"to":"","next":null}`},
	{"decision 22 replaced", "bob", "invite", `{"target_email":"c@example.com"}`, `{"emailing_attempt_made":true}`},
	{"decision 22 replaced", "bob", "invite => second", `{"target_email":"c@example.com"}`, `{"emailing_attempt_made":true}`},
	{"decision 22 replaced: one mail", "-", "deliver", ``, `{"to":"c@example.com","id":"<second>"}`},
	{"decision 22 expired ones are never mailed", "bob", "invite", `{"target_email":"d@example.com"}`, `{"emailing_attempt_made":true}`},
	{"decision 22 expired ones are never mailed", "-", "wait 72h", ``, `null`},
	{"decision 22 expired ones are never mailed", "-", "deliver", ``, `{"to":"","next":null}`},
	{"decision 22 nor void ones", "gus", "invite", `{"target_email":"e@example.com","level":8}`, `{"emailing_attempt_made":true}`},
	{"decision 22 nor void ones", "ann", "level " + uuid("gus"), `{"level":1}`, `{"level":1}`},
	{"decision 22 nor void ones", "-", "deliver", ``, `{"to":"","next":null}`},
	{"§2.2 what was refused is not mailed", "bob", "bulk", `[{"target_email":"f@example.com"},{}]`, `400 required __1__target_email`},
	{"§2.2 what was refused is not mailed", "-", "deliver", ``, `{"to":"","next":null}`},
}

// §4.5: all other active members get a mail about a new member.
var joinedRows = []ruletest.Row{
	{"§4.5", "bob", "invite => in", `{"target_email":"zoe@example.com","send_email":false}`, `{"level":1}`},
	{"§4.5", "-", "accept <in> <in.accept_url>", `{"first_name":"Zoe"}`, `{"first_name":"Zoe"}`},
	{"§4.5 who is inactive gets none", "-", "deliver", ``, `{"to":"(like) ^(?:(?:ann|bob|cyd|eve|gus)@example.com ?){5}$","subject":"Zoe has joined Ours","text":"(like) Zoe \\(zoe@example.com\\) has accepted an invitation to the organization Ours"}`},
	{"§5.9 is_member_join_email_enabled", "gus", "changeorganization", `{"is_member_join_email_enabled":false}`, `{"is_member_join_email_enabled":false}`},
	{"§5.9 is_member_join_email_enabled", "bob", "invite => second", `{"target_email":"yan@example.com","send_email":false}`, `{"level":1}`},
	{"§5.9 is_member_join_email_enabled", "-", "accept <second> <second.accept_url>", `{"first_name":"Yan"}`, `{"first_name":"Yan"}`},
	{"§5.9 is_member_join_email_enabled", "-", "deliver", ``, `{"to":"","next":null}`},
}

// User input cannot add markup, headers or lines to a mail.
var wordRows = []ruletest.Row{
	{"§4.5", "ann", "changeorganization", `{"name":"A <b>&\nB"}`, `{"name":"A <b>&\nB"}`},
	{"§4.5", "bob", "changeme", `{"first_name":"Bob\r\nBcc: x@evil.example","last_name":"<i>"}`, `{"last_name":"<i>"}`},
	{"§4.5", "bob", "invite", `{"target_email":"a@example.com","first_name":"Nina","message":"Hi <there>\nsee you"}`, `{"message":"Hi <there>\nsee you"}`},
	{"§4.5 the subject is one line", "-", "deliver => mail", ``, `{"subject":"Bob Bcc: x@evil.example <i> invites you to A <b>& B","text":"(like) ^Hello Nina,\\n\\nBob Bcc: x@evil.example <i> invites you to the organization A <b>& B\\.\\n\\nHi <there>\\nsee you\\n\\nAccept the invitation:\\nhttps://"}`},
}

// A user without a name appears with the e-mail address, and a deleted user as "Somebody".
var namelessRows = []ruletest.Row{
	{"§4.5", "bob", "setuser bob", `{"first_name":"","last_name":" "}`, `null`},
	{"§4.5", "bob", "invite => in", `{"target_email":"a@example.com"}`, `{"level":1}`},
	{"§4.5", "-", "deliver", ``, `{"subject":"bob@example.com invites you to Ours","text":"(like) ^Hello,\n\nbob@example.com invites you"}`},
}

// A mail that fails temporarily is retried after 10 seconds, then after intervals that double up to
// a quarter of an hour.
var againRows = []ruletest.Row{
	{"decision 22", "bob", "invite => in", `{"target_email":"a@example.com"}`, `{"created_at":"2026-01-02T12:00:01Z"}`},
	{"the 1st", "-", "refuse down", ``, `null`}, {"", "-", "deliver", ``, `{"to":"","failed":"(like) attempt 1: down$","next":"2026-01-02T12:00:13Z"}`},
	{"not before", "-", "deliver", ``, `{"to":"","failed":"","next":"2026-01-02T12:00:13Z"}`},
	{"the 2nd", "-", "wait 9s", ``, `null`}, {"", "-", "refuse down", ``, `null`}, {"", "-", "deliver", ``, `{"failed":"(like) attempt 2: down$","next":"2026-01-02T12:00:36Z"}`},
	{"the 3rd", "-", "wait 20s", ``, `null`}, {"", "-", "refuse down", ``, `null`}, {"", "-", "deliver", ``, `{"failed":"(like) attempt 3: down$","next":"2026-01-02T12:01:19Z"}`},
	{"the 4th", "-", "wait 1m", ``, `null`}, {"", "-", "refuse down", ``, `null`}, {"", "-", "deliver", ``, `{"failed":"(like) attempt 4","next":"2026-01-02T12:03:02Z"}`},
	{"the 5th", "-", "wait 2m", ``, `null`}, {"", "-", "refuse down", ``, `null`}, {"", "-", "deliver", ``, `{"failed":"(like) attempt 5","next":"2026-01-02T12:06:25Z"}`},
	{"the 6th", "-", "wait 4m", ``, `null`}, {"", "-", "refuse down", ``, `null`}, {"", "-", "deliver", ``, `{"failed":"(like) attempt 6","next":"2026-01-02T12:13:08Z"}`},
	{"the 7th", "-", "wait 8m", ``, `null`}, {"", "-", "refuse down", ``, `null`}, {"", "-", "deliver", ``, `{"failed":"(like) attempt 7","next":"2026-01-02T12:26:31Z"}`},
	{"the 8th: a quarter of an hour", "-", "wait 15m", ``, `null`}, {"", "-", "refuse down", ``, `null`}, {"", "-", "deliver", ``, `{"failed":"(like) attempt 8","next":"2026-01-02T12:45:54Z"}`},
	{"the 9th", "-", "wait 20m", ``, `null`}, {"", "-", "deliver => mail", ``, `{"to":"a@example.com","failed":"","next":null}`},
	{"decision 22 its secret works", "-", "accept <in> <mail.link>", `{"first_name":"A"}`, `{"first_name":"A"}`},
}

var rejectedMailRows = []ruletest.Row{
	{"decision 22", "bob", "bulk", people(2), `[{"target_email":"pa@example.com"},{"target_email":"pb@example.com"}]`},
	{"for good", "-", "refuse for good", ``, `null`},
	{"for good: the others go out", "-", "deliver", ``, `{"to":"pb@example.com","failed":"(like) the mail server has permanently rejected the mail","next":null}`},
	{"for good: not again", "-", "wait 24h", ``, `null`},
	{"for good: not again", "-", "deliver", ``, `{"to":"","next":null}`},
	{"for good: the invitation stays", "bob", "invites", ``, `{"count":2}`},
}

// The HTML form has the same content as the text, escaped.
func TestMails_HTML(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, true)
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§4.5", "bob", "invite", `{"target_email":"a@example.com","message":"1 < 2 & \"so\"\nbye"}`, `{"emailing_attempt_made":true}`},
		{"§4.5", "-", "deliver", ``, `{"html":"(like) <p>1 &lt; 2 &amp; &#34;so&#34;<br>\nbye</p>\n<p><a href=\"https://flags.example.com/signup/"}`},
	})
}

// Without SMTP no mail is queued and no call fails; with it the SiteURL is required.
func TestMails_NoServer(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	w.Run(t, w.calls(t), []ruletest.Row{
		{"decision 22", "bob", "invite", `{"target_email":"a@example.com"}`, `{"emailing_attempt_made":false}`},
		{"decision 22", "-", "deliver", ``, `{"to":"","next":null,"failed":""}`},
	})
	if _, err := rooms.Open(rooms.Config{Store: w.Store, Mailer: w}); err == nil {
		t.Error("a mail server without a site's address")
	}
	if _, err := organizations.New(organizations.Config{Mailer: w, SiteURL: testURL}); err != nil {
		t.Error(err)
	}
}
