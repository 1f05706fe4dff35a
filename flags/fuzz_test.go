package flags_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dlclark/regexp2/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// richDefinitions covers most of the evaluator: every kind of filter, all three states of
// aggregation, holdout, early access, early exit, both hashes, dependencies, cohorts of every
// kind, continuity and device bucketing.
const richDefinitions = `{
	"timezone": "Europe/Oslo", "group_type_mapping": {"0": "company", "1": "project"},
	"flags": [
		{"id": 1, "key": "texts", "active": true, "filters": {"groups": [
			{"properties": [{"key": "a", "type": "person", "operator": "exact", "value": ["x", "École", 5, null]}, {"key": "b", "type": "person", "operator": "is_not", "value": "false"}]},
			{"properties": [{"key": "a", "type": "person", "operator": "icontains", "value": "N"}, {"key": "b", "type": "person", "operator": "not_icontains_multi", "value": ["q", "1"]}]},
			{"properties": [{"key": "a", "type": "person", "operator": "starts_with", "value": "["}, {"key": "b", "type": "person", "operator": "not_ends_with", "value": "}"}]},
			{"properties": [{"key": "a", "type": "person", "operator": "regex", "value": "^\\w+\\b.$"}, {"key": "b", "type": "person", "operator": "not_regex", "value": "(?<!x)y"}], "rollout_percentage": 50}
		]}},
		{"id": 2, "key": "numbers", "active": true, "filters": {"early_exit": true, "groups": [
			{"properties": [{"key": "n", "type": "person", "operator": "gt", "value": "5"}, {"key": "n", "type": "person", "operator": "not_between", "value": [7, 9.5]}], "rollout_percentage": 33.34},
			{"properties": [{"key": "n", "type": "person", "operator": "between", "value": [0, "1e3"]}, {"key": "a", "type": "person", "operator": "is_set"}]},
			{"properties": [{"key": "n", "type": "person", "operator": "lte", "value": 0}, {"key": "m", "type": "person", "operator": "is_not_set"}], "rollout_percentage": 0}
		]}},
		{"id": 3, "key": "dates", "active": true, "filters": {"groups": [
			{"properties": [{"key": "d", "type": "person", "operator": "is_date_after", "value": "-7d"}]},
			{"properties": [{"key": "d", "type": "person", "operator": "is_date_before", "value": "2024-01-01"}, {"key": "created_at", "type": "person_metadata", "operator": "is_date_before", "value": "1m"}]},
			{"properties": [{"key": "d", "type": "person", "operator": "is_date_exact", "value": "Jan 1, 2024"}]}
		]}},
		{"id": 4, "key": "versions", "active": true, "filters": {"groups": [
			{"properties": [{"key": "v", "type": "person", "operator": "semver_gte", "value": "1.2"}, {"key": "v", "type": "person", "operator": "semver_caret", "value": "1.0"}]},
			{"properties": [{"key": "v", "type": "person", "operator": "semver_wildcard", "value": "0.*"}]},
			{"properties": [{"key": "v", "type": "person", "operator": "semver_neq", "value": "2.0.0-rc.1"}], "rollout_percentage": 10}
		]}},
		{"id": 5, "key": "variants", "active": true, "filters": {
			"holdout": {"id": 7, "exclusion_percentage": 12.5},
			"multivariate": {"variants": [{"key": "a", "rollout_percentage": 30}, {"key": "b", "rollout_percentage": 30}]},
			"payloads": {"a": "\"A\"", "true": "{}", "holdout-7": "0"},
			"groups": [{"variant": "b", "properties": [{"key": "a", "type": "person", "value": true}]}, {"rollout_percentage": 80}]
		}},
		{"id": 6, "key": "depends", "active": true, "filters": {"groups": [
			{"properties": [{"key": "5", "type": "flag", "operator": "flag_evaluates_to", "value": "a"}]},
			{"properties": [{"key": "1", "type": "flag", "operator": "flag_evaluates_to", "value": false}, {"key": "4", "type": "flag", "operator": "flag_evaluates_to", "value": true}]},
			{"properties": [{"key": "15", "type": "flag", "operator": "flag_evaluates_to", "value": false}], "rollout_percentage": 5}
		]}},
		{"id": 7, "key": "cohorts", "active": true, "filters": {"groups": [
			{"properties": [{"key": "id", "type": "cohort", "value": 1}, {"key": "a", "type": "person", "operator": "is_set"}]},
			{"properties": [{"key": "id", "type": "cohort", "operator": "not_in", "value": 2}, {"key": "id", "type": "cohort", "operator": "in", "value": 5}]},
			{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 3}]},
			{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 4}, {"key": "id", "type": "cohort", "operator": "in", "value": 5}]}
		]}},
		{"id": 8, "key": "groups", "active": true, "filters": {"aggregation_group_type_index": 0, "groups": [
			{"properties": [{"key": "tier", "type": "group", "group_type_index": 0, "operator": "exact", "value": "gold"}], "rollout_percentage": 60},
			{"aggregation_group_type_index": 1, "properties": [{"key": "$group_key", "type": "group", "operator": "icontains", "value": "a"}]},
			{"aggregation_group_type_index": null, "properties": [{"key": "a", "type": "person", "operator": "is_set"}], "rollout_percentage": 40}
		]}},
		{"id": 9, "key": "device", "active": true, "bucketing_identifier": "device_id", "filters": {"groups": [{"rollout_percentage": 50}, {"properties": [{"key": "b", "type": "person", "operator": "is_set"}]}]}},
		{"id": 10, "key": "continuity", "active": true, "ensure_experience_continuity": true, "filters": {"holdout": {"id": 8, "exclusion_percentage": 5}, "groups": [{"rollout_percentage": 50}]}},
		{"id": 11, "key": "early", "active": true, "filters": {"feature_enrollment": true, "payloads": {"true": "1"}, "groups": [{"rollout_percentage": 1}]}},
		{"id": 12, "key": "murmur", "active": true, "bucketing_hash": "murmur3", "evaluation_runtime": "server", "filters": {"groups": [{"rollout_percentage": 50}]}},
		{"id": 13, "key": "located", "active": true, "filters": {"groups": [
			{"properties": [{"key": "$geoip_country_code", "type": "person", "operator": "exact", "value": ["NO", "DE"]}]},
			{"properties": [{"key": "$initial_browser", "type": "person", "operator": "exact", "value": "Safari"}, {"key": "distinct_id", "type": "person", "operator": "regex", "value": "^u"}]}
		]}},
		{"id": 14, "key": "missing", "active": true, "filters": {"groups": [{"properties": [{"key": "99", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
		{"id": 15, "key": "inactive", "active": false, "filters": {"groups": [{}]}},
		{"id": 16, "key": "broken", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "value": 99}]}]}},
		{"id": 17, "key": "pinned", "active": true, "pins": [
			{"cohort": -1, "value": false, "expires_at": "2020-01-01T00:00:00Z"}, {"cohort": 2, "value": "b"}, {"cohort": -3, "value": true},
			{"group_type": "company", "group_key": "acme", "value": "a"}
		], "filters": {
			"feature_enrollment": true, "payloads": {"b": "1"}, "groups": [{"rollout_percentage": 30}],
			"multivariate": {"variants": [{"key": "a", "rollout_percentage": 50}, {"key": "b", "rollout_percentage": 50}]}
		}}
	],
	"cohorts": {
		"1": {"type": "OR", "values": [{"key": "n", "type": "person", "operator": "gt", "value": 10, "negation": true}, {"type": "AND", "values": [{"key": "id", "type": "cohort", "operator": "not_in", "value": 2}, {"key": "a", "type": "person", "operator": "is_set"}]}]},
		"2": {"is_static": true, "members": ["u1", "u2"]},
		"3": {"id": 3, "is_static": true},
		"4": {"type": "AND", "values": [{"key": "b", "type": "person", "operator": "exact", "value": "x"}]},
		"5": {"type": "OR", "values": [{"key": "$pageview", "type": "behavioral", "value": "performed_event"}, {"key": "b", "type": "person", "operator": "exact", "value": "y"}]}
	}
}`

// richSubjects are subjects in the form of traces.
var richSubjects = []string{
	`{"distinct_id": "u1"}`,
	`{"distinct_id": "u2", "person": {"a": "École", "b": "x", "n": 5.0, "d": "2024-04-30", "v": "v1.10"}, "partial": true}`,
	`{"distinct_id": "", "device_id": "d1", "person": {"a": null, "n": "1e2", "v": "2.0.0-rc.1", "d": 1704067200.5, "$feature_enrollment/early": "true"}}`,
	`{"distinct_id": "user-31", "anonymous_id": "anon", "groups": {"company": "acme", "project": ""}, "group_properties": {"company": {"tier": "Gold"}}, "located": {"$geoip_country_code": "NO"}, "located_by_peer": true}`,
	`{"distinct_id": "user-61", "person": {"a": [1, "x", {"b": 1.0, "a": null}], "b": {"y": []}, "n": 18446744073709551616, "$browser": "Safari"}, "stored": {"person": {"a": true, "d": "-3d"}, "created_at": "2024-01-01T00:00:00Z", "groups": {"company": {"tier": "gold"}}, "cohorts": [3], "overrides": {"continuity": "kept"}, "failure": "", "overrides_failure": ""}}`,
	`{"distinct_id": "x", "stored": {"person": null, "cohorts": null, "overrides": null, "failure": "database_unavailable", "overrides_failure": "hash_key_override_error"}}`,
	`{"distinct_id": "u3", "person": {"a": 1e400, "b": [1e400], "n": -1e400, "d": 1e400, "v": 1e400}}`,
	`{"distinct_id": "u4", "person": {"a": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`,
	`{"distinct_id": "` + strings.Repeat("é", 201) + `", "person": {"v": " 01.2 ", "d": "2024-03-31 02:30", "n": "NaN", "a": "\u0000"}}`,
}

func parse(t testing.TB, doc string) flags.Definitions {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// FuzzEvaluate evaluates arbitrary subjects: every method of evaluation has the same result,
// and so has a replay of the trace.
func FuzzEvaluate(f *testing.F) {
	for _, subject := range richSubjects {
		f.Add([]byte(subject))
	}
	set := flags.Compile(parse(f, richDefinitions))
	subjects := parseSubjects(f)
	var out, selected, single flags.Decisions
	f.Fuzz(func(t *testing.T, data []byte) {
		var in flags.TraceSubject
		if json.Unmarshal(data, &in) != nil {
			return
		}
		sub := &in.Subject
		set.Evaluate(sub, usualTime, &out)
		set.Select(sub, usualTime, &flags.Selection{Runtime: "all"}, &selected)
		if diff := cmp.Diff(traced(out.List), traced(selected.List)); diff != "" || out.Errors != selected.Errors {
			t.Fatalf("evaluated and selected otherwise (-evaluated +selected):\n%s", diff)
		}
		for i := range out.List {
			d := &out.List[i]
			if d.Variant != "" && !d.Enabled || d.Failed() && (d.Enabled || d.Payload != nil) {
				t.Errorf("%+v cannot be", d)
			}
			if one, ok := set.EvaluateFlag(d.Key, sub, usualTime, &single); !ok || cmp.Diff(asTraced(d), asTraced(&one)) != "" {
				t.Errorf("alone %+v, among all %+v", one, d)
			}
			checkReplay(t, set, d.Key, sub, usualTime, flags.Selection{Runtime: "all"})
		}
		if sub.Partial && sub.Stored == nil {
			checkPartial(t, set, sub, subjects)
		}
		regexp2.StopTimeoutClock()
	})
}

// checkPartial checks that a decided result of a partial subject remains the same for all
// stored facts (decision 2).
func checkPartial(t *testing.T, set *flags.Set, partial *flags.Subject, stored []flags.TraceSubject) {
	t.Helper()
	var decided, full flags.Decisions
	set.Evaluate(partial, usualTime, &decided)
	for i := range stored {
		other := &stored[i].Subject
		sub := *partial
		sub.Partial = false
		sub.Stored = &flags.Stored{Person: other.Person, Groups: other.GroupProperties, CreatedAt: usualTime.AddDate(0, -i, 0), Overrides: map[string]string{}}
		if i%2 == 0 {
			sub.Stored.Cohorts = []int64{3}
			sub.Stored.Overrides["continuity"] = other.DistinctID
		}
		set.Evaluate(&sub, usualTime, &full)
		for j := range decided.List {
			d := &decided.List[j]
			if f := full.Find(d.Key); d.Undecided == nil && (f.Enabled != d.Enabled || f.Variant != d.Variant || f.Failed() != d.Failed()) {
				t.Errorf("%s is decided %v for a partial subject, and %v with what subject %d has stored", d.Key, d.Value(), f.Value(), i)
			}
		}
	}
}

func parseSubjects(t testing.TB) []flags.TraceSubject {
	t.Helper()
	out := make([]flags.TraceSubject, len(richSubjects))
	for i, s := range richSubjects {
		if err := json.Unmarshal([]byte(s), &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// traced returns decisions in the form of traces, by key.
func traced(list []flags.Decision) map[string]flags.TraceDecision {
	out := map[string]flags.TraceDecision{}
	for i := range list {
		out[list[i].Key] = asTraced(&list[i])
	}
	return out
}

// FuzzDefinitions parses arbitrary input. Definitions that can be parsed are compiled,
// evaluated and explained without a panic, and their payload is parsed as the same flags.
func FuzzDefinitions(f *testing.F) {
	for _, doc := range []string{richDefinitions, tracedDefinitions, surroundings, `{}`, `{"flags": null}`, `[]`, `{"projects": [{"id": 1, "api_key": "k"}]}`} {
		f.Add([]byte(doc))
	}
	for _, flag := range parse(f, richDefinitions).Flags { // small inputs that mutations change quickly
		record, err := json.Marshal(flag)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(`{"flags": [` + string(record) + `]}`))
	}
	for _, folder := range []string{"decisions", "edgecases"} {
		files, _ := filepath.Glob(filepath.Join("../testdata", folder, "*.json"))
		for _, file := range files {
			addDefinitions(f, file)
		}
	}
	demo, err := os.ReadFile("../testdata/demo.json")
	if err == nil {
		f.Add(demo)
	}
	subjects := parseSubjects(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = flags.ParsePayload(data, "key")
		if file, err := flags.ParseFile(data); err == nil {
			for _, p := range file.Projects {
				checkDefinitions(t, p.Definitions, subjects)
			}
		}
		if d, err := flags.ParseDefinitions(data); err == nil {
			checkDefinitions(t, d, subjects)
		}
		regexp2.StopTimeoutClock()
	})
}

// addDefinitions adds the definitions in a file of cases as seeds.
func addDefinitions(f *testing.F, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	var cases []struct {
		Definitions json.RawMessage `json:"definitions"`
	}
	if json.Unmarshal(data, &cases) != nil {
		return
	}
	for i, c := range cases {
		if i%7 == 0 { // they are similar
			f.Add([]byte(c.Definitions))
		}
	}
}

func checkDefinitions(t *testing.T, d flags.Definitions, subjects []flags.TraceSubject) {
	t.Helper()
	set := flags.Compile(d)
	for _, fault := range set.Faults() {
		if fault.Error() == "" {
			t.Error("a fault that says nothing")
		}
	}
	payload, err := d.Payload()
	if err != nil {
		t.Fatalf("payload: %v", err)
	}
	served, err := flags.ParseDefinitions(payload)
	if err != nil {
		t.Fatalf("the payload cannot be read: %v\n%s", err, payload)
	}
	again := flags.Compile(served)
	same := servedAlike(&d, set, again)
	var before, after flags.Decisions
	for i := range subjects {
		sub := &subjects[i].Subject
		set.Evaluate(sub, usualTime, &before)
		again.Evaluate(sub, usualTime, &after)
		for j := range before.List {
			key := before.List[j].Key
			if trace := set.Explain(key, sub, usualTime, flags.Selection{Runtime: "all"}); trace.String() == "" {
				t.Errorf("%q: an empty trace", key)
			}
			if !same[key] {
				continue
			}
			found := after.Find(key)
			if found == nil {
				t.Errorf("%q is lost in the payload %s", key, payload)
				continue
			}
			if diff := cmp.Diff(asTraced(&before.List[j]), asTraced(found)); diff != "" {
				t.Errorf("%q for subject %d is decided otherwise from the payload (-before +after):\n%s\n%s", key, i, diff, payload)
			}
		}
	}
}

// servedAlike returns the flags that must have the same result in a payload: those that are
// served, with all flags and cohorts that they depend on. It excludes faulty and deleted
// flags, flags with encrypted payloads and flags of surveys (§1.8), and flags that depend on
// members of static cohorts (decision 5).
func servedAlike(d *flags.Definitions, sets ...*flags.Set) map[string]bool {
	bad := map[string]bool{}
	for _, set := range sets {
		for _, fault := range set.Faults() {
			bad[fault.Flag] = bad[fault.Flag] || fault.Code != flags.NoReason
			if fault.Flag == "" { // a cohort or the time zone: exclude all flags
				return nil
			}
		}
	}
	seen := map[string]int{}
	for i := range d.Flags {
		f := &d.Flags[i]
		seen[f.Key]++
		if f.Deleted || f.HasEncryptedPayloads || strings.HasPrefix(f.Key, "survey-targeting-") || seen[f.Key] > 1 {
			bad[f.Key] = true
		}
	}
	for _, c := range d.Cohorts {
		if c.Static || c.Deleted {
			return nil
		}
	}
	ids := map[int64]bool{}
	for i := range d.Flags {
		if ids[d.Flags[i].ID] {
			return nil
		}
		ids[d.Flags[i].ID] = true
	}
	out := map[string]bool{}
	for i := range d.Flags {
		f := &d.Flags[i]
		out[f.Key] = !bad[f.Key] && !dependsOnBad(d, f, bad, nil)
	}
	return out
}

// dependsOnBad reports whether a flag depends on a flag that is not served.
func dependsOnBad(d *flags.Definitions, f *flags.Flag, bad map[string]bool, path []string) bool {
	if slices.Contains(path, f.Key) {
		return true
	}
	path = append(path, f.Key)
	for _, c := range f.Conditions {
		for _, p := range c.Properties {
			if p.Type != flags.FlagProperty {
				continue
			}
			target := slices.IndexFunc(d.Flags, func(o flags.Flag) bool {
				return o.Key == p.Key || p.Chain == nil && strconv.FormatInt(o.ID, 10) == p.Key
			})
			if target < 0 || bad[d.Flags[target].Key] || dependsOnBad(d, &d.Flags[target], bad, path) {
				return true
			}
		}
	}
	return false
}
