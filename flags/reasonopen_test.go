package flags_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/flagsdiff"
)

// openReason is on for everybody, by the first condition or the second: without the plan only
// the reason is open (decision 2).
const openReason = `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [
	{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}, {}], "payloads": {"true": "5"}}}]}`

// An open reason is UNKNOWN in OpenFeature's terms, without an error, and the explanation
// names the fact.
func TestFlags_Decision2_OpenReason(t *testing.T) {
	set := compileJSON(t, openReason)
	sub := &flags.Subject{DistinctID: "u", Partial: true}
	var out flags.Decisions
	d, _ := set.EvaluateFlag("f", sub, usualTime, &out)
	if !d.Enabled || d.Undecided != nil || d.ReasonOpen == nil || d.ReasonOpen.Name != "plan" || string(d.Payload) != `"5"` {
		t.Fatalf("%+v", d)
	}
	if reason, code := d.OpenFeature(); reason != "UNKNOWN" || code != "" {
		t.Errorf("%s %s", reason, code)
	}
	trace := set.Explain("f", sub, usualTime, flags.Selection{})
	text := trace.String()
	for _, want := range []string{`answer: true (reason not known: unknown person property "plan")`, `because: certain, but not for which reason`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	checkReplay(t, set, "f", sub, usualTime, flags.Selection{})
}

// An open reason does not differ from any other reason. A changed value is reported without a
// condition if the condition is unknown.
func TestDiff_OpenReason(t *testing.T) {
	open := compileJSON(t, openReason)
	decidable := compileJSON(t, strings.Replace(openReason, `{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}, {}`, `{}`, 1))
	sub := &flags.Subject{DistinctID: "u", Partial: true}
	if got := flagsdiff.New(open, decidable, flagsdiff.Options{Reasons: true}).Compare(sub, usualTime); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	sub.Person = flags.Properties{"plan": "free"}
	if got := flagsdiff.New(open, decidable, flagsdiff.Options{Reasons: true}).Compare(sub, usualTime); len(got) != 1 || got[0].Why.Cause != flagsdiff.CauseReason {
		t.Errorf("with both reasons known: %+v", got)
	}
	sub.Person = nil
	never := compileJSON(t, `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"rollout_percentage": 0}]}}]}`)
	got := flagsdiff.New(open, never, flagsdiff.Options{}).Compare(sub, usualTime)
	if len(got) != 1 || got[0].Why.Cause != flagsdiff.CauseCondition || !strings.Contains(got[0].Why.Text, "not known which condition decides") {
		t.Errorf("%+v", got)
	}
}
