package manage

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// Decision 26: ids in paths are integers in decimal; anything else names no flag.
func TestFlagID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "9223372036854775807": 9223372036854775807, "9223372036854775808": 0, "": 0, "01": 0, "+1": 0, " 1": 0, "1.0": 0, "1e3": 0, "0x1": 0, "１": 0, "new-shop": 0, "0": 0, "-0": 0, "-1": -1,
	} {
		if got := flagID(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	var ids []int64
	do := func(_ flagService, _ context.Context, _ *management.Scope, id int64) (int, error) {
		ids = append(ids, id)
		return 7, nil
	}
	for _, text := range []string{"5", "x"} {
		if n, err := withNumericID(do)(flagService{}, t.Context(), nil, text); n != 7 || err != nil {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	if !slices.Equal(ids, []int64{5, 0}) {
		t.Errorf("ids %v", ids)
	}
}

// management.md §5.11: limit and page count from 1, and have a largest value.
func TestCountParameter(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct {
		n    int
		code string
	}{
		"": {10, ""}, "limit=": {10, ""}, "limit=1": {1, ""}, "limit=100": {100, ""}, "limit=101": {100, ""}, "limit=1000000000": {100, ""}, "limit=7&limit=8": {7, ""}, "page=5": {10, ""},
		"limit=0": {0, management.CodeMinValue}, "limit=-1": {0, management.CodeMinValue},
		"limit=x": {0, "invalid_input"}, "limit=1.5": {0, "invalid_input"}, "limit=%201": {0, "invalid_input"}, "limit=9999999999999999999": {0, "invalid_input"},
	} {
		n, err := countParameter(&frame.Call{R: httptest.NewRequest("GET", "/?"+query, nil)}, "limit", 10, 100)
		var fault *management.Error
		code := ""
		if errors.As(err, &fault) {
			code = fault.Code
			if fault.Field != "limit" {
				t.Errorf("%q: the place is %q", query, fault.Field)
			}
		}
		if n != want.n || code != want.code {
			t.Errorf("%q: %d, %q, want %d, %q", query, n, code, want.n, want.code)
		}
	}
}

// clients.md §7.2: the value of a flag for a person: a variant, else whether it is enabled; false
// for a flag that is not found, and null for one that is not decided.
func TestValueOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		decision flags.TraceDecision
		found    bool
		want     any
	}{
		{flags.TraceDecision{}, false, false}, {flags.TraceDecision{Enabled: true, Variant: "red"}, false, false}, {flags.TraceDecision{Enabled: true}, true, true}, {flags.TraceDecision{}, true, false},
		{flags.TraceDecision{Enabled: true, Variant: "red"}, true, "red"}, {flags.TraceDecision{Undecided: &flags.Undecided{}}, true, nil}, {flags.TraceDecision{Enabled: true, Variant: "red", Undecided: &flags.Undecided{}}, true, nil},
	} {
		if got := valueOf(&flags.Trace{Found: c.found, Decision: c.decision}); got != c.want {
			t.Errorf("%+v, found %v: %v, want %v", c.decision, c.found, got, c.want)
		}
	}
}

// The row of a flag on the page of a person: no value where it is not decided, and no condition where
// none matched; the first condition is 0.
func TestPersonFlag_SetDecision(t *testing.T) {
	t.Parallel()
	zero, two := 0, 2
	reason := func(code flags.ReasonCode, condition int) (d flags.Decision) {
		d.Reason.Code, d.Reason.Condition = code, condition
		return d
	}
	on := reason(flags.ConditionMatch, 0)
	on.Enabled = true
	variant := reason(flags.ConditionMatch, 2)
	variant.Enabled, variant.Variant = true, "red"
	pinned := reason(flags.Pinned, flags.NoCondition)
	pinned.Enabled = true
	open := reason(flags.NoConditionMatch, flags.NoCondition)
	open.Undecided = &flags.Undecided{}
	for name, c := range map[string]struct {
		decision flags.Decision
		want     personFlag
	}{
		"the first condition": {on, personFlag{Value: true, Reason: "condition_match", Condition: &zero}},
		"a variant":           {variant, personFlag{Value: "red", Reason: "condition_match", Condition: &two}},
		"pinned":              {pinned, personFlag{Value: true, Reason: "pinned", Pinned: true}},
		"none":                {reason(flags.NoConditionMatch, flags.NoCondition), personFlag{Value: false, Reason: "no_condition_match"}},
		"not decided":         {open, personFlag{Value: nil, Reason: "no_condition_match"}},
	} {
		got := personFlag{}
		if got.setDecision(&c.decision); !cmp.Equal(c.want, got) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(c.want, got))
		}
	}
}

// The last call of a flag: a version and an SDK only if the event has them.
func TestShowCall(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	version, sdk := int64(3), "web"
	for _, c := range []struct {
		call featureflags.LastCall
		want assigned
	}{
		{featureflags.LastCall{Value: "red", At: at, Calls: 2, Version: 3, SDK: "web"}, assigned{Value: "red", At: management.NewStamp(at), Calls: 2, Version: &version, SDK: &sdk}},
		{featureflags.LastCall{Value: false, At: at, Calls: 1}, assigned{Value: false, At: management.NewStamp(at), Calls: 1}},
		{featureflags.LastCall{At: at}, assigned{At: management.NewStamp(at)}},
	} {
		if got := showCall(&c.call); !cmp.Equal(&c.want, got) {
			t.Errorf("%+v (-want +got):\n%s", c.call, cmp.Diff(&c.want, got))
		}
	}
}

// Values in the counts of calls: those of the breakdown (insights.md), with words for the two that
// are none.
func TestTrendRow_Value(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"true"`: "true", `true`: "true", `"red"`: "red", `""`: "", `"$$_posthog_breakdown_null_$$"`: "null", `"$$_posthog_breakdown_other_$$"`: "other", `"null"`: "null",
	} {
		var r trendRow
		if err := json.Unmarshal([]byte(`{"breakdown_value":`+raw+`}`), &r); err != nil || r.value() != want {
			t.Errorf("%s: %q, %v, want %q", raw, r.value(), err, want)
		}
	}
	var steps []struct{ Event string }
	if err := json.Unmarshal(exposureAction().Steps, &steps); err != nil || len(steps) != len(capture.Exposures()) || len(steps) == 0 {
		t.Fatalf("%+v, %v", steps, err)
	}
	for i, name := range capture.Exposures() {
		if steps[i].Event != name {
			t.Errorf("step %d is %q, want %q", i, steps[i].Event, name)
		}
	}
}

// The last call of a flag by its time: of the events at that microsecond, the one of the flag, of
// any kind of exposure.
func TestFlagCalls_LastCallOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	h := &exposureHistory{calls: map[string][]capture.Record{
		capture.Exposures()[0]: {{DistinctID: "x", Properties: `{"$feature_flag":"other"}`}, {DistinctID: "x", Properties: `broken`}},
		capture.Exposures()[1]: {{DistinctID: "x", Properties: `{}`}, {DistinctID: "ann", Timestamp: at, Properties: `{"$feature_flag":"f","$feature_flag_response":"red"}`}, {DistinctID: "bob", Properties: `{"$feature_flag":"f"}`}},
	}}
	got, err := flagService{history: h}.lastCallOf(t.Context(), 5, "f", at)
	if want := (&featureflags.LastCall{Value: "red", At: at, DistinctID: "ann"}); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%+v, %v", got, err)
	}
	for i, q := range h.asked {
		if q.Name != capture.Exposures()[i] || !q.From.Equal(at) || q.To.Sub(q.From) != time.Microsecond || q.Limit != callsPage {
			t.Errorf("query %d: %+v", i, q)
		}
	}
	if got, err := (flagService{history: h}).lastCallOf(t.Context(), 5, "deleted", at); got != nil || err != nil {
		t.Errorf("a deleted event: %+v, %v", got, err)
	}
}

// exposureHistory has the events of each name, and records its queries.
type exposureHistory struct {
	capture.History
	calls map[string][]capture.Record
	asked []capture.EventQuery
}

func (h *exposureHistory) Events(_ context.Context, _ int64, q capture.EventQuery) ([]capture.Record, error) {
	h.asked = append(h.asked, q)
	return h.calls[q.Name], nil
}
