package organizations_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/notices"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// sentToday returns the record of the mails that an account has sent on a day.
func sentToday(account, day string, n int) management.Record {
	return management.Record{Kind: "mail_count", ID: account, Data: fmt.Appendf(nil, `{"day":%q,"n":%d}`, day, n)}
}

const mailLimit = `400 mail_limit - The limit of 500 emails per day has been reached.`

// An organization, and a user in all organizations, may send 500 mails on a UTC day.
func TestMails_Limits(t *testing.T) {
	for name, c := range map[string]struct {
		record management.Record
		rows   []ruletest.Row
	}{
		"of the organization": {sentToday("organization/"+ours, "2026-01-02", 499), []ruletest.Row{
			{"the 500th", "bob", "invite", `{"target_email":"a@example.com"}`, `{"emailing_attempt_made":true}`},
			{"the 501st", "bob", "invite", `{"target_email":"b@example.com"}`, mailLimit},
			{"the 501st of another member", "cyd", "invite", `{"target_email":"b@example.com"}`, mailLimit},
			{"a refused one makes no invitation", "bob", "invites", ``, `{"count":1}`},
			{"without a mail", "bob", "invite", `{"target_email":"b@example.com","send_email":false}`, `{"emailing_attempt_made":false}`},
			{"of another organization", "dan", "invite", `{"target_email":"b@example.com"}`, `{"emailing_attempt_made":true}`},
			{"a refused replacement leaves the first", "bob", "invite", `{"target_email":"a@example.com","level":1}`, mailLimit},
			{"a refused replacement leaves the first", "bob", "invites", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"target_email":"a@example.com"}]}`},
			{"to 23:59:58", "-", "wait 11h59m49s", ``, `null`},
			{"the last second of the day", "bob", "invite", `{"target_email":"c@example.com"}`, mailLimit},
			{"the next day", "bob", "invite", `{"target_email":"c@example.com"}`, `{"emailing_attempt_made":true}`},
		}},
		"of the inviter": {sentToday("inviter/"+uuid("bob"), "2026-01-02", 500), []ruletest.Row{
			{"the 501st", "bob", "invite", `{"target_email":"a@example.com"}`, mailLimit},
			{"of another member", "cyd", "invite", `{"target_email":"a@example.com"}`, `{"emailing_attempt_made":true}`},
			{"confirmations are counted apart", "bob", "changeme", `{"email":"new@example.com"}`, `{"pending_email":"new@example.com"}`},
		}},
		"of an earlier day": {sentToday("organization/"+ours, "2026-01-01", 500), []ruletest.Row{
			{"the first of the day", "bob", "invite", `{"target_email":"a@example.com"}`, `{"emailing_attempt_made":true}`},
		}},
		"a bulk": {sentToday("organization/"+ours, "2026-01-02", 498), []ruletest.Row{
			{"one too many", "bob", "bulk", people(3), mailLimit},
			{"all or none", "bob", "invites", ``, `{"count":0}`},
			{"all or none", "-", "deliver", ``, `{"to":""}`},
			{"none was counted", "bob", "bulk", people(2), `[{"emailing_attempt_made":true},{"emailing_attempt_made":true}]`},
		}},
		"confirmations": {sentToday("user/"+uuid("bob"), "2026-01-02", 19), []ruletest.Row{
			{"the 20th", "bob", "changeme", `{"email":"a@example.com"}`, `{"pending_email":"a@example.com"}`},
			{"the 21st", "bob", "changeme", `{"email":"b@example.com"}`, `400 mail_limit - The limit of 20 emails per day has been reached.`},
			{"the 21st", "bob", "me", ``, `{"email":"bob@example.com","pending_email":"a@example.com"}`},
			{"other fields", "bob", "changeme", `{"first_name":"Robert"}`, `{"first_name":"Robert","pending_email":"a@example.com"}`},
			{"cancelling needs no mail", "bob", "changeme", `{"email":"bob@example.com"}`, `{"pending_email":null}`},
			{"invitations are counted apart", "bob", "invite", `{"target_email":"a@example.com"}`, `{"emailing_attempt_made":true}`},
		}},
		// Five active members would get a mail, and the organization may send two more.
		"joining": {sentToday("organization/"+ours, "2026-01-02", 498), []ruletest.Row{
			{"", "bob", "invite => in", `{"target_email":"zoe@example.com","send_email":false}`, `{"level":1}`},
			{"who joins is not held up", "-", "accept <in> <in.accept_url>", `{"first_name":"Zoe"}`, `{"first_name":"Zoe"}`},
			{"the oldest members", "-", "deliver", ``, `{"to":"ann@example.com bob@example.com"}`},
			{"the others are reported", "-", "reports", ``, `["mail: members who are not notified that a member has joined: 3; an organization sends at most 500 emails per day"]`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.ExternalData{}, true)
			w.putRecords(t, c.record)
			calls := w.calls(t)
			calls["reports"] = func(callScope, string, string) (any, error) {
				out := []string{}
				for _, d := range w.results {
					out = append(out, d.Job+": "+d.Failure)
				}
				return out, nil
			}
			w.Run(t, calls, c.rows)
		})
	}
}

// waiting returns the record of a mail in the outbox about a user who has joined. It is due at a time,
// and is not sent if there is no such user.
func waiting(id, user string, due time.Time) management.Record {
	mail := map[string]any{"id": id, "joined": user, "organization": ours, "to": id + "@example.com", "created_at": management.NewStamp(ruletest.Start)}
	return management.Record{Kind: "mail", ID: id, Sort: storage.SortTime(due), Data: storage.Encode(mail)}
}

// One call of Deliver sends at most 100 mails, and returns the time of the next call.
func TestMails_Batch(t *testing.T) {
	many := func(n int, user string) (out []management.Record) {
		for i := range n {
			out = append(out, waiting(fmt.Sprintf("m%03d", i), user, ruletest.Start))
		}
		return out
	}
	for name, c := range map[string]struct {
		records []management.Record
		sent    []int // by each of the calls, one second apart
		next    []string
	}{
		"100 mails":            {many(100, uuid("bob")), []int{100, 0}, []string{`"2026-01-02T12:00:01Z"`, `null`}},
		"101 mails":            {many(101, uuid("bob")), []int{100, 1}, []string{`"2026-01-02T12:00:01Z"`, `null`}},
		"99 mails":             {many(99, uuid("bob")), []int{99, 0}, []string{`null`, `null`}},
		"100 void mails":       {append(many(100, nowhere), waiting("z", uuid("bob"), ruletest.Start)), []int{0, 1}, []string{`"2026-01-02T12:00:01Z"`, `null`}},
		"99 void mails":        {append(many(99, nowhere), waiting("z", uuid("bob"), ruletest.Start)), []int{1, 0}, []string{`null`, `null`}},
		"one of later":         {[]management.Record{waiting("z", uuid("bob"), ruletest.Start.Add(2*time.Second))}, []int{0, 1}, []string{`"2026-01-02T12:00:02Z"`, `null`}},
		"one of now":           {[]management.Record{waiting("z", uuid("bob"), ruletest.Start.Add(time.Second))}, []int{1, 0}, []string{`null`, `null`}},
		"one of a microsecond": {[]management.Record{waiting("z", uuid("bob"), ruletest.Start.Add(time.Second+time.Microsecond))}, []int{0, 1}, []string{`"2026-01-02T12:00:01.000001Z"`, `null`}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.ExternalData{}, true)
			w.putRecords(t, c.records...)
			for i := range c.sent {
				w.Clock, w.mails = w.Clock.Add(time.Second), nil
				next, err := w.Organizations.Mails.Deliver(t.Context())
				if got := string(storage.Encode(management.NewStamp(next))); err != nil || len(w.mails) != c.sent[i] || got != c.next[i] {
					t.Errorf("call %d: %d mails, next at %s, %v, want %d and %s", i, len(w.mails), got, err, c.sent[i], c.next[i])
				}
			}
		})
	}
}

// The backlog is the number of waiting mails, and the age of the oldest.
func TestMails_Backlog(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, true)
	backlog := func(want int, since time.Time) {
		t.Helper()
		if n, oldest, err := w.Organizations.Mails.Backlog(t.Context()); n != want || !oldest.Equal(since) || err != nil {
			t.Errorf("%d mails since %v, %v, want %d since %v", n, oldest, err, want, since)
		}
	}
	backlog(0, time.Time{})
	w.Run(t, w.calls(t), []ruletest.Row{
		{"made at 12:00:01", "bob", "invite", `{"target_email":"a@example.com"}`, `{"level":1}`},
		{"made at 12:00:02", "bob", "invite", `{"target_email":"b@example.com"}`, `{"level":1}`},
		{"the first is retried later", "-", "refuse down", ``, `null`},
		{"the first is retried later", "-", "deliver", ``, `{"to":"b@example.com"}`},
	})
	backlog(1, ruletest.Start.Add(time.Second))
	w.Run(t, w.calls(t), []ruletest.Row{
		{"made at 12:00:05", "bob", "invite", `{"target_email":"c@example.com"}`, `{"level":1}`},
	})
	backlog(2, ruletest.Start.Add(time.Second))
}

// Each attempt to mail has a secret of its own. The newest 32 of an invitation are valid, and the
// newest 8 of a pending address.
func TestMails_Secrets(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, true)
	secrets := map[string][]string{} // by the recipient
	w.Organizations.Mailer = mailerFunc(func(_ context.Context, m organizations.Mail) error {
		_, secret, _ := strings.Cut(m.Text, "?secret=")
		secret, _, _ = strings.Cut(secret, "\n")
		secrets[m.To] = append(secrets[m.To], secret)
		return errors.New("down")
	})
	w.Run(t, w.calls(t), []ruletest.Row{
		{"", "bob", "invite => in", `{"target_email":"a@example.com"}`, `{"level":1}`},
		{"", "bob", "changeme", `{"email":"new@example.com"}`, `{"pending_email":"new@example.com"}`},
	})
	attempts := func(to string, n int) {
		t.Helper()
		for len(secrets[to]) < n {
			if _, err := w.Organizations.Mails.Deliver(t.Context()); err == nil {
				t.Fatal("the mail server is down")
			}
			w.Clock = w.Clock.Add(15 * time.Minute)
		}
	}
	attempts("new@example.com", 9)
	for i, want := range []string{"invalid_token", ""} {
		if _, err := w.Organizations.Account.Confirm(t.Context(), uuid("bob"), secrets["new@example.com"][i]); errorCode(t, err) != want {
			t.Errorf("secret %d of 9 of an address: %v, want %q", i+1, err, want)
		}
	}
	attempts("a@example.com", 33)
	list, err := w.Organizations.Invites.List(t.Context(), w.Scope(t, "bob"), management.Page{Limit: 1})
	if err != nil || len(list.Results) != 1 {
		t.Fatal(list, err)
	}
	id := list.Results[0].ID
	for i, want := range map[int]bool{0: false, 1: true, 32: true} {
		if _, err := w.Organizations.Invites.Form(t.Context(), id, secrets["a@example.com"][i]); err == nil != want {
			t.Errorf("secret %d of 33 of an invitation: %v, want valid: %v", i+1, err, want)
		}
	}
}

// Recipients of a notice must be active and have access to the project, when it is queued and when
// it is sent.
func TestNotices_Rules(t *testing.T) {
	notice := func(t *testing.T, w *world, users ...int64) (queued bool) {
		t.Helper()
		err := w.Store.Write(t.Context(), func(tx rooms.Tx) (err error) {
			queued, err = w.Organizations.QueueNotice(tx, notices.Notice{
				Project: ruletest.Project, Users: users, Subject: "It\r\nfires", Lines: []string{"Hello <you>,", "it fires."}, Links: []notices.Link{{Label: "Open & see", Path: "/project/1"}},
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return queued
	}
	for name, c := range map[string]struct {
		before, after []ruletest.Row // before the notice is queued, and before it is sent
		users         []int64
		queued        bool
		to            string
	}{
		"members":              {users: []int64{1, 2}, queued: true, to: "ann@example.com bob@example.com"},
		"nobody":               {queued: false},
		"a user of elsewhere":  {users: []int64{4}, queued: false},
		"without access":       {users: []int64{5}, queued: false},
		"inactive":             {users: []int64{6}, queued: false},
		"unknown":              {users: []int64{99}, queued: false},
		"some of them":         {users: []int64{4, 5, 2, 99}, queued: true, to: "bob@example.com"},
		"left since":           {users: []int64{2, 3}, after: []ruletest.Row{{"", "bob", "leave @me", ``, `null`}}, queued: true, to: "cyd@example.com"},
		"inactive since":       {users: []int64{2}, after: []ruletest.Row{{"", "bob", "setuser bob", `{"inactive":true}`, `null`}}, queued: true},
		"private since":        {users: []int64{2, 7}, after: []ruletest.Row{{"", "gus", "changeproject", `{"access_control":true}`, `{"access_control":true}`}}, queued: true, to: "gus@example.com"},
		"another address":      {users: []int64{2}, after: []ruletest.Row{{"", "bob", "setuser bob", `{"email":"b@example.com"}`, `null`}}, queued: true, to: "b@example.com"},
		"the project is gone":  {users: []int64{2}, after: []ruletest.Row{{"", "gus", "dropproject", ``, `null`}}, queued: true},
		"the project was gone": {users: []int64{2}, before: []ruletest.Row{{"", "gus", "dropproject", ``, `null`}}, queued: false},
		"three days later":     {users: []int64{2}, after: []ruletest.Row{{"", "-", "wait 72h", ``, `null`}}, queued: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.ExternalData{}, true)
			w.Run(t, w.calls(t), c.before)
			if queued := notice(t, w, c.users...); queued != c.queued {
				t.Errorf("queued: %v, want %v", queued, c.queued)
			}
			w.Run(t, w.calls(t), append(c.after, ruletest.Row{"sent", "-", "deliver", ``, `{"to":"` + c.to + `","next":null,"failed":""}`}))
		})
	}
	t.Run("texts", func(t *testing.T) {
		w := newWorld(t, memstore.ExternalData{}, true)
		w.Run(t, w.calls(t), []ruletest.Row{{"", "bob", "changeproject", `{"name":"A\n<b>"}`, `{"id":1}`}})
		notice(t, w, 2)
		w.Run(t, w.calls(t), []ruletest.Row{{"clients §9.4", "-", "deliver", ``, `{"subject":"It fires",
			"text":"Hello <you>,\n\nit fires.\n\nOpen & see:\nhttps://flags.example.com/project/1\n\nYou receive this email because you are subscribed in the project A <b>.\n",
			"html":"(like) <p>Hello &lt;you&gt;,</p>\n<p>it fires\\.</p>\n<p><a href=\"https://flags.example.com/project/1\">Open &amp; see</a></p>\n<p>[^<]*the project A &lt;b&gt;\\.</p>"}`}})
	})
	// An organization sends 500 notices on a day, apart from its other mails.
	t.Run("limit", func(t *testing.T) {
		w := newWorld(t, memstore.ExternalData{}, true)
		w.putRecords(t, sentToday("notices/"+ours, "2026-01-02", 499), sentToday("organization/"+ours, "2026-01-02", 500))
		if !notice(t, w, 5, 1, 2) || notice(t, w, 2) { // eve has no access and does not count
			t.Error("want the 500th notice, and no 501st")
		}
		w.Run(t, w.calls(t), []ruletest.Row{
			{"the 500th", "-", "deliver", ``, `{"to":"ann@example.com"}`},
			{"the next day", "-", "wait 12h", ``, `null`},
		})
		if !notice(t, w, 2) {
			t.Error("no notice on the next day")
		}
	})
}

// mailerFunc is a mailer that is a function.
type mailerFunc func(context.Context, organizations.Mail) error

func (f mailerFunc) Send(ctx context.Context, m organizations.Mail) error { return f(ctx, m) }

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
