package flags_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// TestParseDefinitions_Decision5_StaticCohortMembers: static cohorts are served as exact sets
// of distinct ids up to a size. Above it the cohort is only listed, and a flag that depends
// on it is undecided. A list that cannot be read is like an absent one.
func TestParseDefinitions_Decision5_StaticCohortMembers(t *testing.T) {
	payload := `{"flags": [
		{"id": 1, "key": "in-13", "active": true, "filters": {"groups": [` + cond(`{"key":"id","type":"cohort","value":13}`) + `]}},
		{"id": 2, "key": "in-14", "active": true, "filters": {"groups": [` + cond(`{"key":"id","type":"cohort","value":14}`) + `]}},
		{"id": 3, "key": "not-in-15", "active": true, "filters": {"groups": [` + cond(`{"key":"id","type":"cohort","operator":"not_in","value":15}`) + `]}},
		{"id": 4, "key": "in-16", "active": true, "filters": {"groups": [` + cond(`{"key":"id","type":"cohort","value":16}`) + `]}}],
		"static_cohorts": [13, 14, 15, 16], "static_cohort_members": {"13": ["ann", "bob"], "15": [], "16": ["ann", 7], "x": []}}`
	d, err := flags.ParseDefinitions([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	set := flags.Compile(d)
	var faults []string
	for _, f := range set.Faults() {
		faults = append(faults, f.Path)
	}
	if got := strings.Join(faults, " "); got != "static_cohort_members.16[1] static_cohort_members.x" {
		t.Errorf("faults at %s", got)
	}
	const on, off, unknown = "on", "off", "unknown"
	for _, tt := range []struct{ id, in13, in14, not15, in16 string }{
		{"ann", on, unknown, on, unknown},
		{"bob", on, unknown, on, unknown},
		{"cem", off, unknown, on, unknown},
	} {
		var out flags.Decisions
		for key, want := range map[string]string{"in-13": tt.in13, "in-14": tt.in14, "not-in-15": tt.not15, "in-16": tt.in16} {
			got, found := set.EvaluateFlag(key, &flags.Subject{DistinctID: tt.id, Partial: true}, time.Time{}, &out)
			text := map[bool]string{true: on, false: off}[got.Enabled]
			if got.Undecided != nil {
				text = unknown
				if got.Undecided.Fact != "cohort" {
					t.Errorf("%s of %s: %v", key, tt.id, got.Undecided)
				}
			}
			if !found || text != want {
				t.Errorf("%s of %s is %s (%s), want %s", key, tt.id, text, got.Reason.Code, want)
			}
		}
	}
}
