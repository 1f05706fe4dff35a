package sdklint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// localFlag returns the record of a flag with one property about x of a person.
func localFlag(property string) string {
	return `{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "x", "type": "person", ` + property + `}]}]}}`
}

func localFilters(filters, more string) string {
	return `{"id": 1, "key": "f", "active": true` + more + `, "filters": ` + filters + `}`
}

const (
	everybody  = `{"groups": [{"properties": []}]}`
	half       = `{"groups": [{"properties": [], "rollout_percentage": 50}]}`
	localOther = `{"id": 2, "key": "g", "active": true, "filters": `
)

func localCohort(operator, id string) string {
	return `{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "` + operator + `", "value": ` + id + `}]}]}}`
}

func localDependency(rest string) string {
	return `{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "2", "type": "flag", ` + rest + `}]}]}}`
}

const wantsG = `"operator": "flag_evaluates_to", "value": true`

// localCases are flags "f" with the problems of "f": SDK, kind and a word of the reason. The
// behavior of SDKs is taken from their sources (posthog-go 1.27.0, posthog-node 5.70.0) and
// from §11 (posthog-python 7.42.0); adapters/httpapi/sdktest verifies it for the first two.
var localCases = []struct {
	name, flags, cohorts, project string
	want                          []string
}{
	{"nothing to say", localFlag(`"operator": "exact", "value": "pro"`), "", "", nil},
	{"server flags", localFilters(half, `, "evaluation_runtime": "server"`), "", "", nil},
	{"inactive", `{"id": 1, "key": "f", "active": false, "filters": {"groups": [{"properties": [{"key": "x", "type": "person", "operator": "between", "value": [1, 2]}]}]}}`, "", "", nil},
	{"deleted", localFilters(half, `, "deleted": true, "ensure_experience_continuity": true`), "", "", nil},

	{"continuity", localFilters(half, `, "ensure_experience_continuity": true`), "", "", []string{"all asks continuity"}},
	{"continuity, inactive", `{"id": 1, "key": "f", "active": false, "ensure_experience_continuity": true, "filters": ` + half + `}`, "", "", []string{"go asks continuity", "python asks continuity"}},
	{"murmur3", localFilters(half, `, "bucketing_hash": "murmur3"`), "", "", []string{"all asks murmur3"}},
	{"murmur3 of the project", localFilters(half, ``), "", `, "bucketing_hash": "murmur3"`, []string{"all asks murmur3"}},
	{"murmur3 without a bucket", localFilters(everybody, `, "bucketing_hash": "murmur3"`), "", "", nil},
	{"pinned", localFilters(everybody, `, "pins": [{"cohort": -1, "value": false}]`), "", "", []string{"all asks pinned"}},
	{"encrypted", localFilters(everybody, `, "has_encrypted_payloads": true`), "", "", []string{"all asks encrypted"}},
	{"failed", localFlag(`"operator": "resembles", "value": "pro"`), "", "", []string{"all asks cannot be evaluated"}},
	{"unreadable", localFilters(`{"groups": 5}`, ``), "", "", []string{"all asks cannot be evaluated"}},
	{"unknown group type", localFilters(`{"groups": [{"properties": []}], "aggregation_group_type_index": 4}`, ``), "", "", []string{"all asks group type"}},
	{"device", localFilters(half, `, "bucketing_identifier": "device_id"`), "", "", []string{"python asks device", "node asks device", "go differs device"}},
	{"device without a bucket", localFilters(everybody, `, "bucketing_identifier": "device_id"`), "", "", []string{"python asks device", "node asks device"}},
	{"device of a group flag", localFilters(`{"groups": [{"properties": [], "rollout_percentage": 50}], "aggregation_group_type_index": 0}`, `, "bucketing_identifier": "device_id"`), "", "", nil},
	{"enrollment", localFilters(`{"groups": [], "feature_enrollment": true}`, ``), "", "", []string{"all differs enrollment"}},
	{"client", localFilters(everybody, `, "evaluation_runtime": "client"`), "", "", []string{"all differs clients"}},
	{"holdout", localFilters(`{"groups": [{}], "holdout": {"id": 1, "exclusion_percentage": 10}}`, ``), "", "", []string{"go differs holdout", "python differs holdout"}},
	{"holdout of nobody", localFilters(`{"groups": [{}], "holdout": {"id": 1, "exclusion_percentage": 0}}`, ``), "", "", nil},
	{"contexts", localFilters(everybody, `, "evaluation_contexts": ["web"]`), "", "", []string{"python differs contexts"}},
	{"all contexts", localFilters(everybody, `, "evaluation_contexts": ["web", "app"], "evaluation_contexts_match_mode": "all"`), "", "", []string{"python differs contexts", "node differs contexts"}},
	{"person condition of a group flag", localFilters(`{"groups": [{"properties": [], "aggregation_group_type_index": null}], "aggregation_group_type_index": 0}`, ``), "", "", []string{"go differs explicit", "node differs explicit"}},
	{"payload 0", localFilters(`{"groups": [], "payloads": {"true": "0", "a": "{}"}}`, ``), "", "", []string{"node differs payload"}},

	{"cohort", localCohort("in", "1"), `{"1": {"type": "AND", "values": [{"key": "x", "type": "person", "operator": "exact", "value": "pro"}]}}`, "", nil},
	{"static cohort", localCohort("not_in", "1"), `{"1": {"is_static": true, "members": []}}`, "", []string{"all asks static"}},
	{"static cohort within", localCohort("in", "1"), `{"1": {"type": "OR", "values": [{"key": "id", "type": "cohort", "value": 2}]}, "2": {"is_static": true}}`, "", []string{"all asks static"}},
	{"no such cohort", localCohort("in", "1"), ``, "", []string{"all asks not in the definitions"}},
	{"deleted cohort", localCohort("in", "1"), `{"1": {"deleted": true}}`, "", []string{"all asks not in the definitions"}},
	{"cohort by text, not served", localCohort("in", `"1"`), `{"1": {"type": "AND", "values": []}}`, "", []string{"all asks refers to itself"}},
	{"cohort cycle", localCohort("not_in", "1"), `{"1": {"type": "AND", "values": [{"key": "id", "type": "cohort", "value": 2}]}, "2": {"type": "OR", "values": [{"key": "id", "type": "cohort", "value": 1}]}}`, "", []string{"all asks refers to itself"}},
	{"realtime cohort", localCohort("exact", "1"), `{"1": {"cohort_type": "realtime", "filters": {"properties": {"type": "AND", "values": []}}}}`, "", []string{"all asks realtime"}},
	{"cohort of nothing", localCohort("in", "1"), `{"1": {"name": "n"}}`, "", []string{"all asks no definition"}},
	{"events", localCohort("in", "1"), `{"1": {"type": "OR", "values": [{"type": "behavioral", "key": "e", "value": "performed_event"}]}}`, "", []string{"all asks events"}},
	{"leaf beside group", localCohort("in", "1"), `{"1": {"type": "OR", "values": [{"key": "x", "type": "person", "value": "a"}, {"type": "AND", "values": []}]}}`, "", []string{"node asks side by side"}},
	{"empty OR", localCohort("in", "1"), `{"1": {"type": "AND", "values": [{"type": "OR", "values": []}]}}`, "", []string{"go differs OR", "python differs OR"}},
	{"not_in", localCohort("not_in", "1"), `{"1": {"type": "AND", "values": []}}`, "", []string{"go differs not_in"}},
	{"exact of a cohort", localCohort("exact", "1"), `{"1": {"type": "AND", "values": []}}`, "", []string{"go differs operator", "node differs operator", "python differs exact"}},
	{"is_set of a cohort", localCohort("is_set", "1"), `{"1": {"type": "AND", "values": []}}`, "", []string{"go differs operator", "node differs operator", "python asks operator"}},
	{"whole number in a cohort", localCohort("in", "1"), `{"1": {"type": "AND", "values": [{"key": "x", "type": "person", "value": 5}]}}`, "", []string{"go differs does not hold", "go asks whole number", "node asks whole number"}},
	{"version in a cohort", localCohort("in", "1"), `{"1": {"type": "AND", "values": [{"key": "x", "type": "person", "operator": "semver_eq", "value": "a"}]}}`, "", []string{"all asks cohort"}},
	{"list in a cohort", localCohort("in", "1"), `{"1": {"type": "AND", "values": [{"key": "x", "type": "person", "operator": "icontains", "value": ["a", "b"]}]}}`, "", []string{"all differs list", "go differs text", "python differs text", "node differs text"}},
	{"flag in a cohort", localCohort("in", "1"), `{"1": {"type": "AND", "values": [{"key": "2", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}}`, "", []string{"go asks in a cohort", "node asks in a cohort"}},
	{
		"cohort by text, served", localCohort("in", `"1"`) + `, {"id": 2, "key": "g", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "value": 1}]}]}}`,
		`{"1": {"type": "AND", "values": []}}`, "", []string{"go differs id", "node differs id"},
	},

	{"no such flag", localDependency(wantsG), "", "", []string{"all asks not in the definitions"}},
	{"failed flag", localDependency(wantsG) + `, ` + localOther + `{"groups": 5}}`, "", "", []string{"all asks not in the definitions"}},
	{"encrypted flag", localDependency(wantsG) + `, {"id": 2, "key": "g", "active": true, "has_encrypted_payloads": true, "filters": ` + everybody + `}`, "", "", []string{"all asks not in the definitions"}},
	{"itself", strings.ReplaceAll(localDependency(wantsG), `"2"`, `"1"`), "", "", []string{"all asks back to itself"}},
	{"a problem passed on", localDependency(wantsG) + `, {"id": 2, "key": "g", "active": true, "ensure_experience_continuity": true, "filters": ` + everybody + `}`, "", "", []string{`all asks depends on "g"`}},
	{"no problem of an inactive flag", localDependency(wantsG) + `, {"id": 2, "key": "g", "active": false, "ensure_experience_continuity": true, "filters": ` + everybody + `}`, "", "", nil},
	{"a flag about groups", localDependency(wantsG) + `, ` + localOther + `{"groups": [{}], "aggregation_group_type_index": 0}}`, "", "", []string{"go asks something else"}},
	{"a mixed flag", localDependency(wantsG) + `, ` + localOther + `{"groups": [{"aggregation_group_type_index": 0}, {}]}}`, "", "", []string{"go asks something else"}},
	{"no value", localDependency(`"operator": "flag_evaluates_to"`) + `, ` + localOther + everybody + `}`, "", "", []string{"go asks without a value"}},
	{"wrong operator", localDependency(`"operator": "exact", "value": true`) + `, ` + localOther + everybody + `}`, "", "", []string{"go asks another operator", "node differs operator"}},

	{"creation time", localFilters(`{"groups": [{"properties": [{"key": "created_at", "type": "person_metadata", "operator": "is_set"}]}]}`, ``), "", "", []string{"all asks creation time"}},
	{"group filter for persons", localFilters(`{"groups": [{"properties": [{"key": "x", "type": "group", "group_type_index": 0, "value": "a"}]}]}`, ``), "", "", []string{"go asks in the person's properties", "node asks in the person's properties", "go asks without an operator"}},
	{"another group type", localFilters(`{"groups": [{"properties": [{"key": "x", "type": "group", "group_type_index": 1, "operator": "exact", "value": "a"}]}], "aggregation_group_type_index": 0}`, ``), "", "", []string{"go differs another group type", "node differs another group type"}},
	{"the same group type", localFilters(`{"groups": [{"properties": [{"key": "x", "type": "group", "group_type_index": 0, "operator": "exact", "value": "a"}]}], "aggregation_group_type_index": 0}`, ``), "", "", nil},
	{"person filter for groups", localFilters(`{"groups": [{"properties": [{"key": "x", "type": "person", "operator": "is_set"}], "aggregation_group_type_index": 0}]}`, ``), "", "", []string{"go differs with the group's", "node differs with the group's", "go asks are ignored", "node asks are ignored"}},
	{"cohort for groups", localFilters(`{"groups": [{"properties": [{"key": "id", "type": "cohort", "value": 1}]}], "aggregation_group_type_index": 0}`, ``), `{"1": {"type": "AND", "values": []}}`, "", []string{"go differs with the group's", "node differs with the group's", "go asks are ignored", "node asks are ignored"}},

	{"between", localFlag(`"operator": "between", "value": [1, 2]`), "", "", []string{"all asks operator"}},
	{"max", localFlag(`"operator": "max", "value": 5`), "", "", []string{"all asks operator"}},
	{"is_not_set", localFlag(`"operator": "is_not_set"`), "", "", []string{"all asks is_not_set"}},
	{"no operator", localFlag(`"value": "a"`), "", "", []string{"go asks without an operator"}},
	{"whole number", localFlag(`"operator": "is_not", "value": ["a", {"b": 5.0}]`), "", "", []string{"go asks whole number", "node asks whole number", "python differs another text"}},
	{"fraction", localFlag(`"operator": "exact", "value": 1.5`), "", "", nil},
	{"no filter value", localFlag(`"operator": "exact"`), "", "", []string{"node asks without a value", "go differs without a value", "python differs another text"}},
	{"true", localFlag(`"operator": "exact", "value": ["true"]`), "", "", []string{"python differs booleans"}},
	{"true, version 2", localFlag(`"operator": "exact", "value": true`), "", `, "property_matching_version": 2`, nil},
	{"empty list, version 2", localFlag(`"operator": "exact", "value": []`), "", `, "property_matching_version": 2`, []string{"python differs booleans"}},
	{"sharp s", localFlag(`"operator": "icontains", "value": "ß"`), "", "", []string{"python differs folding"}},
	{"text of 2.0", localFlag(`"operator": "icontains", "value": 2.0`), "", "", []string{"go differs text", "node differs text"}},
	{"text of a list", localFlag(`"operator": "icontains", "value": ["a"]`), "", "", []string{"go differs text", "python differs text", "node differs text"}},
	{"text of null", localFlag(`"operator": "icontains", "value": null`), "", "", []string{"go differs text", "python differs text"}},
	{"text of nothing", localFlag(`"operator": "not_regex"`), "", "", []string{"go differs text", "python differs text", "node differs text"}},
	{"number as text", localFlag(`"operator": "gt", "value": "-1.5e3"`), "", "", nil},
	{"no number", localFlag(`"operator": "gt", "value": "12abc"`), "", "", []string{"go asks not a number", "node differs number"}},
	{"hexadecimal", localFlag(`"operator": "lte", "value": "0x1p4"`), "", "", []string{"go differs number", "node differs number"}},
	{"truth is no number", localFlag(`"operator": "lte", "value": true`), "", "", []string{"go asks not a number", "node differs number"}},

	{"regex", localFlag(`"operator": "regex", "value": "^pr[a-z]+$"`), "", "", nil},
	{"look-ahead", localFlag(`"operator": "regex", "value": "p(?=ro)"`), "", "", []string{"go differs RE2 refuses", "node asks portable"}},
	{"refused everywhere", localFlag(`"operator": "not_regex", "value": "("`), "", "", nil},
	{"digits", localFlag(`"operator": "regex", "value": "^\\d+$"`), "", "", []string{"go differs ASCII"}},
	{"escaped backslash", localFlag(`"operator": "regex", "value": "\\\\d"`), "", "", nil},
	{"sets of sets", localFlag(`"operator": "regex", "value": "[a&&b]"`), "", "", []string{"go differs ASCII", "python differs Python", "node asks portable"}},
	{"named group", localFlag(`"operator": "regex", "value": "(?<n>a)"`), "", "", []string{"python differs Python", "node asks portable"}},

	{"zone", localFlag(`"operator": "is_date_after", "value": "2024-01-15"`), "", `, "timezone": "Asia/Tokyo"`, []string{"all differs zone"}},
	{"date", localFlag(`"operator": "is_date_after", "value": "2024-01-15"`), "", `, "timezone": "UTC"`, nil},
	{"days back", localFlag(`"operator": "is_date_after", "value": "-7d"`), "", "", nil},
	{"a month back", localFlag(`"operator": "is_date_after", "value": "-1m"`), "", "", []string{"go differs months"}},
	{"months back", localFlag(`"operator": "is_date_after", "value": "6m"`), "", "", []string{"go differs months", "python differs months"}},
	{"years back", localFlag(`"operator": "is_date_after", "value": "2y"`), "", "", []string{"go differs months"}},
	{"no date", localFlag(`"operator": "is_date_before", "value": "soon"`), "", "", []string{"go asks date", "python asks date", "node asks date"}},
	{"epoch", localFlag(`"operator": "is_date_before", "value": 1704153600`), "", "", []string{"go asks date", "node differs JavaScript"}},
	{"local time", localFlag(`"operator": "is_date_before", "value": "2024-06-01T12:00:00"`), "", "", []string{"node differs JavaScript"}},
	{"time with a zone", localFlag(`"operator": "is_date_before", "value": "2024-06-01T12:00:00+02:00"`), "", "", nil},

	{"version", localFlag(`"operator": "semver_caret", "value": "v1.2"`), "", "", nil},
	{"pre-release", localFlag(`"operator": "semver_gt", "value": "1.2.3-rc1"`), "", "", []string{"go differs version", "python differs version", "node differs version"}},
	{"leading zero", localFlag(`"operator": "semver_eq", "value": "01.2"`), "", "", []string{"go asks version", "python asks version", "node asks version"}},
	{"empty part", localFlag(`"operator": "semver_eq", "value": "1..3"`), "", "", []string{"go asks version", "python asks version", "node differs version"}},
	{"version as a number", localFlag(`"operator": "semver_eq", "value": 1.2`), "", "", []string{"go asks version"}},
	{"wildcard", localFlag(`"operator": "semver_wildcard", "value": "1.2.*"`), "", "", nil},
	{"wildcard without a star", localFlag(`"operator": "semver_wildcard", "value": "1.2.3"`), "", "", []string{"go differs version", "python differs version", "node differs version"}},
	{"wildcard in the middle", localFlag(`"operator": "semver_wildcard", "value": "1.*.3"`), "", "", []string{"node asks version", "go differs version", "python differs version"}},
}

func localDefinitions(t *testing.T, records, cohorts, project string) flags.Definitions {
	t.Helper()
	if cohorts == "" {
		cohorts = "{}"
	}
	d, err := flags.ParseDefinitions([]byte(`{"flags": [` + records + `], "cohorts": ` + cohorts + `, "group_type_mapping": {"0": "company", "1": "team"}` + project + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func localKindOf(p Problem) string {
	if p.Differs {
		return "differs"
	}
	return "asks"
}

func TestProblems_11(t *testing.T) {
	covered := map[string]bool{} // rules by kind and reason
	for _, c := range localCases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range Problems(localDefinitions(t, c.flags, c.cohorts, c.project)) {
				if p.Key == "f" {
					covered[localKindOf(p)+p.SDK+p.Why] = true
					got = append(got, p.SDK+" "+localKindOf(p)+" "+p.Why)
				}
			}
			same := len(got) == len(c.want)
			for i := range min(len(got), len(c.want)) {
				words := strings.SplitN(c.want[i], " ", 3)
				same = same && strings.HasPrefix(got[i], words[0]+" "+words[1]+" ") && strings.Contains(got[i], words[2])
			}
			if !same {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
	for _, r := range rules {
		for _, sdk := range strings.Fields(r.sdks) {
			kind := localKindOf(Problem{Differs: r.kind == differs})
			if !covered[kind+sdk+r.why] && !strings.HasPrefix(r.why, "surveys") {
				t.Errorf("no case for %s: %s", sdk, r.why)
			}
		}
	}
}

// A flag that surveys create has a key with a special prefix.
func TestProblems_Surveys(t *testing.T) {
	d := localDefinitions(t, `{"id": 1, "key": "survey-targeting-1", "active": true, "filters": `+everybody+`}`, "", "")
	if got := Problems(d); len(got) != 1 || got[0].SDK != "all" || got[0].Differs || !strings.Contains(got[0].Why, "surveys") {
		t.Errorf("%v", got)
	}
}

// The second flag with a key is not used, and has no problems.
func TestProblems_SecondOfAKey(t *testing.T) {
	d := localDefinitions(t, localFilters(everybody, ``)+`, {"id": 2, "key": "f", "active": true, "ensure_experience_continuity": true, "filters": `+everybody+`}`, "", "")
	if got := Problems(d); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// A flag built by hand is written with explicit operators.
func TestProblems_BuiltByHand(t *testing.T) {
	d := flags.Definitions{Flags: []flags.Flag{{ID: 1, Key: "f", Active: true, Conditions: []flags.Condition{{Properties: []flags.Property{{Key: "x", Type: flags.PersonProperty, Value: "a"}}}}}}}
	if got := Problems(d); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// localChain returns n flags that each depend on the next in all of their conditions; last is
// at the end.
func localChain(n, conditions int, last flags.Flag) flags.Definitions {
	d := flags.Definitions{Flags: make([]flags.Flag, n)}
	for i := range d.Flags {
		f := &d.Flags[i]
		*f = flags.Flag{ID: int64(i + 1), Key: fmt.Sprintf("flag-%d", i), Active: true}
		for range conditions {
			f.Conditions = append(f.Conditions, flags.Condition{Properties: []flags.Property{{
				Key: fmt.Sprint(i + 2), Type: flags.FlagProperty, Operator: flags.FlagEvaluatesTo, Value: true, HasValue: true,
			}}})
		}
	}
	last.ID, last.Key, last.Active = int64(n), d.Flags[n-1].Key, true
	d.Flags[n-1] = last
	return d
}

// countRule adds a rule until the end of the test. The rule counts the flags and the nodes of
// cohorts that are checked, and fails the test if they exceed limit.
func countRule(t *testing.T, limit int) (checked, nodes *int) {
	t.Helper()
	checked, nodes = new(int), new(int)
	more := func(n *int) bool {
		if *n++; *n > limit {
			t.Fatalf("more than %d are looked at", limit)
		}
		return false
	}
	before := rules
	t.Cleanup(func() { rules = before })
	rules = append([]rule{{"all", needsServer, "counted", test{
		flag: func(*check, *flags.Flag) bool { return more(checked) },
		node: func(*flags.CohortNode) bool { return more(nodes) },
	}}}, before...)
	return checked, nodes
}

// Each flag is checked once, however many flags depend on it: otherwise two conditions
// for each flag would result in 2^999 paths.
func TestProblems_LongChains(t *testing.T) {
	for name, c := range map[string]struct {
		last flags.Flag
		want int // number of problems, most of them "it depends on"
	}{
		"sound":   {flags.Flag{Conditions: []flags.Condition{{}}}, 0},
		"asks":    {flags.Flag{Continuity: true, Conditions: []flags.Condition{{}}}, 1000},
		"both":    {flags.Flag{Enrollment: true, DeviceBucketing: true, Conditions: []flags.Condition{{}}}, 3000},
		"cycle":   {flags.Flag{Conditions: []flags.Condition{{Properties: []flags.Property{{Key: "1", Type: flags.FlagProperty, Operator: flags.FlagEvaluatesTo, Value: true}}}}}, 1000},
		"missing": {flags.Flag{Conditions: []flags.Condition{{Properties: []flags.Property{{Key: "none", Type: flags.FlagProperty, Operator: flags.FlagEvaluatesTo, Value: true}}}}}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			d := localChain(1000, 2, c.last)
			l := newCheck(&d)
			flagCount, _ := countRule(t, 1000)
			n := 0
			for i := range d.Flags {
				n += len(l.flag(i))
			}
			if *flagCount != 1000 {
				t.Errorf("%d flags are looked at, want each of 1000 once", *flagCount)
			}
			if n != c.want {
				t.Errorf("%d problems, want %d", n, c.want)
			}
		})
	}
}

// All flags on a cycle and behind it are left to the server; those before it and unrelated
// ones are not.
func TestProblems_Cycles(t *testing.T) {
	on := func(id int, key, dependency string) string {
		return fmt.Sprintf(`{"id": %d, "key": %q, "active": true, "filters": {"groups": [{"properties": [{"key": %q, "type": "flag", %s}]}]}}`, id, key, dependency, wantsG)
	}
	d := localDefinitions(t, strings.Join([]string{
		on(1, "behind", "2"), on(2, "a", "3"), on(3, "b", "4"), on(4, "c", "2"), on(5, "beside", "6"), localFilters(everybody, ``),
	}, ", "), "", "")
	d.Flags[5].ID = 6
	got := map[string][]Problem{}
	for _, p := range Problems(d) {
		got[p.Key] = append(got[p.Key], p)
	}
	for _, key := range []string{"behind", "a", "b", "c"} {
		if !slices.ContainsFunc(got[key], func(p Problem) bool { return p.SDK == "all" && !p.Differs }) {
			t.Errorf("%s: %v", key, got[key])
		}
	}
	if len(got) != 4 {
		t.Errorf("%v", got)
	}
}

// Cohorts are checked once too: 200 of them, each referred to twice by the next one.
func TestProblems_NestedCohorts(t *testing.T) {
	d := flags.Definitions{Cohorts: map[int64]flags.Cohort{}}
	for id := int64(1); id <= 200; id++ {
		leaf := flags.CohortNode{Leaf: &flags.Property{Key: "id", Type: flags.CohortProperty, Operator: flags.In, Value: id + 1}}
		if id == 200 {
			leaf = flags.CohortNode{Leaf: &flags.Property{Key: "x", Type: flags.PersonProperty, Operator: flags.Between, Value: []any{int64(1), int64(2)}}}
		}
		d.Cohorts[id] = flags.Cohort{Tree: &flags.CohortNode{Children: []flags.CohortNode{leaf, leaf}}}
	}
	d.Flags = []flags.Flag{{ID: 1, Key: "f", Active: true, Conditions: []flags.Condition{{Properties: []flags.Property{{Key: "id", Type: flags.CohortProperty, Value: int64(1)}}}}}}
	_, nodeCount := countRule(t, 600)
	got := Problems(d)
	if *nodeCount != 600 {
		t.Errorf("%d nodes are looked at, want each of 600 once", *nodeCount)
	}
	if len(got) != 2 || got[0].SDK != "go" || !got[0].Differs || got[1].SDK != "all" || got[1].Differs {
		t.Errorf("%v", got)
	}
}

// A new operator needs a family, or is one that SDKs do not support.
func TestProblems_EveryOperatorHasAFamily(t *testing.T) {
	others := []flags.Operator{flags.IContainsMulti, flags.NotIContainsMulti, flags.Between, flags.NotBetween, flags.IsDateExact, flags.In, flags.NotIn, flags.FlagEvaluatesTo}
	for _, o := range flags.Operators() {
		if supported := families[o.Name] != 0; supported == slices.Contains(others, o.Name) {
			t.Errorf("%s: a family and in the list of others, or neither", o.Name)
		}
	}
	if want := len(flags.Operators()) - len(others); len(families) != want {
		t.Errorf("%d operators have a family, want %d", len(families), want)
	}
}

// Based on posthog-node 5.70.0. A pattern that is invalid in both JavaScript and Rust counts
// as portable, since the results are the same.
func TestProblems_PortableExpressions(t *testing.T) {
	for pattern, want := range map[string]bool{
		``: true, `^pr`: true, `a|b`: true, `(?:a)b+?`: true, `\d\D\w\W\s\S`: true, `\x7f`: true, `\.\/\-\@`: true, `[\w-]`: true,
		`[a-z0-9_]`: true, `[^a]`: true, `[\b]`: true, `[-a]`: true, `a{2}`: true, `a{2,}`: true, `a{1,2}?`: true, `()`: true, `a}`: true, `]`: true,
		`(`: true, `[a`: true, `a\`: true, `*a`: true,
		`\bpro`: false, `\B`: false, `(?i)a`: false, `(?=a)`: false, `(?<n>a)`: false, `\p{L}`: false, `\u0041`: false, `\x4`: false, `\xzz`: false,
		`\1`: false, `\<`: false, `é`: false, `[é]`: false, `[]`: false, `[^]`: false, `[[a]b]`: false, `[a&&b]`: false, `[a--b]`: false, `[a~~b]`: false,
		`[\w-z]`: false, `[a-\d]`: false, `[\:]`: false, `[\B]`: false, `a++`: false, `a?+`: false, `a{2}{3}`: false, `a{2}+`: false, `a{,2}`: false, `{2}`: false,
		`|{2}`: false, `({2})`: false, `a{4294967296}`: false, `^*`: false, `$+`: false, `()*`: false, `(?:)?`: false,
	} {
		if got := isPortableExpression(pattern); got != want {
			t.Errorf("%q: %v", pattern, got)
		}
	}
}

func FuzzProblems(f *testing.F) {
	for _, c := range localCases {
		cohorts := c.cohorts
		if cohorts == "" {
			cohorts = "{}"
		}
		f.Add(`{"flags": [` + c.flags + `], "cohorts": ` + cohorts + c.project + `}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := flags.ParseDefinitions([]byte(text))
		if err != nil {
			return
		}
		for _, p := range Problems(d) {
			if p.Key == "" || p.Why == "" || !slices.Contains([]string{"all", "go", "python", "node"}, p.SDK) {
				t.Errorf("%+v", p)
			}
		}
		if _, err := json.Marshal(Problems(d)); err != nil {
			t.Error(err)
		}
	})
}
