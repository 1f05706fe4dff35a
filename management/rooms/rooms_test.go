package rooms_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// outbox is a Mailer that keeps the mails.
type outbox struct{ mails []organizations.Mail }

func (o *outbox) Send(_ context.Context, m organizations.Mail) error {
	o.mails = append(o.mails, m)
	return nil
}

// A configuration that would fail later is refused by Open.
func TestOpen_Errors(t *testing.T) {
	store := memstore.New(memstore.ExternalData{})
	for _, c := range []struct {
		name   string
		config rooms.Config
		want   string
	}{
		{"no store", rooms.Config{}, "Store"},
		{"mails without an address for their links", rooms.Config{Store: store, Mailer: &outbox{}}, "SiteURL"},
	} {
		if r, err := rooms.Open(c.config); r != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, want an error about %s", c.name, r, err, c.want)
		}
	}
	if _, err := rooms.Open(rooms.Config{Store: store}); err != nil {
		t.Errorf("a store is enough: %v", err)
	}
}

// The packages use each other's data: flags their dashboards, alerts the outbox, and access rules all
// kinds of objects.
func TestOpen_Connects(t *testing.T) {
	ctx := t.Context()
	queued := 0
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}), func(c *rooms.Config) {
		c.Mailer, c.SiteURL, c.MailQueued = &outbox{}, "https://flags.example.com", func() { queued++ }
		c.RunQuery = func(context.Context, *management.ProjectRecord, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`[{"action":{"order":0},"label":"a","data":[],"days":[],"aggregated_value":11}]`), nil
		}
	})
	bob := w.Scope(t, "bob")
	insight, err := w.Dashboards.Insights.Create(ctx, bob, ruletest.Body(t, `{"name":"I","query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"}],"trendsFilter":{"display":"BoldNumber"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	body := ruletest.Body(t, `{"name":"N","insight":"`+insight.ShortID+`","subscribed_users":[2],"threshold":{"configuration":{"type":"absolute","bounds":{"upper":10}}}}`)
	body.Warn = func(text string) { warnings = append(warnings, text) }
	alert, err := w.Dashboards.Alerts.Create(ctx, bob, body)
	if err != nil || len(warnings) != 0 {
		t.Fatal(warnings, err)
	}
	if _, err := w.Dashboards.Alerts.CheckDue(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := w.Dashboards.Alerts.Get(ctx, bob, alert.ID, dashboards.CheckQuery{})
	if err != nil || queued != 1 || !got.Checks[0].Notified {
		t.Errorf("%d mails are queued, %+v, %v", queued, got, err)
	}
	for kind := range map[string]bool{"dashboard": true, "insight": true, "action": true, "feature_flag": true, "cohort": true, "experiment": true, "survey": true} {
		if w.Finders[kind] == nil {
			t.Errorf("access rules do not find objects of kind %s", kind)
		}
	}
}

// Without a mail server an alert is stored, and the response says that nobody is told. Without
// RunQuery it is not checked.
func TestOpen_Without(t *testing.T) {
	ctx := t.Context()
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	bob := w.Scope(t, "bob")
	insight, err := w.Dashboards.Insights.Create(ctx, bob, ruletest.Body(t, `{"query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for users, want := range map[string]int{`[2]`: 1, `[]`: 0} {
		warnings := 0
		body := ruletest.Body(t, `{"name":"N","insight":"`+insight.ShortID+`","subscribed_users":`+users+`,"threshold":{"configuration":{"type":"absolute"}}}`)
		body.Warn = func(string) { warnings++ }
		a, err := w.Dashboards.Alerts.Create(ctx, bob, body)
		if err != nil || warnings != want {
			t.Errorf("subscribers %s: %d warnings, want %d, %v", users, warnings, want, err)
		}
		w.Clock = w.Clock.Add(48 * time.Hour)
		if more, err := w.Dashboards.Alerts.CheckDue(ctx); more || err != nil {
			t.Error(more, err)
		}
		if got, err := w.Dashboards.Alerts.Get(ctx, bob, a.ID, dashboards.CheckQuery{}); err != nil || len(got.Checks) != 0 || !got.Checked.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
	}
	// Nor are there exports, issues, mails and persons.
	if more, err := w.ErrorTracking.Follow(ctx); more || err != nil {
		t.Error("without a log:", more, err)
	}
	if more, err := w.BatchExports.Work(ctx); more || err == nil {
		t.Error("without a runner:", more, err)
	}
}
