package flags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// TestFlags_Decision2_PartialSubjects verifies that a property that was not supplied is
// unknown, and that a flag which could change with it is undecided. Every expected value
// follows from this rule and the order of §3.
func TestFlags_Decision2_PartialSubjects(t *testing.T) {
	const (
		pro          = `{"key":"plan","type":"person","operator":"exact","value":"pro"}`
		free         = `{"key":"plan","type":"person","operator":"exact","value":"free"}`
		personFilter = `{"key":"known","type":"person","operator":"exact","value":"yes"}`
		tier         = `{"key":"tier","type":"group","group_type_index":0,"operator":"exact","value":"gold"}`
		cohort1      = `{"key":"id","type":"cohort","operator":"in","value":1}`
		target       = `{"key":"5","type":"flag","operator":"flag_evaluates_to","value":true}`
		variants     = `"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}`
	)
	person := func(name string) *flags.Undecided { return &flags.Undecided{Fact: "person property", Name: name} }
	const on, off = "on", "off"
	tests := []struct {
		name    string
		filters string // of flag 1, "flag"
		record  string // further members of its record
		more    string // further members of the definitions
		flags   string // further flags
		subject flags.Subject
		want    string // on, off, a variant or a failure code
		missing *flags.Undecided
	}{
		{name: "unknown property", filters: cond(pro), missing: person("plan")},
		{name: "negative operators too", filters: cond(`{"key":"plan","type":"person","operator":"is_not_set"}`), missing: person("plan")},
		{name: "supplied by the request", filters: cond(pro), subject: flags.Subject{Person: flags.Properties{"plan": "pro"}}, want: on},
		{name: "supplied as null", filters: cond(pro), subject: flags.Subject{Person: flags.Properties{"plan": nil}}, want: off},
		{name: "supplied as stored", filters: cond(pro), subject: flags.Subject{Stored: &flags.Stored{Person: flags.Properties{"plan": "pro"}}}, want: on},
		{name: "another filter misses", filters: cond(pro + "," + personFilter), subject: flags.Subject{Person: flags.Properties{"known": "no"}}, want: off},
		{name: "another filter matches", filters: cond(pro + "," + personFilter), subject: flags.Subject{Person: flags.Properties{"known": "yes"}}, missing: person("plan")},
		{name: "a filter that never matches", filters: cond(pro + `,{"key":"x","type":"person","operator":"in","value":1}`), want: off},
		{name: "nobody is in the rollout", filters: cond(pro, 0), want: off},
		{name: "the bucket is not in the rollout (H 0.29177)", filters: cond(pro, 29), want: off},
		{name: "the bucket is in the rollout", filters: cond(pro, 30), missing: person("plan")},
		{name: "a match before", filters: cond("") + "," + cond(pro), want: on},
		{name: "the same answer behind", filters: cond(pro) + "," + cond(""), want: on},
		{name: "the same answer behind two", filters: cond(pro) + "," + cond(free) + "," + cond(""), want: on},
		{name: "no answer behind", filters: cond(pro) + "," + cond(free) + "," + cond("", 10), missing: person("plan")},
		{name: "the same variant behind", filters: cond(pro) + "," + cond("") + `],` + variants + `,"x":[`, want: "a"},
		{name: "another variant behind", filters: strings.Replace(cond(pro), `{`, `{"variant":"b",`, 1) + "," + cond("") + `],` + variants + `,"x":[`, missing: person("plan")},
		{name: "early exit: unknown, and the bucket not in", filters: cond(pro, 10) + "," + cond("") + `],"early_exit":true,"x":[`, missing: person("plan")},
		{name: "early exit: a miss either way", filters: cond(pro, 10) + "," + cond("", 20) + `],"early_exit":true,"x":[`, want: off},
		{name: "distinct_id is known", filters: cond(`{"key":"distinct_id","type":"person","operator":"exact","value":"u1"}`), want: on},
		{name: "a stored $initial_ could be there", filters: cond(`{"key":"$initial_browser","type":"person","operator":"exact","value":"x"}`),
			subject: flags.Subject{Person: flags.Properties{"$browser": "x"}}, missing: person("$initial_browser")},
		{name: "a supplied $initial_", filters: cond(`{"key":"$initial_browser","type":"person","operator":"exact","value":"x"}`),
			subject: flags.Subject{Person: flags.Properties{"$initial_browser": "x"}}, want: on},
		{name: "located by header", filters: cond(`{"key":"$geoip_country_code","type":"person","operator":"exact","value":"US"}`),
			subject: flags.Subject{Located: flags.Properties{"$geoip_country_code": "US"}}, want: on},
		{name: "located by connection: a stored value would win", filters: cond(`{"key":"$geoip_country_code","type":"person","operator":"exact","value":"US"}`),
			subject: flags.Subject{Located: flags.Properties{"$geoip_country_code": "US"}, LocatedByPeer: true}, missing: person("$geoip_country_code")},
		{name: "not located", filters: cond(`{"key":"$geoip_country_code","type":"person","operator":"exact","value":"US"}`), missing: person("$geoip_country_code")},
		{name: "created_at", filters: cond(`{"key":"created_at","type":"person_metadata","operator":"is_date_after","value":"2020-01-01"}`),
			missing: &flags.Undecided{Fact: "person metadata", Name: "created_at"}},
		{name: "enrollment", filters: cond("") + `],"feature_enrollment":true,"x":[`, missing: person("$feature_enrollment/flag")},
		{name: "enrollment supplied", filters: cond("", 0) + `],"feature_enrollment":true,"x":[`, subject: flags.Subject{Person: flags.Properties{"$feature_enrollment/flag": true}}, want: on},
		{name: "a holdout comes before the conditions", filters: cond(pro) + `],"holdout":{"id":7,"exclusion_percentage":100},"x":[`, want: "holdout-7"},
		{name: "group property", filters: cond(tier), subject: flags.Subject{Groups: map[string]string{"org": "o"}}, missing: &flags.Undecided{Fact: "group property", Name: "tier"}},
		{name: "without the group nothing is unknown", filters: cond(tier), want: off},
		{name: "$group_key is known", filters: cond(strings.Replace(tier, "tier", "$group_key", 1)), subject: flags.Subject{Groups: map[string]string{"org": "gold"}}, want: on},
		{name: "a group condition without its group", filters: strings.Replace(cond(tier), `{`, `{"aggregation_group_type_index":0,`, 1), want: off},
		{name: "static cohort", filters: cond(cohort1), more: `,"cohorts":{"1":{"is_static":true}}`, missing: &flags.Undecided{Fact: "cohort", Name: "1"}},
		{name: "static cohort that the definitions carry", filters: cond(cohort1), more: `,"cohorts":{"1":{"is_static":true,"members":["u1"]}}`, want: on},
		{name: "static cohort that the definitions name (decision 5)", filters: cond(cohort1), more: `,"static_cohorts":[1]`, missing: &flags.Undecided{Fact: "cohort", Name: "1"}},
		{name: "a cohort that PostHog's payload does not carry (decision 5)", filters: cond(cohort1), missing: &flags.Undecided{Fact: "cohort", Name: "1"}},
		{name: "a cohort that ours does not carry does not exist", filters: cond(cohort1), more: `,"static_cohorts":[]`, want: "dependency_not_found_cohort"},
		{name: "a cohort within ours that PostHog's payload does not carry", filters: cond(cohort1), more: `,"cohorts":{"1":{"type":"AND","values":[{"key":"id","type":"cohort","value":999}]}}`,
			missing: &flags.Undecided{Fact: "cohort", Name: "999"}},
		{name: "cohort, a leaf is unknown", filters: cond(cohort1), more: `,"cohorts":{"1":{"type":"AND","values":[` + pro + `]}}`, missing: person("plan")},
		{name: "cohort, another leaf decides an OR", filters: cond(cohort1), more: `,"cohorts":{"1":{"type":"OR","values":[` + pro + `,` + personFilter + `]}}`, subject: flags.Subject{Person: flags.Properties{"known": "yes"}}, want: on},
		{name: "cohort, another leaf decides an AND", filters: cond(cohort1), more: `,"cohorts":{"1":{"type":"AND","values":[` + pro + `,` + personFilter + `]}}`, subject: flags.Subject{Person: flags.Properties{"known": "no"}}, want: off},
		{name: "a property that misses hides an unknown cohort", filters: cond(cohort1 + "," + personFilter), subject: flags.Subject{Person: flags.Properties{"known": "no"}}, want: off},
		{name: "dependency on an undecided flag", filters: cond(target), flags: `,{"id":5,"key":"target","active":true,"filters":{"groups":[` + cond(pro) + `]}}`, missing: &flags.Undecided{Fact: "flag", Name: "target"}},
		{name: "dependency that does not matter", filters: cond(target) + "," + cond(""), flags: `,{"id":5,"key":"target","active":true,"filters":{"groups":[` + cond(pro) + `]}}`, want: on},
		{name: "dependency on a decided flag", filters: cond(target), flags: `,{"id":5,"key":"target","active":true,"filters":{"groups":[` + cond(pro, 0) + `]}}`, want: off},
		{name: "continuity: a stored identifier could be there", filters: cond("", 50), record: `,"ensure_experience_continuity":true`, missing: &flags.Undecided{Fact: "experience continuity", Name: "stored identifier"}},
		{name: "continuity: looked up", filters: cond("", 50), record: `,"ensure_experience_continuity":true`, subject: flags.Subject{Stored: &flags.Stored{Overrides: map[string]string{}}}, want: on},
		{name: "continuity: the bucket does not matter", filters: cond("", 100), record: `,"ensure_experience_continuity":true`, want: on},
		{name: "continuity: nobody is in", filters: cond("", -1), record: `,"ensure_experience_continuity":true`, want: off},
		{name: "a failure behind an unknown property", filters: cond(pro+","+cohort1) + "," + cond(""), more: `,"static_cohorts":[]`, missing: person("plan")},
		{name: "a failure on the way", filters: cond(cohort1) + "," + cond(pro), more: `,"static_cohorts":[]`, want: "dependency_not_found_cohort"},
		{name: "no runtime facts: missing dependency", filters: cond(pro + "," + strings.Replace(target, "5", "6", 1)), more: `,"withheld_flags":[]`, want: "missing_dependency"},
		{name: "a dependency that the server has", filters: cond(strings.Replace(target, "5", "6", 1)), more: `,"withheld_flags":[{"id":6,"key":"six"}]`,
			missing: &flags.Undecided{Fact: "flag", Name: "6"}},
		{name: "a dependency that a server may have, which does not tell", filters: cond(strings.Replace(target, "5", "6", 1)),
			missing: &flags.Undecided{Fact: "flag", Name: "6"}},
		{name: "behind one that the server has", filters: cond(target), more: `,"withheld_flags":[{"id":6,"key":"six"}]`,
			flags: `,{"id":5,"key":"five","active":true,"filters":{"groups":[` + cond(strings.Replace(target, "5", "six", 1)) + `]}}`, missing: &flags.Undecided{Fact: "flag", Name: "six"}},
		{name: "and behind one that nobody has", filters: cond(target + "," + strings.Replace(target, "5", "7", 1)), more: `,"withheld_flags":[{"id":6,"key":"six"}]`,
			flags: `,{"id":5,"key":"five","active":true,"filters":{"groups":[` + cond(strings.Replace(target, "5", "six", 1)) + `]}}`, want: "missing_dependency"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := flags.ParseDefinitions([]byte(`{"group_type_mapping":{"0":"org"}` + tt.more + `,"flags":[{"id":1,"key":"flag","active":true` + tt.record +
				`,"filters":{"groups":[` + tt.filters + `]}}` + tt.flags + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			set := flags.Compile(d)
			tt.subject.DistinctID, tt.subject.Partial = "u1", true
			got := decideOne(set, &tt.subject)
			if diff := cmp.Diff(tt.missing, got.Undecided); diff != "" {
				t.Fatalf("undecided (-want +got):\n%s\n%s", diff, show(&got))
			}
			if tt.missing == nil && answerOf(&got) != tt.want {
				t.Errorf("got %s, want %s", show(&got), tt.want)
			}
			tt.subject.Partial = false
			if full := decideOne(set, &tt.subject); full.Undecided != nil {
				t.Errorf("a full subject is not decided: %v", full.Undecided)
			} else if tt.missing == nil && tt.subject.Stored == nil && answerOf(&full) != tt.want {
				t.Errorf("with nothing stored %s, partial %s", show(&full), tt.want)
			}
		})
	}
}

// cond returns a condition in JSON; the default rollout is 100. By hashlib of CPython
// H("flag.u1") is 0.29177 and H("flag.u1variant") 0.33023.
func cond(filters string, rollout ...float64) string {
	p := 100.0
	if rollout != nil {
		p = rollout[0]
	}
	return fmt.Sprintf(`{"properties":[%s],"rollout_percentage":%v}`, filters, p)
}

func decideOne(set *flags.Set, sub *flags.Subject) flags.Decision {
	var out flags.Decisions
	set.Evaluate(sub, testAt, &out)
	return *out.Find("flag")
}

// answerOf returns a result in one word.
func answerOf(d *flags.Decision) string {
	switch {
	case d.Failed() || d.Reason.Code == flags.MissingDependency:
		return d.Reason.Code.String()
	case d.Variant != "":
		return d.Variant
	case d.Enabled:
		return "on"
	}
	return "off"
}
