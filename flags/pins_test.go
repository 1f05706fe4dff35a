package flags_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

const pinnedFlags = `{"flags": [
	{"id": 1, "key": "f", "active": true, "pins": [{"cohort": -4, "value": false, "expires_at": "2030-01-01T00:00:00Z"}], "filters": {"groups": [{}]}},
	{"id": 2, "key": "on-f", "active": true, "filters": {"groups": [{"properties": [{"key": "1", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
	{"id": 3, "key": "other", "active": true, "filters": {"groups": [{}]}}]}`

// console.md N11: the pin is in the trace, and a replay has the same result; and N5's text.
func TestPins_N11_Trace(t *testing.T) {
	set := flags.Compile(parse(t, pinnedFlags))
	for cohort, want := range map[int64]string{
		-4: "\n  because: a value is pinned for the person\n  pinned value: yes, for the person, until 2030-01-01T00:00:00Z\n",
		-5: "\n  pinned value: no\n",
	} {
		trace := set.Explain("f", &flags.Subject{DistinctID: "ana", Stored: &flags.Stored{Cohorts: []int64{cohort}}}, testAt, flags.Selection{})
		if text := trace.String(); !strings.Contains(text, want) {
			t.Errorf("%s\nhas no %q", text, want)
		}
		if again, ok := set.Replay(trace); !ok || again.Enabled != trace.Decision.Enabled || again.Reason.Code.String() != trace.Decision.Code {
			t.Errorf("again: %+v", again)
		}
	}
	if !set.HasDates() || set.Needs().IsPersonCovered(nil) {
		t.Error("a pin that ends asks for the time, and for whom it is: for the stored person")
	}
}

// A pin that is added, changed or expired compiles the flag again (Recompile), and the record
// of a flag that was changed in Go contains its pins.
func TestPins_Changed(t *testing.T) {
	before := parse(t, strings.Replace(pinnedFlags, `"pins": [{"cohort": -4, "value": false, "expires_at": "2030-01-01T00:00:00Z"}], `, "", 1))
	set := flags.Compile(before)
	sub := &flags.Subject{DistinctID: "ana", Stored: &flags.Stored{Cohorts: []int64{-4, -9}}}
	for _, step := range []struct {
		pins []flags.Pin
		want bool
	}{{nil, true}, {[]flags.Pin{{Cohort: -4}}, false}, {[]flags.Pin{{Cohort: -4, Enabled: true}}, true}, {[]flags.Pin{{Cohort: -9}}, false}, {nil, true}} {
		next := before
		next.Flags = append([]flags.Flag(nil), before.Flags...)
		next.Flags[0].Pins = step.pins
		set = set.Recompile(next)
		body, err := next.Payload()
		if err != nil {
			t.Fatal(err)
		}
		for name, set := range map[string]*flags.Set{"recompiled": set, "read": flags.Compile(parse(t, string(body)))} {
			if d, _ := set.EvaluateFlag("f", sub, testAt, nil); d.Enabled != step.want {
				t.Errorf("%s with %+v: %v", name, step.pins, d.Enabled)
			}
		}
		if needed := len(set.Needs().Cohorts); needed != len(step.pins) {
			t.Errorf("%+v: %v", step.pins, set.Needs().Cohorts)
		}
	}
}

func BenchmarkPinsNoAlloc(b *testing.B) {
	set := flags.Compile(parse(b, pinnedFlags))
	sub := &flags.Subject{DistinctID: "ana", Stored: &flags.Stored{Cohorts: []int64{-4}}}
	var out flags.Decisions
	set.Evaluate(sub, testAt, &out)
	b.ReportAllocs()
	for b.Loop() {
		set.Evaluate(sub, testAt, &out)
	}
}
