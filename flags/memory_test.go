package flags

import (
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

// A Set is long-lived and does not retain the text that its definitions were parsed from.
func TestCompile_KeepsNoText(t *testing.T) {
	for _, path := range []string{"../testdata/demo.json", ""} {
		text := []byte(allTexts)
		if path != "" {
			var err error
			if text, err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		freed := make(chan bool)
		set := func() *Set {
			d, err := ParseDefinitions(text)
			if err != nil {
				t.Fatal(err)
			}
			runtime.AddCleanup(unsafe.StringData(d.Flags[0].source), func(freed chan bool) { close(freed) }, freed)
			return Compile(d)
		}()
		for late := time.After(time.Minute); freed != nil; {
			runtime.GC()
			select {
			case <-freed:
				freed = nil
			case <-time.After(time.Millisecond):
			case <-late:
				t.Fatalf("%q: the text is still there", path)
			}
		}
		if set.Len() == 0 {
			t.Error("no flags")
		}
	}
}

// allTexts contains every kind of string that a set retains: keys, variants, payloads,
// contexts, groups, values of every kind, cohorts with members, missing flags and cohorts,
// and faults.
const allTexts = `{"timezone": "Europe/Oslo", "group_type_mapping": {"0": "company"}, "cohorts": {
	"1": {"type": "AND", "values": [{"type": "person", "key": "of_cohort", "operator": "exact", "value": ["a", "b"]}]},
	"2": {"is_static": true, "members": ["member-1", "member-2"]}}, "flags": [
	{"id": 1, "key": "first", "active": true, "evaluation_contexts": ["web"], "filters": {"holdout": {"id": 7, "exclusion_percentage": 5},
		"payloads": {"true": "text", "one": {"a": ["b"]}}, "feature_enrollment": true,
		"multivariate": {"variants": [{"key": "one", "rollout_percentage": 50}, {"key": "two", "rollout_percentage": 50}]},
		"groups": [{"variant": "two", "properties": [
			{"key": "exact", "type": "person", "operator": "exact", "value": "text"},
			{"key": "many", "type": "person", "operator": "exact", "value": ["a","b","c","d","e","f","g","h","i"]},
			{"key": "is_not", "type": "person", "operator": "is_not", "value": "text"},
			{"key": "icontains", "type": "person", "operator": "icontains", "value": "text"},
			{"key": "multi", "type": "person", "operator": "icontains_multi", "value": ["text"]},
			{"key": "regex", "type": "person", "operator": "regex", "value": "^text.*$"},
			{"key": "date", "type": "person", "operator": "is_date_before", "value": "10:30"},
			{"key": "version", "type": "person", "operator": "semver_gt", "value": "1.2.3-rc.1+build"},
			{"key": "wildcard", "type": "person", "operator": "semver_wildcard", "value": "1.2.*"},
			{"key": "gone", "type": "flag", "operator": "flag_evaluates_to", "value": "variant"},
			{"key": "id", "type": "cohort", "value": 1}, {"key": "id", "type": "cohort", "value": 2}, {"key": "id", "type": "cohort", "value": 3}]}]}},
	{"id": 2, "key": "second", "active": true, "filters": {"aggregation_group_type_index": 0, "groups": [{"properties": [
			{"key": "of_group", "type": "group", "group_type_index": 0, "operator": "exact", "value": "text"}]}]}},
	{"id": 3, "key": "misspelt", "active": true, "filters": {"groups": [{"rolout_percentage": 5}]}},
	{"id": 4, "key": "broken", "active": true, "filters": {"groups": 7}},
	{"id": 5, "key": "unknown", "active": true, "filters": {"super_groups": [{"properties": []}], "groups": [{"properties": [{"key": "x", "operator": "near", "value": 1}]}]}},
	{"id": 5, "key": "unknown", "active": true, "filters": {"groups": []}}]}`
