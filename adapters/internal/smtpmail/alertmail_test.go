package smtpmail_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/smtptest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/rooms"
)

// addInsight adds a project with an insight with one number as its result.
func (d *testServer) addInsight(t *testing.T) (scope *management.Scope, insight *dashboards.Insight) {
	t.Helper()
	err := d.store.Write(t.Context(), func(tx rooms.Tx) error {
		return tx.PutProject(&management.ProjectRecord{ID: 1, Organization: testOrg, Name: "P & <Q>", APIKey: "phc_p", CreatedAt: testStart})
	})
	if err != nil {
		t.Fatal(err)
	}
	if scope, err = d.Project(t.Context(), d.owner.Caller, "1"); err != nil {
		t.Fatal(err)
	}
	insight, err = d.Dashboards.Insights.Create(t.Context(), scope, bodyOf(t, `{"name":"I","query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"buy"}],"trendsFilter":{"display":"BoldNumber"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return scope, insight
}

// addAlert creates an alert for users that fires above 10.
func (d *testServer) addAlert(t *testing.T, scope *management.Scope, insight *dashboards.Insight, name, users string) *dashboards.Alert {
	t.Helper()
	a, err := d.Dashboards.Alerts.Create(t.Context(), scope, bodyOf(t, fmt.Sprintf(
		`{"name":%q,"insight":%q,"subscribed_users":%s,"threshold":{"configuration":{"type":"absolute","bounds":{"upper":10}}}}`, name, insight.ShortID, users)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (d *testServer) checkAlerts(t *testing.T) {
	t.Helper()
	if _, err := d.Dashboards.Alerts.CheckDue(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// record returns the JSON of a value in a record.
func record(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// addMember adds a member to the organization.
func (d *testServer) addMember(t *testing.T, name string, inactive bool) int64 {
	t.Helper()
	u := management.User{UUID: "0191f0a2-5b1c-7d3e-8f40-20000000000" + name, FirstName: name, Email: name + "@example.com", Inactive: inactive}
	err := d.store.Write(t.Context(), func(tx rooms.Tx) (err error) {
		if u.ID, err = tx.Next("user"); err == nil {
			err = tx.Put(&management.Record{Kind: "user", ID: u.UUID, Sort: fmt.Sprintf("%020d", u.ID), Unique: management.EmailKey(u.Email), Data: record(t, &u)})
		}
		if err != nil {
			return err
		}
		member := management.Membership{ID: u.UUID, Organization: testOrg, User: u.UUID, Level: management.Member, Joined: management.NewStamp(testStart)}
		return tx.Put(&management.Record{Kind: "member", Parent: testOrg, ID: u.UUID, Other: u.UUID, Sort: fmt.Sprintf("%020d", testStart.UnixMicro()), Data: record(t, &member)})
	})
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

// clients.md §9.4: each active subscriber with access gets one mail with the exceeded bound and two
// links; user input is escaped and cannot add headers.
func TestAlerts_Mail(t *testing.T) {
	s := smtptest.Start(t, withPassword)
	d := openTestServer(t, inMemory, smtpTo(t, s.Address, s), testStart)
	scope, insight := d.addInsight(t)
	former := d.addMember(t, "1", false)
	inactive := d.addMember(t, "2", true)
	restricted := d.addMember(t, "3", false) // a rule hides the insight from this member (clients.md §11.2)
	rule := bodyOf(t, `{"access_level":"none","organization_member":"0191f0a2-5b1c-7d3e-8f40-200000000003"}`)
	if _, err := d.SetControl(t.Context(), scope, "insight", strconv.FormatInt(insight.ID, 10), rule); err != nil {
		t.Fatal(err)
	}
	a := d.addAlert(t, scope, insight, "Sales\r\nBcc: all@example.com <script>", fmt.Sprintf("[1,%d,%d,%d]", former, inactive, restricted))
	err := d.store.Write(t.Context(), func(tx rooms.Tx) error {
		return tx.Delete("member", testOrg, "0191f0a2-5b1c-7d3e-8f40-200000000001")
	})
	if err != nil {
		t.Fatal(err)
	}
	d.checkAlerts(t)
	if d.queued.Load() != 1 {
		t.Errorf("the outbox was told of %d times", d.queued.Load())
	}
	d.deliver(t, "")
	mails := s.Mails()
	if len(mails) != 1 || mails[0].To != "owner@example.com" {
		t.Fatalf("%+v", mails)
	}
	m, plain, html := readMail(t, mails[0].Text)
	if m.Header.Get("Bcc") != "" || m.Header.Get("Subject") != "Alert Sales Bcc: all@example.com <script> is firing" {
		t.Errorf("%v", m.Header)
	}
	address := testURL + "/project/1/insights/" + insight.ShortID
	for _, want := range []string{"The insight value (<b>buy</b>) (12) is more than upper threshold (10)", address + "\r\n", address + "?alert_id=" + a.ID, "P & <Q>"} {
		if !strings.Contains(strings.ReplaceAll(plain, "\r\n", "\n"), strings.ReplaceAll(want, "\r\n", "\n")) {
			t.Errorf("%q is not in %q", want, plain)
		}
	}
	for _, want := range []string{"(&lt;b&gt;buy&lt;/b&gt;) (12)", `<a href="` + address + `">`, "P &amp; &lt;Q&gt;"} {
		if !strings.Contains(html, want) || strings.Contains(html, "<b>") {
			t.Errorf("%q is not in %q", want, html)
		}
	}
	got, err := d.Dashboards.Alerts.Get(t.Context(), scope, a.ID, dashboards.CheckQuery{})
	if err != nil || len(got.Checks) != 1 || !got.Checks[0].Notified || got.Notified.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
}

// A server that is killed while it checks an alert, or before it sends the mail, neither loses nor
// repeats a mail.
func TestAlerts_Killed(t *testing.T) {
	s := smtptest.Start(t, withPassword)
	database := "sqlite:" + filepath.Join(t.TempDir(), "desk.db")
	d := openTestServer(t, database, smtpTo(t, s.Address, s), testStart)
	scope, insight := d.addInsight(t)
	a := d.addAlert(t, scope, insight, "Sales", "[1]")
	d.onQuery = d.close // the store is closed, as by a kill
	if _, err := d.Dashboards.Alerts.CheckDue(t.Context()); err == nil {
		t.Fatal("storing what was found into a closed store works")
	}
	d = openTestServer(t, database, smtpTo(t, s.Address, s), testStart.Add(3*time.Minute))
	d.checkAlerts(t) // the killed server may still hold its lease
	if d.queued.Load() != 0 {
		t.Error("an alert is checked that another server has")
	}
	d.advance(2 * time.Minute)
	d.checkAlerts(t)
	now := d.now()
	d.close()

	d = openTestServer(t, database, smtpTo(t, s.Address, s), now)
	d.checkAlerts(t)
	d.deliver(t, "")
	d.deliver(t, "")
	if mails := s.Mails(); len(mails) != 1 {
		t.Errorf("%d mails", len(mails))
	}
	got, err := d.Dashboards.Alerts.Get(t.Context(), scope, a.ID, dashboards.CheckQuery{})
	if err != nil || len(got.Checks) != 1 || got.State != "Firing" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Alerts and invitations of an organization have separate limits of 500 mails a day.
func TestAlerts_MailsOfADay(t *testing.T) {
	s := smtptest.Start(t, withPassword)
	d := openTestServer(t, inMemory, smtpTo(t, s.Address, s), testStart)
	scope, insight := d.addInsight(t)
	for range 501 {
		d.addAlert(t, scope, insight, "Sales", "[1]")
	}
	for more := true; more; {
		var err error
		if more, err = d.Dashboards.Alerts.CheckDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := d.Dashboards.Alerts.List(t.Context(), scope, "", management.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	notified := 0
	for _, a := range list.Results {
		if a.State != "Firing" {
			t.Fatalf("%+v", a)
		}
		if !a.Notified.IsZero() {
			notified++
		}
	}
	if notified != 500 {
		t.Errorf("%d have told somebody, want 500", notified)
	}
	d.invite(t, `{"target_email": "new@example.com"}`)
}

// Servers with one PostgreSQL check each alert once, even if their clocks differ by the allowed
// maximum.
func TestServers_AlertOnce(t *testing.T) {
	url := pgtest.PostgresMigrated(t, sqlstore.Open)
	s := smtptest.Start(t, withPassword)
	servers := []*testServer{
		openTestServer(t, url, smtpTo(t, s.Address, s), testStart),
		openTestServer(t, url, smtpTo(t, s.Address, s), testStart.Add(50*time.Second)),
	}
	scope, insight := servers[0].addInsight(t)
	const alerts = 30
	ids := make([]string, alerts)
	for i := range ids {
		ids[i] = servers[i%2].addAlert(t, scope, insight, fmt.Sprint("A", i), "[1]").ID
	}
	servers[0].advance(50 * time.Second)
	servers[1].advance(50 * time.Second)
	pgtest.Concurrently(t, 6, func(i int) error {
		for more := true; more; {
			var err error
			if more, err = servers[i%2].Dashboards.Alerts.CheckDue(context.Background()); err != nil {
				return err
			}
		}
		return nil
	})
	servers[0].advance(2 * time.Minute)
	for _, d := range servers {
		d.deliver(t, "")
	}
	got := map[string]int{}
	for _, m := range s.Mails() {
		header, _, _ := readMail(t, m.Text)
		got[header.Header.Get("Subject")]++
	}
	for i, id := range ids {
		if n := got[fmt.Sprintf("Alert A%d is firing", i)]; n != 1 {
			t.Errorf("alert %d was mailed %d times", i, n)
		}
		a, err := servers[0].Dashboards.Alerts.Get(t.Context(), scope, id, dashboards.CheckQuery{})
		if err != nil || len(a.Checks) != 1 {
			t.Errorf("alert %d has %d checks, %v", i, len(a.Checks), err)
		}
	}
}
