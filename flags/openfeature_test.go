package flags_test

import (
	"encoding/json"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// OpenFeature's terms, from the specification's "Resolution Reason" and "Error Code", for
// each reason code of §3.9: targeting or early access is TARGETING_MATCH, a bucket SPLIT, no
// match DEFAULT, an unreadable definition PARSE_ERROR, and a failed store GENERAL.
func TestOpenFeature_ReasonCodes(t *testing.T) {
	for code, want := range map[string][2]string{
		"condition_match":              {"TARGETING_MATCH", ""},
		"no_condition_match":           {"DEFAULT", ""},
		"out_of_rollout_bound":         {"SPLIT", ""},
		"no_group_type":                {"DEFAULT", ""},
		"super_condition_value":        {"TARGETING_MATCH", ""},
		"holdout_condition_value":      {"SPLIT", ""},
		"pinned":                       {"TARGETING_MATCH", ""},
		"flag_disabled":                {"DISABLED", ""},
		"missing_dependency":           {"DEFAULT", ""},
		"flag_data_parsing_error":      {"ERROR", "PARSE_ERROR"},
		"cohort_filters_parsing_error": {"ERROR", "PARSE_ERROR"},
		"dependency_not_found_cohort":  {"ERROR", "PARSE_ERROR"},
		"dependency_cycle_cohort":      {"ERROR", "PARSE_ERROR"},
		"dependency_cycle_flag":        {"ERROR", "PARSE_ERROR"},
		"hash_key_override_error":      {"ERROR", "GENERAL"},
		"cookieless_identity":          {"ERROR", "TARGETING_KEY_MISSING"},
		"database_error":               {"ERROR", "GENERAL"},
		"database_unavailable":         {"ERROR", "GENERAL"},
		"timeout":                      {"ERROR", "GENERAL"},
	} {
		var d flags.Decision
		if err := d.Reason.Code.UnmarshalText([]byte(code)); err != nil || d.Reason.Code == flags.NoReason {
			t.Errorf("no reason code %s", code)
		}
		if reason, errorCode := d.OpenFeature(); reason != want[0] || errorCode != want[1] {
			t.Errorf("%s: %s %s, want %s", code, reason, errorCode, want)
		}
		if _, errorCode := d.OpenFeature(); (errorCode != "") != d.Failed() {
			t.Errorf("%s: error code %q, failed %v", code, errorCode, d.Failed())
		}
	}
	if n := len(reasonTexts()); n != 19 {
		t.Errorf("%d reason codes, 19 are tested", n)
	}
	if reason, code := (&flags.Decision{Reason: flags.Reason{Code: 200}}).OpenFeature(); reason != "ERROR" || code != "GENERAL" {
		t.Errorf("a code of another version: %s %s", reason, code)
	}
}

// A match is STATIC if the result is the same for everybody, SPLIT if a bucket decided, and
// otherwise TARGETING_MATCH.
func TestOpenFeature_Matches(t *testing.T) {
	d, err := flags.ParseDefinitions([]byte(`{"group_type_mapping": {"0": "company"}, "flags": [
		{"id": 1, "key": "everybody", "active": true, "filters": {"groups": [{}]}},
		{"id": 2, "key": "one-variant", "active": true, "filters": {"groups": [{"rollout_percentage": 100}], "multivariate": {"variants": [{"key": "a", "rollout_percentage": 100}]}}},
		{"id": 3, "key": "forced", "active": true, "filters": {"groups": [{"variant": "b"}], "multivariate": {"variants": [{"key": "a", "rollout_percentage": 50}, {"key": "b", "rollout_percentage": 50}]}}},
		{"id": 4, "key": "hashed", "active": true, "filters": {"groups": [{}], "multivariate": {"variants": [{"key": "a", "rollout_percentage": 50}, {"key": "b", "rollout_percentage": 50}]}}},
		{"id": 5, "key": "rollout", "active": true, "filters": {"groups": [{"rollout_percentage": 99.9999}]}},
		{"id": 6, "key": "property", "active": true, "filters": {"groups": [{"properties": [{"key": "x", "type": "person", "operator": "exact", "value": "1"}]}]}},
		{"id": 7, "key": "second", "active": true, "filters": {"groups": [{"properties": [{"key": "x", "type": "person", "operator": "exact", "value": "2"}]}, {}]}},
		{"id": 8, "key": "company", "active": true, "filters": {"aggregation_group_type_index": 0, "groups": [{}]}},
		{"id": 9, "key": "enrollment", "active": true, "filters": {"feature_enrollment": true, "groups": [{}]}},
		{"id": 10, "key": "held", "active": true, "filters": {"holdout": {"id": 1, "exclusion_percentage": 100}, "groups": [{}]}}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"everybody": "STATIC", "one-variant": "STATIC", "forced": "STATIC", "hashed": "SPLIT", "rollout": "SPLIT", "property": "TARGETING_MATCH",
		"second": "TARGETING_MATCH", "company": "TARGETING_MATCH", "enrollment": "TARGETING_MATCH", "held": "SPLIT",
	}
	var out flags.Decisions
	flags.Compile(d).Evaluate(&flags.Subject{DistinctID: "u", Person: flags.Properties{"x": "1"}, Groups: map[string]string{"company": "acme"}}, usualTime, &out)
	for i := range out.List {
		f := &out.List[i]
		if reason, code := f.OpenFeature(); !f.Enabled || reason != want[f.Key] || code != "" {
			t.Errorf("%s: %v %s %s, want %s", f.Key, f.Enabled, reason, code, want[f.Key])
		}
		if f.Key == "one-variant" && f.Kind != flags.VariantKind || f.Key == "everybody" && f.Kind != flags.BooleanKind {
			t.Errorf("%s: kind %d", f.Key, f.Kind)
		}
	}
	if len(out.List) != len(want) {
		t.Errorf("%d answers", len(out.List))
	}
}

// A missing fact that the context could contain is INVALID_CONTEXT, one that only a store has
// is GENERAL.
func TestOpenFeature_Undecided(t *testing.T) {
	for fact, want := range map[string]string{
		"person property": "INVALID_CONTEXT", "group property": "INVALID_CONTEXT",
		"person metadata": "GENERAL", "cohort": "GENERAL", "flag": "GENERAL", "experience continuity": "GENERAL",
	} {
		d := flags.Decision{Undecided: &flags.Undecided{Fact: fact, Name: "x"}}
		if reason, code := d.OpenFeature(); reason != "ERROR" || code != want {
			t.Errorf("%s: %s %s", fact, reason, code)
		}
	}
}

// Payloads are strings that contain JSON (§3.7).
func TestOpenFeature_PayloadJSON(t *testing.T) {
	for stored, want := range map[string]string{
		`"{\"a\": 1}"`: `{"a": 1}`, `"5"`: `5`, `"hello"`: `"hello"`, `""`: `""`, `{"a":1}`: `{"a":1}`, ` [1] `: `[1]`, `true`: `true`, `""x`: `""x`, ``: ``,
	} {
		d := flags.Decision{Payload: json.RawMessage(stored)}
		if got := string(d.PayloadJSON()); got != want {
			t.Errorf("%s: %s, want %s", stored, got, want)
		}
	}
}

// AbsentDecision has the reason why an existing key has no result, for selections that include
// the flag (§9.9).
func TestOpenFeature_KeysWithoutAnswer(t *testing.T) {
	d, err := flags.ParseDefinitions([]byte(`{"flags": [
		{"id": 1, "key": "off", "active": false, "filters": {"groups": [{}]}},
		{"id": 2, "key": "off-client", "active": false, "evaluation_runtime": "client", "filters": {"groups": [{}]}},
		{"id": 3, "key": "deleted", "active": false, "deleted": true, "filters": {"groups": [{}]}},
		{"id": 4, "key": "on", "active": true, "filters": {"groups": [{}]}},
		{"id": 5, "key": "cycle", "active": true, "filters": {"groups": [{"properties": [{"key": "5", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	set := flags.Compile(d)
	for key, want := range map[string]flags.ReasonCode{
		"off": flags.FlagDisabled, "off-client": flags.NoReason, "deleted": flags.NoReason, "on": flags.NoReason, "cycle": flags.FlagCycle, "nowhere": flags.NoReason,
	} {
		d, found := set.AbsentDecision(key, &flags.Selection{Runtime: "server"})
		if d.Key != key || d.Reason.Code != want || d.Reason.Condition != flags.NoCondition || found != (want != flags.NoReason) {
			t.Errorf("%s: %+v, %t, want %v", key, d, found, want)
		}
	}
	if d, _ := set.AbsentDecision("off-client", &flags.Selection{Runtime: "client"}); d.Reason.Code != flags.FlagDisabled {
		t.Errorf("off-client for clients: %+v", d)
	}
}
