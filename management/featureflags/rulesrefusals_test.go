package featureflags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
)

// Refusals names every definition of a file that the API would not store, cohorts first, at most
// one fault for each (§5.1.2, §5.2, flags.md §1.5).
func TestRefusals_List(t *testing.T) {
	flagOf := func(key, filters, more string) string {
		return fmt.Sprintf(`{"id":1,"key":%q,"active":true,"filters":%s%s}`, key, filters, more)
	}
	const all = `{"groups":[{}]}`
	inCohort := func(id string) string {
		return `{"groups":[{"properties":[{"key":"id","type":"cohort","operator":"in","value":` + id + `}]}]}`
	}
	const badTree = `{"properties":{"type":"AND","values":[{"key":"k","type":"person","operator":"regex","value":"("}]}}`
	nested := func(id string) string {
		return `{"properties":{"type":"AND","values":[{"key":"id","type":"cohort","value":` + id + `}]}}`
	}
	for what, c := range map[string]struct{ flags, cohorts, want string }{
		"nothing":                             {``, ``, ``},
		"all are fine":                        {flagOf("a", inCohort("7"), ``), `"7":{"is_static":true}`, ``},
		"a deleted flag":                      {flagOf("a b", all, `,"deleted":true`), ``, ``},
		"each flag once":                      {flagOf("a b", `{"groups":[{"rollout_percentage":101}]}`, ``), ``, `flag a b key`},
		"several flags in their order":        {flagOf("b.c", all, ``) + `,` + flagOf("ok", all, ``) + `,` + flagOf("a.b", all, ``), ``, `flag b.c key, flag a.b key`},
		"settings":                            {flagOf("a", all, `,"bucketing_identifier":"device_id","ensure_experience_continuity":true`), ``, `flag a bucketing_identifier`},
		"50 contexts":                         {flagOf("a", all, `,"evaluation_contexts":`+flagtest.List(50, `"x"`)), ``, ``},
		"51 contexts":                         {flagOf("a", all, `,"evaluation_contexts":`+flagtest.List(51, `"x"`)), ``, `flag a evaluation_contexts`},
		"a context of 256 characters":         {flagOf("a", all, `,"evaluation_contexts":[`+flagtest.Text(256)+`]`), ``, `flag a evaluation_contexts`},
		"shares":                              {flagOf("a", `{"groups":[{}],"multivariate":{"variants":[{"key":"v","rollout_percentage":50}]}}`, ``), ``, `flag a filters.multivariate.variants`},
		"payloads":                            {flagOf("a", `{"groups":[{}],"payloads":{"x":"1"}}`, ``), ``, `flag a filters.payloads.x`},
		"a type that is not named is person":  {flagOf("a", `{"groups":[{"properties":[{"key":"k","value":"x"}]}]}`, ``), ``, ``},
		"the name of a cohort":                {``, `"7":{"name":` + flagtest.Text(401) + `,"is_static":true}`, `cohort 7 filters`},
		"the name of a cohort, 400":           {``, `"7":{"name":` + flagtest.Text(400) + `,"is_static":true}`, ``},
		"the rules of a cohort":               {``, `"7":{"filters":` + badTree + `}`, `cohort 7 filters`},
		"a deleted cohort":                    {``, `"7":{"deleted":true,"filters":` + badTree + `}`, ``},
		"cohorts by their ids, before flags":  {flagOf("a b", all, ``), `"12":{"filters":` + badTree + `},"7":{"filters":` + badTree + `}`, `cohort 7 filters, cohort 12 filters, flag a b key`},
		"a flag of a refused cohort":          {flagOf("a", inCohort("7"), ``), `"7":{"filters":` + badTree + `}`, `cohort 7 filters, flag a filters.groups.0.properties.0.value`},
		"a flag of a cohort of a refused one": {flagOf("a", inCohort("8"), ``), `"7":{"filters":` + badTree + `},"8":{"filters":` + nested("7") + `}`, `cohort 7 filters, flag a filters.groups.0.properties.0.value`},
	} {
		t.Run(what, func(t *testing.T) {
			d, err := flags.ParseDefinitions([]byte(`{"flags":[` + c.flags + `],"cohorts":{` + c.cohorts + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range featureflags.Refusals(&d) {
				name := "flag " + r.Flag
				if r.Cohort != 0 {
					name = fmt.Sprintf("cohort %d", r.Cohort)
				}
				got = append(got, strings.TrimSpace(name+" "+r.Path))
				if r.Reason == "" {
					t.Errorf("%s has no reason", name)
				}
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("%q, want %q", strings.Join(got, ", "), c.want)
			}
		})
	}
}

// A proposed key is valid in the API: each sequence of invalid characters is replaced by a hyphen,
// except at the ends; there is no proposal for keys of more than 400 characters.
func TestProposedKey_Bounds(t *testing.T) {
	for key, want := range map[string]string{
		"a.b.c": "a-b-c", "a..b": "a-b", ".a": "a", "a.": "a", "-a-.": "a", "a-.b": "a--b", "Ab_9": "Ab_9", "": "flag", "-": "-",
		strings.Repeat("a", 400): strings.Repeat("a", 400), strings.Repeat("a", 401): "", strings.Repeat("a", 399) + ".": strings.Repeat("a", 399),
	} {
		if got := featureflags.ProposedKey(key); got != want {
			t.Errorf("%.20q: %q, want %q", key, got, want)
		}
	}
}
