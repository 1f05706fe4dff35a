package flags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// The cost of a hostile document grows linearly with its length: each of these would take
// minutes if parsing searched all previous or later elements.
func TestParseDefinitions_LongLists(t *testing.T) {
	const n = 200_000
	each := func(format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		text   string
		faults int
	}{
		"flags that are none":     {`{"flags":[` + each(`%d`) + `]}`, n},
		"cohorts that are none":   {`{"flags":[],"cohorts":{` + each(`"%d":1`) + `}}`, n},
		"a list of such":          {`{"flags":[],"cohorts":[` + each(`{"id":%d,"filters":1}`) + `]}`, n},
		"members of cohorts":      {`{"flags":[],"static_cohort_members":{` + each(`"%d":1`) + `}}`, n},
		"cohorts that failed":     {`{"flags":[],"failed_cohorts":[` + each(`{"id":%d,"code":"x"}`) + `]}`, 0},
		"a member again":          {`{"flags":[{"id":1,"key":"a","filters":{}` + strings.Repeat(`,"filters":{"groups":[]}`, n) + `}]}`, 0},
		"unknown members":         {`{"flags":[{"id":1,"key":"a","filters":{},` + each(`"unknown %d":1`) + `}]}`, 0},
		"near what is there":      {`{"flags":[{"id":1,"key":"a","filters":{},"evaluation_contexts_match_mode":"any",` + each(`"evaluation_contexts_match_mo%.2d":1`) + `}]}`, 0},
		"conditions that are not": {`{"flags":[{"id":1,"key":"a","filters":{"groups":[` + each(`{"rolout_percentage":%d}`) + `]}}]}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := flags.ParseDefinitions([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := len(flags.Compile(d).Faults()); got != c.faults {
				t.Errorf("%d faults, want %d", got, c.faults)
			}
		})
	}
}
