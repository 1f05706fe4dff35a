package flags_test

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// The descriptions of §3.9 for every code in use that has one there.
func TestFlags_3_9_Descriptions(t *testing.T) {
	want := map[string]string{
		"condition_match":              "Matched condition set N",
		"no_condition_match":           "No matching condition set",
		"out_of_rollout_bound":         "Out of rollout bound",
		"no_group_type":                "No group type",
		"super_condition_value":        "Super condition value",
		"holdout_condition_value":      "Holdout condition value",
		"pinned":                       "Pinned value", // console.md N11
		"flag_disabled":                "Feature flag is disabled",
		"missing_dependency":           "Flag cannot be evaluated due to missing dependency",
		"timeout":                      "Database statement timed out",
		"database_error":               "Database connection error during evaluation",
		"dependency_not_found_cohort":  "Cohort dependency not found",
		"dependency_cycle_cohort":      "Cohort dependency cycle detected",
		"dependency_cycle_flag":        "Flag dependency cycle detected",
		"cohort_filters_parsing_error": "Failed to parse cohort filters",
		"hash_key_override_error":      "Failed to fetch hash key override for experience continuity",
		"cookieless_identity":          "The flag needs an id, and a visitor without cookies has none",
	}
	anyText := map[string]bool{"flag_data_parsing_error": true, "database_unavailable": true}
	for code, text := range reasonTexts() {
		if w, ok := want[code]; ok && w != text || !ok && (!anyText[code] || text == "") {
			t.Errorf("%s: %q, want %q", code, text, w)
		}
		delete(want, code)
	}
	for code := range want {
		t.Errorf("%s is not among the codes", code)
	}
}

// reasonTexts returns the descriptions of all reason codes, for a match that of condition N.
func reasonTexts() map[string]string {
	texts := map[string]string{}
	for code := flags.NoReason + 1; code.String() != ""; code++ {
		texts[code.String()] = strings.Replace(flags.Reason{Code: code, Condition: 7}.Description(), "8", "N", 1)
	}
	return texts
}

// The invariants of §3.2 and §3.9 are satisfied by every result for every subject.
func TestFlags_3_2_Invariants(t *testing.T) {
	answers, failures := 0, 0
	for seed := int64(0); seed < 5000; seed++ {
		g := generator{rand.New(rand.NewSource(seed))}
		d := g.definitions()
		sub := g.subject(&d)
		var out flags.Decisions
		flags.Compile(d).Evaluate(&sub, testAt, &out)
		failed := false
		for i := range out.List {
			a := &out.List[i]
			answers++
			early := a.Reason.Code == flags.SuperConditionValue
			switch {
			case a.Variant != "" && !a.Enabled:
				t.Errorf("seed %d: %s: a variant of a flag that is off", seed, show(a))
			case a.Payload != nil && !a.Enabled && !early:
				t.Errorf("seed %d: %s: a payload of a flag that is off", seed, show(a))
			case early && a.Variant != "":
				t.Errorf("seed %d: %s: early access has no variant", seed, show(a))
			case a.Enabled && (a.Failed() || a.Undecided != nil):
				t.Errorf("seed %d: %s: on without an answer", seed, show(a))
			case a.Failed() && (a.Variant != "" || a.Payload != nil || a.Reason.Condition != flags.NoCondition):
				t.Errorf("seed %d: %s: a failure that says more", seed, show(a))
			}
			if a.Failed() {
				failed, failures = true, failures+1
			}
		}
		if failed && !out.Errors {
			t.Errorf("seed %d: a failed flag without errorsWhileComputingFlags", seed)
		}
		if t.Failed() {
			return
		}
	}
	if answers < 5000 || failures == 0 {
		t.Errorf("%d answers with %d failures prove little", answers, failures)
	}
}
