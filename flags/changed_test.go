package flags_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

const changeable = `{"group_type_mapping": {"0": "company"}, "cohorts": {"5": {"type": "AND", "values": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}}, "flags": [
	{"id": 1, "key": "base", "name": "Base", "active": true, "filters": {"groups": [{"rollout_percentage": 20}]}},
	{"id": 2, "key": "over-base", "active": true, "filters": {"groups": [{"properties": [{"key": "1", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
	{"id": 3, "key": "over-that", "active": true, "filters": {"groups": [{"properties": [{"key": "over-base", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
	{"id": 4, "key": "for-cohort", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 5}]}]}},
	{"id": 6, "key": "alone", "active": true, "filters": {"groups": [{}], "payloads": {"true": "1"}}}
]}`

// ChangedKeys lists flags with different definitions, and flags whose results depend on such
// a flag or on a changed cohort (flags.md §5, §6).
func TestDefinitions_Changed(t *testing.T) {
	with := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(changeable) }
	all := []string{"alone", "base", "for-cohort", "over-base", "over-that"}
	for name, tt := range map[string]struct {
		after string
		want  []string
	}{
		"nothing":             {changeable, nil},
		"a name":              {with(`"Base"`, `"The base"`), nil},
		"a rollout":           {with(`"rollout_percentage": 20`, `"rollout_percentage": 30`), []string{"base", "over-base", "over-that"}},
		"a payload":           {with(`"true": "1"`, `"true": "2"`), []string{"alone"}},
		"switched off":        {with(`"key": "over-base", "active": true`, `"key": "over-base", "active": false`), []string{"over-base", "over-that"}},
		"gone":                {with(`"id": 1, "key": "base"`, `"id": 7, "key": "other"`), []string{"base", "other", "over-base", "over-that"}},
		"new":                 {with(`"flags": [`, `"flags": [{"id": 8, "key": "new", "active": true, "filters": {"groups": [{}]}},`), []string{"new"}},
		"a cohort":            {with(`"value": "pro"`, `"value": "team"`), []string{"for-cohort"}},
		"what all depend on":  {with(`"0": "company"`, `"0": "team"`), all},
		"everything is new":   {"", all},
		"everything has gone": {"none", all},
	} {
		before, after := parse(t, changeable), flags.Definitions{}
		var got []string
		switch tt.after {
		case "":
			got = before.ChangedKeys(nil)
		case "none":
			got = (*flags.Definitions)(nil).ChangedKeys(&before)
		default:
			after = parse(t, tt.after)
			got = after.ChangedKeys(&before)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
