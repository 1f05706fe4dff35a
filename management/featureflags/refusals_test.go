package featureflags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// The API's rules for flags (spec/flags.md §1.5, spec/management.md §5.1.2 and §5.2) are reported
// for flags in a definitions file too.
func TestRefusals(t *testing.T) {
	flag := func(key, filters string) string {
		return `{"id": 1, "key": "` + key + `", "active": true, "filters": ` + filters + `}`
	}
	plain := `{"groups": [{"properties": [], "rollout_percentage": 100}]}`
	withProperty := func(property string) string { return `{"groups": [{"properties": [` + property + `]}]}` }
	many := strings.TrimSuffix(strings.Repeat(`"x",`, 1001), ",")
	for name, c := range map[string]struct{ flags, cohorts, place, reason string }{
		"a dot":              {flag("a.b", plain), ``, "key", "Only letters, numbers, hyphens"},
		"a long key":         {flag(strings.Repeat("a", 401), plain), ``, "key", "no more than 400 characters"},
		"fine":               {flag("a-b_9", plain), ``, "", ""},
		"no conditions":      {flag("a", `{"groups": []}`), ``, "", ""},
		"many values":        {flag("a", withProperty(`{"key": "k", "type": "person", "operator": "exact", "value": [`+many+`]}`)), ``, "filters.groups.0.properties.0.value", "more than 1000 values"},
		"no such variant":    {flag("a", `{"groups": [{"variant": "v"}]}`), ``, "filters.groups.0.variant", "variant override does not exist"},
		"a pattern":          {flag("a", withProperty(`{"key": "k", "type": "person", "operator": "regex", "value": "("}`)), ``, "filters.groups.0.properties.0.value", "("},
		"inactive":           {strings.Replace(flag("a", withProperty(`{"key": "9", "type": "flag", "operator": "flag_evaluates_to", "value": true}`)), `"active": true`, `"active": false`, 1), ``, "filters.groups.0.properties.0", "flag_evaluates_to"},
		"a cohort's filters": {flag("a", withProperty(`{"key": "id", "type": "cohort", "operator": "in", "value": 7}`)), `"7": {"name": "seven", "filters": {"properties": {"type": "OR", "values": [{"type": "AND", "values": [{"key": "k", "type": "person", "value": "x", "operator": "nonsense"}]}]}}}`, "filters.groups.0.properties.0", ``},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := flags.ParseDefinitions([]byte(`{"flags": [` + c.flags + `], "cohorts": {` + c.cohorts + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			var got []featureflags.Refusal
			for _, r := range featureflags.Refusals(&d) {
				if r.Flag != "" {
					got = append(got, r)
				}
			}
			switch {
			case c.place == "" && len(got) == 0:
			case len(got) != 1 || !strings.HasPrefix(got[0].Path, c.place) || !strings.Contains(got[0].Reason, c.reason):
				t.Errorf("%+v, want one at %s with %q", got, c.place, c.reason)
			}
		})
	}
}

func TestProposedKey(t *testing.T) {
	for key, want := range map[string]string{"a.b": "a-b", "a_b-9": "a_b-9", "team/new checkout!": "team-new-checkout", "ä": "flag", "日本語": "flag", "..x..": "x", strings.Repeat("a.", 300): ""} {
		if got := featureflags.ProposedKey(key); got != want {
			t.Errorf("%q: %q, want %q", fmt.Sprintf("%.20s", key), got, want)
		}
	}
}
