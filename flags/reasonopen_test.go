package flags_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
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

func compileJSON(t *testing.T, text string) *flags.Set {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return flags.Compile(d)
}
