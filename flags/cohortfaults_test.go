package flags_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// A criterion that can never match is a fault of its cohort, with its path, even if no flag
// refers to the cohort. Flags that depend on the cohort fail, so that a flag for all persons
// outside it is not on for everybody (§5.3).
func TestCohort_NeverMatching(t *testing.T) {
	forms := []struct{ name, cohort, place string }{
		{"a bare tree", `{"type":"AND","values":[%s]}`, "values[0]"},
		{"a record", `{"filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[%s]}]}}}`, "filters.properties.values[0].values[0]"},
		{"the older form", `{"groups":[{"properties":[%s]}]}`, "groups[0].properties[0]"},
	}
	for leaf, want := range map[string]string{
		`"operator":"in","value":7`:                           "operator: in never matches here: the operator is for cohort filters",
		`"operator":"not_in","value":7`:                       "operator: not_in never matches here: the operator is for cohort filters",
		`"operator":"flag_evaluates_to","value":true`:         "operator: flag_evaluates_to never matches here",
		`"operator":"gt","value":"abc"`:                       "value: gt never matches here: the value must be a number",
		`"operator":"min","value":[1,2]`:                      "value: min never matches here: the value must be a number",
		`"operator":"lte","value":null`:                       "value: lte never matches here",
		`"operator":"regex","value":"("`:                      "value: regex never matches here: bad regular expression",
		`"operator":"not_regex","value":"("`:                  "value: not_regex never matches here: bad regular expression",
		`"operator":"regex","value":"(","negation":true`:      "value: regex never matches here: bad regular expression",
		`"operator":"regex","value":"((a{200}){200}){200}"`:   "value: regex never matches here: bad regular expression", // exceeds the limit of cost
		`"operator":"between","value":5`:                      "value: between never matches here: the value must be [low, high]",
		`"operator":"between","value":[10,0]`:                 "value: between never matches here: the value must be [low, high]",
		`"operator":"not_between","value":[10,0]`:             "value: not_between never matches here: the value must be [low, high]",
		`"operator":"is_date_after","value":"someday"`:        "value: is_date_after never matches here: the value must be a date",
		`"operator":"is_date_exact","value":20240531`:         "value: is_date_exact never matches here: the value must be a date",
		`"operator":"semver_neq","value":"newest"`:            "value: semver_neq never matches here: the value must be a version",
		`"operator":"semver_wildcard","value":"1.*.3"`:        "value: semver_wildcard never matches here: the value must be a version",
		`"operator":"exact"`:                                  "value: exact never matches here: there is no value to compare with",
		`"operator":"is_not"`:                                 "value: is_not never matches here: there is no value to compare with",
		`"operator":"exact","value":"pro"`:                    "",
		`"operator":"is_set"`:                                 "",
		`"operator":"gt","value":"5"`:                         "",
		`"operator":"between","value":["1","2"]`:              "",
		`"operator":"regex","value":"(?=a)"`:                  "",
		`"operator":"is_date_after","value":"-7d"`:            "",
		`"operator":"semver_wildcard","value":"1.2.*"`:        "",
		`"operator":"icontains","value":["a","b"]`:            "", // compared as JSON text, as in flags
		`"operator":"exact","value":{"plan":["pro",{"a":1}]}`: "",
	} {
		for _, form := range forms {
			cohort := fmt.Sprintf(form.cohort, `{"key":"plan","type":"person",`+leaf+`}`)
			const ask = `{"id":%d,"key":%q,"active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","operator":%q,"value":%d}]}]}}`
			outer := `{"type":"AND","values":[{"key":"id","type":"cohort","operator":"not_in","value":7}]}`
			doc := fmt.Sprintf(`{"flags":[`+ask+`,`+ask+`,`+ask+`],"cohorts":{"7":%s,"8":%s}}`,
				1, "in", "in", 7, 2, "not_in", "not_in", 7, 3, "behind", "in", 8, cohort, outer)
			set := flags.Compile(parse(t, doc))
			compiled := flags.Compile(parse(t, fmt.Sprintf(`{"flags":[],"cohorts":{"7":%s}}`, cohort)))
			if want == "" {
				if faults := set.Faults(); len(faults) > 0 {
					t.Errorf("%s: %s: %v", form.name, leaf, faults[0])
				}
				continue
			}
			where := "cohorts.7." + form.place + "." + want
			if faults := compiled.Faults(); len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), where) || faults[0].Code != flags.CohortFiltersParsingError {
				t.Errorf("%s: %s: faults %v, want %s", form.name, leaf, faults, where)
			}
			var out flags.Decisions
			for _, key := range []string{"in", "not_in", "behind"} {
				d, ok := set.EvaluateFlag(key, &flags.Subject{DistinctID: "u"}, time.Unix(1e9, 0), &out)
				if !ok || d.Enabled || !d.Failed() || d.Reason.Code != flags.CohortFiltersParsingError {
					t.Errorf("%s: %s: the flag %s is %+v, want it failed", form.name, leaf, key, d)
				}
			}
			again := set.Recompile(parse(t, doc))
			if len(again.Faults()) != len(set.Faults()) {
				t.Errorf("%s: %s: %d faults when compiled again, %d before", form.name, leaf, len(again.Faults()), len(set.Faults()))
			}
		}
	}
}

// The same rule applies to cohorts built by hand.
func TestCohort_BuiltNeverMatching(t *testing.T) {
	for _, p := range []flags.Property{
		{Key: "plan", Type: flags.PersonProperty, Operator: flags.GreaterThan, Value: "abc"},
		{Key: "plan", Type: flags.PersonProperty, Operator: flags.NotRegex, Value: "("},
		{Key: "plan", Type: flags.PersonProperty, Operator: flags.In, Value: int64(1)},
		{Key: "plan", Type: flags.PersonProperty, Operator: flags.Exact},
		{Key: "id", Type: flags.CohortProperty, Operator: flags.Exact, Value: int64(1)},
	} {
		set := flags.Compile(flags.Definitions{
			Flags: []flags.Flag{{ID: 1, Key: "f", Active: true, Conditions: []flags.Condition{{Properties: []flags.Property{
				{Key: "id", Type: flags.CohortProperty, Operator: flags.NotIn, Value: int64(7)},
			}}}}},
			Cohorts: map[int64]flags.Cohort{1: {}, 7: {Tree: &flags.CohortNode{Leaf: &p}}},
		})
		var out flags.Decisions
		if d, ok := set.EvaluateFlag("f", &flags.Subject{DistinctID: "u"}, time.Unix(1e9, 0), &out); !ok || !d.Failed() || len(set.Faults()) == 0 {
			t.Errorf("%s: the flag is %+v with the faults %v, want it failed and named", p.Operator, d, set.Faults())
		}
	}
}
