package browsertest

import (
	"fmt"
	"testing"
	"time"
)

// J3, J4 and J6 (console.md §3.5): the call counts of a flag, the users of each value, and a change
// at a later time. The scheduled change is read from the API, and is applied.
func TestFlag_Tabs(t *testing.T) {
	s := serve(t)
	s.person("ana", map[string]any{"email": "ana@example.com", "plan": "pro"})
	s.person("ben", map[string]any{"email": "ben@example.com", "plan": "free"})
	plan := map[string]any{"key": "plan", "type": "person", "operator": "exact", "value": []string{"pro"}}
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "banner", "filters": map[string]any{"groups": []any{map[string]any{"properties": []any{plan}, "rollout_percentage": 100}}}}, nil)
	p := s.open(t, "p/1/flags/1/exposures")
	p.node("heading", "No calls yet")
	p.accessible()
	for id, value := range map[string]bool{"ana": true, "ben": false} {
		s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "batch": []any{map[string]any{
			"event": "$feature_flag_called", "distinct_id": id, "properties": map[string]any{"$feature_flag": "banner", "$feature_flag_response": value}}}}, nil)
	}
	p.visit("p/1/flags/1/exposures")
	p.node("image", "Chart: Exposures by value")
	for _, name := range []string{"Time", "true", "false", "Total"} {
		p.node("table", "Exposures by value", "columnheader", name)
	}
	if got := js[string](p, "document.querySelector('table tfoot').innerText.replaceAll(/\\s+/g, ' ')"); got != "Total 1 1 2" {
		t.Errorf("the totals are %q, want 1, 1 and 2", got)
	}
	p.choose("Last 24 hours", "combobox", "Period")
	p.choose("People", "combobox", "Count")
	p.node("image", "Chart: Exposures by value")
	p.accessible()

	p.click("navigation", "Flag", "link", "People")
	p.node("table", "People by value", "link", "ben@example.com")
	p.node("table", "People by value", "link", "Why ana@example.com?")
	p.accessible()
	p.choose("true", "combobox", "Value")
	p.waitRemoved("link", "ben@example.com")
	p.node("table", "People by value", "link", "ana@example.com")

	p.choose("Any value", "combobox", "Value")
	p.click("region", "Pinned values", "button", "Pin a value")
	p.accessible()
	p.fill("ben", "dialog", "Pin a value", "combobox", "Person")
	p.choose("true", "dialog", "Pin a value", "combobox", "Value")
	p.fill("tomorrow", "dialog", "Pin a value", "textbox", "Until")
	p.fill("<b>ticket 7</b>", "dialog", "Pin a value", "textbox", "Note")
	p.click("dialog", "Pin a value", "button", "Pin")
	p.node("dialog", "Pin a value", "StaticText", "This is not a valid time. Use the format 2026-12-01 09:00.")
	p.fill("", "dialog", "Pin a value", "textbox", "Until")
	p.click("dialog", "Pin a value", "button", "Pin")
	p.waitAnnounced("Pinned true for ben@example.com") // as the table and the page of the person name them
	p.node("table", "Pinned values", "link", "ben@example.com")
	p.node("table", "Pinned values", "cell", "<b>ticket 7</b>")
	p.accessible()
	eventually(t, "ben has it", func() bool { return s.flag("banner", "ben") == true })
	p.click("table", "Pinned values", "link", "ben@example.com")
	p.node("heading", "ben@example.com")
	p.click("navigation", "Person", "link", "Flags")
	p.node("table", "Flags", "StaticText", "(pinned)")
	p.click("button", "Pin banner")
	p.choose("false", "dialog", "Pin a value", "combobox", "Value")
	p.click("dialog", "Pin a value", "button", "Pin")
	p.waitAnnounced("Pinned false for ben@example.com")
	eventually(t, "ben has it no more", func() bool { return s.flag("banner", "ben") == false })
	p.visit("p/1/flags/1/people")
	p.click("button", "Unpin ben@example.com")
	p.click("alertdialog", "Unpin ben@example.com?", "button", "Unpin")
	p.waitAnnounced("Unpinned ben@example.com")
	p.waitRemoved("table", "Pinned values")

	p.click("navigation", "Flag", "link", "Schedule")
	p.node("heading", "Nothing is scheduled")
	p.accessible()
	p.click("button", "New scheduled change")
	p.click("dialog", "New scheduled change", "radio", "Set rollout")
	p.accessible()
	p.fill("25", "dialog", "New scheduled change", "spinbutton", "Rollout percentage")
	p.fill("tomorrow", "dialog", "New scheduled change", "textbox", "When")
	p.click("dialog", "New scheduled change", "button", "Schedule")
	p.node("dialog", "New scheduled change", "StaticText", "This is not a valid time. Use the format 2026-12-01 09:00.")
	p.fill(time.Now().UTC().AddDate(0, 0, 2).Format("2006-01-02 15:04"), "dialog", "New scheduled change", "textbox", "When")
	p.click("dialog", "New scheduled change", "button", "Schedule")
	p.waitAnnounced("Scheduled")
	p.node("table", "Scheduled changes", "cell", "Condition 1: 25 %")
	p.node("table", "Scheduled changes", "cell", "Waiting")
	p.accessible()
	var list struct {
		Results []struct{ Payload map[string]any }
	}
	s.api("GET", "/api/projects/1/scheduled_changes/?record_id=1", nil, &list)
	if len(list.Results) != 1 || list.Results[0].Payload["operation"] != "update_rollout" {
		t.Errorf("%+v", list)
	}
	p.click("button", "Cancel scheduled change")
	p.click("alertdialog", "Cancel scheduled change?", "button", "Cancel scheduled change")
	p.waitAnnounced("Cancelled")
	p.node("heading", "Nothing is scheduled")
	s.api("POST", "/api/projects/1/scheduled_changes/", map[string]any{"record_id": 1, "model_name": "FeatureFlag", "scheduled_at": time.Now().Add(time.Second), "payload": map[string]any{"operation": "update_status", "value": false}}, nil)
	eventually(t, "the flag is off", func() bool { return s.flag("banner", "ana") != true })
	p.visit("p/1/flags/1/schedule")
	p.node("table", "Scheduled changes", "cell", "Done")
	p.node("table", "Scheduled changes", "cell", "Switch off")
}

// checkGuards checks the guardrails and signals of rollout 1: their metrics (experiments.md §3.2,
// §4.2), goals and tolerances.
func checkGuards(s *server) {
	s.t.Helper()
	type guard struct {
		Name, Goal string
		Tolerance  float64
		Metric     struct {
			Type   string `json:"metric_type"`
			Source struct {
				Math     string
				Property string `json:"math_property"`
			}
		}
	}
	var got struct{ Guardrails, Signals []guard }
	s.api("GET", "/api/projects/1/guarded_rollouts/1/", nil, &got)
	text := ""
	for _, g := range append(got.Guardrails, got.Signals...) {
		text += fmt.Sprint(g.Name, " ", g.Goal, " ", g.Tolerance, " ", g.Metric.Type, " ", g.Metric.Source.Math, " ", g.Metric.Source.Property, ";")
	}
	if want := "$exception decrease 0 mean total ;order placed increase 0.05 funnel  ;paid increase 0 mean sum amount;"; text != want || len(got.Signals) != 1 {
		s.t.Errorf("the rollout has %s, want %s", text, want)
	}
}

// changeNotices removes the webhook of rollout 1 in the dialog, and checks who follows the flag.
func changeNotices(p *page) {
	p.t.Helper()
	p.click("button", "Notices")
	p.accessible()
	p.fill("", "dialog", "Notices", "textbox", "Webhook address")
	p.click("dialog", "Notices", "button", "Save")
	p.waitAnnounced("Saved")
	p.waitRemoved("StaticText", "Notices are sent to https://hooks.example.com/bunting.")
	var followers struct{ Following bool }
	p.server.api("GET", "/api/projects/1/feature_flags/1/followers/", nil, &followers)
	if !followers.Following {
		p.t.Error("the owner does not follow the flag")
	}
	p.click("button", "Follow")
	p.waitAnnounced("You no longer follow this flag.")
}

// Region "Guarded rollout" of console.md §3.7: a rollout is created, and then rolled back.
func TestFlag_GuardedRollout(t *testing.T) {
	s := serve(t)
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "checkout", "active": true, "filters": map[string]any{
		"groups":       []any{map[string]any{"properties": []any{}, "rollout_percentage": 100}},
		"multivariate": map[string]any{"variants": []any{map[string]any{"key": "control", "rollout_percentage": 100}, map[string]any{"key": "wide", "rollout_percentage": 0}}},
	}}, nil)
	p := s.open(t, "p/1/flags/1/schedule")
	p.node("region", "Guarded rollout", "StaticText", "This flag has no guarded rollout.")
	p.click("region", "Guarded rollout", "button", "Follow")
	p.node("region", "Guarded rollout", "StaticText", "1 user gets mails about the rollouts of this flag.")
	p.expect("400 POST /api/projects/1/guarded_rollouts/")
	p.click("button", "New guarded rollout")
	p.accessible()
	p.fill("lots", "dialog", "New guarded rollout", "textbox", "Steps")
	p.click("dialog", "New guarded rollout", "button", "New guarded rollout")
	p.node("dialog", "New guarded rollout", "StaticText", "Enter increasing percentages such as 5, 25, 50, 100.")
	p.fill("10, 5", "dialog", "New guarded rollout", "textbox", "Steps")
	p.click("dialog", "New guarded rollout", "button", "New guarded rollout")
	p.node("dialog", "New guarded rollout", "StaticText", "Each step must be higher than the previous one.")
	p.fill("10, 50, 100", "dialog", "New guarded rollout", "textbox", "Steps")
	p.click("dialog", "New guarded rollout", "button", "Add guardrail")
	p.click("dialog", "New guarded rollout", "button", "New guarded rollout")
	p.node("group", "Guardrail 2", "StaticText", "Enter an event.")
	p.fill("order placed", "group", "Guardrail 2", "textbox", "Guardrail event")
	p.choose("Share of people", "group", "Guardrail 2", "combobox", "Metric kind")
	p.fill("5", "group", "Guardrail 2", "spinbutton", "Tolerance in percent")
	p.click("dialog", "New guarded rollout", "button", "Add guardrail")
	p.fill("paid", "group", "Guardrail 3", "textbox", "Guardrail event")
	p.choose("Sum per person", "group", "Guardrail 3", "combobox", "Metric kind")
	p.fill("amount", "group", "Guardrail 3", "textbox", "Property")
	p.choose("Hold the rollout", "group", "Guardrail 3", "combobox", "If it is harmed")
	p.fill("https://hooks.example.com/bunting", "dialog", "New guarded rollout", "textbox", "Webhook address")
	p.fill("short", "dialog", "New guarded rollout", "textbox", "Webhook secret")
	p.accessible()
	p.click("dialog", "New guarded rollout", "button", "New guarded rollout")
	p.node("dialog", "New guarded rollout", "StaticText", "Give 16 to 400 characters.")
	p.fill("a secret of 24 characters", "dialog", "New guarded rollout", "textbox", "Webhook secret")
	p.click("dialog", "New guarded rollout", "button", "New guarded rollout")
	p.waitAnnounced("Rollout created")
	p.node("region", "Guarded rollout", "StaticText", "Notices are sent to https://hooks.example.com/bunting.")
	p.node("table", "Steps", "cell", "10 %")
	for _, name := range []string{"$exception", "order placed"} {
		p.node("table", "Guardrails", "cell", name)
	}
	p.node("table", "Signals", "cell", "paid")
	checkGuards(s)
	changeNotices(p)
	p.accessible()

	p.click("button", "Start")
	p.click("alertdialog", "Start the rollout?", "button", "Start")
	p.waitAnnounced("Started")
	p.node("table", "Steps", "cell", "Current")
	p.click("button", "Advance")
	p.click("alertdialog", "Advance the rollout?", "button", "Advance")
	p.waitAnnounced("Advanced")
	p.click("button", "Pause")
	p.click("alertdialog", "Pause the rollout?", "button", "Pause")
	p.waitAnnounced("Paused")
	p.click("button", "Resume")
	p.click("alertdialog", "Resume the rollout?", "button", "Resume")
	p.waitAnnounced("Resumed")
	share := func() float64 {
		var f struct {
			Filters struct {
				Multivariate struct {
					Variants []struct {
						Share float64 `json:"rollout_percentage"`
					}
				}
			}
		}
		s.api("GET", "/api/projects/1/feature_flags/1/", nil, &f)
		return f.Filters.Multivariate.Variants[1].Share
	}
	if got := share(); got != 50 {
		t.Errorf("wide has %v %%, want 50", got)
	}
	p.click("button", "Roll back")
	p.click("alertdialog", "Roll back?", "button", "Roll back")
	p.waitAnnounced("Rolled back")
	p.node("region", "Guarded rollout", "button", "New guarded rollout")
	if got := share(); got != 0 {
		t.Errorf("wide has %v %%, want 0", got)
	}
	p.accessible()
}
