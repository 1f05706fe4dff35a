package flags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// The fault of a flag with an unusable cohort names the cohort at fault and the path to it
// (§5.3).
func TestFlags_5_3_CohortAtFault(t *testing.T) {
	const in, out = `{"key":"id","type":"cohort","value":%d}`, `{"key":"id","type":"cohort","operator":"not_in","value":%d}`
	of := func(id int, leaves ...string) string {
		return fmt.Sprintf(`"%d":{"type":"AND","values":[%s]}`, id, strings.Join(leaves, ","))
	}
	ref := func(form string, id int) string { return fmt.Sprintf(form, id) }
	var chain []string
	for id := 1; id < 20; id++ {
		chain = append(chain, of(id, ref(in, id+1)))
	}
	for name, tt := range map[string]struct {
		ask     int
		cohorts []string
		want    string
	}{
		"the flag's own":           {999, nil, "cohort 999: does not exist"},
		"one below":                {6, []string{of(6, ref(in, 999))}, "cohort 999: does not exist (reached by cohort 6 → cohort 999)"},
		"one below, turned round":  {6, []string{of(6, ref(out, 999))}, "cohort 999: does not exist (reached by cohort 6 → cohort 999)"},
		"one below that is usable": {6, []string{of(6, ref(in, 7), ref(in, 999)), of(7)}, "cohort 999: does not exist (reached by cohort 6 → cohort 999)"},
		"two below":                {6, []string{of(6, ref(in, 7)), of(7, ref(in, 999))}, "cohort 999: does not exist (reached by cohort 6 → cohort 7 → cohort 999)"},
		"one that cannot be read":  {6, []string{of(6, ref(in, 7)), of(7, `{"key":"plan","type":"person","operator":"like","value":"x"}`)}, "cohort 7: cannot be read (reached by cohort 6 → cohort 7)"},
		"itself":                   {6, []string{of(6, ref(in, 6))}, "cohort 6: depends on itself"},
		"a cycle below":            {6, []string{of(6, ref(in, 7)), of(7, ref(in, 8)), of(8, ref(in, 7))}, "cohort 7: depends on itself (reached by cohort 6 → cohort 7)"},
		"far below": {1, append(chain, of(20, ref(in, 999))),
			"cohort 999: does not exist (reached by cohort 1 → cohort 2 → cohort 3 → cohort 4 → cohort 5 → … → cohort 999)"},
	} {
		t.Run(name, func(t *testing.T) {
			set := flags.Compile(parse(t, fmt.Sprintf(`{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":%d}]}]}}],
				"cohorts":{%s}}`, tt.ask, strings.Join(tt.cohorts, ","))))
			var problems []string
			for _, fault := range set.Faults() {
				if fault.Flag == "f" {
					problems = append(problems, fault.Problem)
				}
			}
			if len(problems) != 1 || problems[0] != tt.want {
				t.Errorf("the flag's faults are %q, want %q", problems, tt.want)
			}
			if trace := set.Explain("f", &flags.Subject{DistinctID: "u"}, testAt, flags.Selection{}).String(); !strings.Contains(trace, tt.want) {
				t.Errorf("the explanation\n%s\nwants %q", trace, tt.want)
			}
		})
	}
}
