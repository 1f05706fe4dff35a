package flags_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// servedOf parses definitions and returns their payload, with numbers in their form.
func servedOf(t *testing.T, definitions string) map[string]any {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(definitions))
	if err != nil {
		t.Fatal(err)
	}
	body, err := d.Payload()
	if err != nil {
		t.Fatal(err)
	}
	return decodeNumbers(t, string(body)).(map[string]any)
}

func decodeNumbers(t *testing.T, text string) any {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// servedKeys returns the keys of the flags in a payload, in its order.
func servedKeys(payload map[string]any) []string {
	keys := []string{}
	for _, f := range payload["flags"].([]any) {
		keys = append(keys, f.(map[string]any)["key"].(string))
	}
	return keys
}

func servedFlag(t *testing.T, payload map[string]any, key string) map[string]any {
	t.Helper()
	i := slices.Index(servedKeys(payload), key)
	if i < 0 {
		t.Fatalf("%s is not served", key)
	}
	return payload["flags"].([]any)[i].(map[string]any)
}

// The list of §1.8: active and inactive flags by key, except flags that are deleted, have
// encrypted payloads, belong to surveys, or cannot be processed.
func TestFlags_1_8_WhichFlags(t *testing.T) {
	payload := servedOf(t, `{"flags":[
		{"id":1,"key":"zeta","active":true,"filters":{"groups":[{}]}},
		{"id":2,"key":"Beta","active":true,"filters":{"groups":[{}]}},
		{"id":3,"key":"alpha","active":false,"filters":{"groups":[{}]}},
		{"id":4,"key":"without-active","filters":{"groups":[{}]}},
		{"id":5,"key":"gone","active":true,"deleted":true,"filters":{"groups":[{}]}},
		{"id":6,"key":"secret","active":true,"has_encrypted_payloads":true,"filters":{"groups":[{}]}},
		{"id":7,"key":"survey-targeting-nps","active":true,"filters":{"groups":[{}]}},
		{"id":8,"key":"unreadable","active":true,"filters":[]},
		{"id":9,"key":"operator","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"person","operator":"like","value":1}]}]}},
		{"id":10,"key":"rules","active":true,"filters":{"version":2,"rules":[]}},
		7
	]}`)
	if diff := cmp.Diff([]string{"Beta", "alpha", "without-active", "zeta"}, servedKeys(payload)); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	// The other flags of the server are listed by name, so that flags which depend on them
	// are left to the server (decision 2).
	withheld := decodeNumbers(t, `[{"id":9,"key":"operator"},{"id":10,"key":"rules"},{"id":6,"key":"secret"},
		{"id":7,"key":"survey-targeting-nps"},{"id":8,"key":"unreadable"}]`)
	if diff := cmp.Diff(withheld, payload["withheld_flags"]); diff != "" {
		t.Errorf("withheld flags (-want +got):\n%s", diff)
	}
	// Faults are listed too (decision 5).
	want := decodeNumbers(t, `[{"id":9,"key":"operator","code":"flag_data_parsing_error"},
		{"id":10,"key":"rules","code":"flag_data_parsing_error"},{"id":8,"key":"unreadable","code":"flag_data_parsing_error"}]`)
	if diff := cmp.Diff(want, payload["faults"]); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// The members of §1.8 and decision 5, and their defaults.
func TestFlags_1_8_Members(t *testing.T) {
	tests := []struct{ name, definitions, want string }{
		{"a project without flags: empty containers", `{"flags":[]}`,
			`{"flags":[],"group_type_mapping":{},"cohorts":{},"minimal_flag_called_events":false,"property_matching_version":1,
			"timezone":"UTC","bucketing_hash":"sha1","revision":0,"static_cohorts":[],"empty_cohorts":[],"behavioral_cohorts":[],"withheld_flags":[],"failed_cohorts":[],"faults":[]}`},
		{"as they are set", `{"flags":[],"group_type_mapping":{"0":"organization","4":"project"},"minimal_flag_called_events":true,
			"property_matching_version":2,"timezone":"Europe/Oslo","bucketing_hash":"murmur3","revision":12}`,
			`{"flags":[],"group_type_mapping":{"0":"organization","4":"project"},"cohorts":{},"minimal_flag_called_events":true,"property_matching_version":2,
			"timezone":"Europe/Oslo","bucketing_hash":"murmur3","revision":12,"static_cohorts":[],"empty_cohorts":[],"behavioral_cohorts":[],"withheld_flags":[],"failed_cohorts":[],"faults":[]}`},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(decodeNumbers(t, tt.want), any(servedOf(t, tt.definitions))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Cohorts of §1.8: those that flags refer to, directly or through other cohorts, as bare
// trees by id; not static ones, which decision 5 lists by id, and not deleted ones. Cohorts
// of inactive flags are included, since these flags are served.
func TestFlags_1_8_Cohorts(t *testing.T) {
	payload := servedOf(t, `{
		"flags":[
			{"id":1,"key":"a","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","operator":"in","value":1}]},
				{"properties":[{"key":"id","type":"cohort","operator":"not_in","value":5}]}]}},
			{"id":2,"key":"b","active":false,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":6}]}]}},
			{"id":3,"key":"c","active":true,"deleted":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":7}]}]}}],
		"cohorts":{
			"1":{"name":"first","filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[
				{"key":"id","type":"cohort","value":2},{"key":"plan","type":"person","operator":"exact","value":["pro",5.0],"negation":true}]}]}}},
			"2":{"type":"AND","values":[{"key":"id","type":"cohort","value":3},{"key":"id","type":"cohort","value":4}]},
			"3":{"is_static":true,"members":["u1"]},
			"4":{"deleted":true,"filters":{"properties":{"type":"AND","values":[]}}},
			"5":{"is_static":true},
			"6":{"type":"property","values":[]},
			"7":{"type":"AND","values":[]},
			"8":{"type":"AND","values":[]}}}`)
	want := decodeNumbers(t, `{
		"1":{"type":"OR","values":[{"type":"AND","values":[{"key":"id","type":"cohort","operator":"in","value":2},
			{"key":"plan","type":"person","operator":"exact","value":["pro",5.0],"negation":true}]}]},
		"2":{"type":"AND","values":[{"key":"id","type":"cohort","operator":"in","value":3},{"key":"id","type":"cohort","operator":"in","value":4}]},
		"6":{"type":"AND","values":[]}}`)
	if diff := cmp.Diff(want, payload["cohorts"]); diff != "" {
		t.Errorf("cohorts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(decodeNumbers(t, `[3,5]`), payload["static_cohorts"]); diff != "" {
		t.Errorf("static_cohorts (-want +got):\n%s", diff)
	}
}

// Dependencies of §1.8: the id becomes a key, and the chain lists the flags to evaluate,
// dependencies first, the named flag last. The chain is empty for a flag that depends on
// itself, for a cycle and for a missing flag.
func TestFlags_1_8_DependencyChains(t *testing.T) {
	dependency := func(id string) string {
		return `{"key":"` + id + `","type":"flag","operator":"flag_evaluates_to","value":true}`
	}
	flag := func(id, key string, on ...string) string {
		list := make([]string, len(on))
		for i := range on {
			list[i] = dependency(on[i])
		}
		return `{"id":` + id + `,"key":"` + key + `","active":true,"filters":{"groups":[{"properties":[` + strings.Join(list, ",") + `]}]}}`
	}
	payload := servedOf(t, `{"flags":[`+strings.Join([]string{
		flag("1", "one", "2"), flag("2", "two", "3"), flag("3", "three"),
		flag("4", "diamond", "5", "6"), flag("5", "left", "3"), flag("6", "right", "3", "5"),
		flag("7", "itself", "7"), flag("8", "ring", "9"), flag("9", "gnir", "8"), flag("10", "behind", "8"),
		flag("11", "nobody", "99"), flag("12", "far", "11"), flag("13", "key", "three"),
	}, ",")+`]}`)
	tests := map[string][]string{ // key and chain of each dependency
		"one":     {"two: three two"},
		"two":     {"three: three"},
		"diamond": {"left: three left", "right: three left right"},
		"itself":  {"itself:"},
		"ring":    {"gnir:"},
		"gnir":    {"ring:"},
		"behind":  {"ring:"},
		"nobody":  {"99:"},
		"far":     {"nobody:"},
		"key":     {"three: three"},
	}
	for key, want := range tests {
		got := []string{}
		groups := servedFlag(t, payload, key)["filters"].(map[string]any)["groups"].([]any)
		for _, p := range groups[0].(map[string]any)["properties"].([]any) {
			p := p.(map[string]any)
			text := p["key"].(string) + ":"
			for _, link := range p["dependency_chain"].([]any) {
				text += " " + link.(string)
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

// A record remains unchanged: unknown members (§1.2), the difference between null and absent
// in a condition (§1.3), payloads and numbers in their form, and the older members of
// decision 3 with their equivalents added. Only missing members are added.
func TestFlags_1_2_RecordsSurvive(t *testing.T) {
	const record = `{"id":1,"team_id":4,"key":"all","name":"A name","active":true,"deleted":false,"version":3,"has_experiment":true,
		"tags":["x"],"archived":false,"mystery":{"a":[1,2.50,1e3,null]},"bucketing_identifier":null,"evaluation_runtime":"Server",
		"filters":{
			"groups":[
				{"aggregation_group_type_index":null,"properties":[],"rollout_percentage":33.340,"variant":null,"sort_key":"s"},
				{"properties":[{"key":"a","type":"person","operator":"exact","value":null,"label":"L","mystery":0}],"description":"d"},
				{"aggregation_group_type_index":0,"properties":[{"key":"a","type":"group","group_type_index":0,"operator":"is_set"}],"rollout_percentage":null}],
			"multivariate":{"variants":[{"key":"v","name":"V","rollout_percentage":100}],"mystery":true},
			"payloads":{"v":"{\"a\": 1}","holdout-7":{"b":[1.0]}},
			"super_groups":[{"properties":[{"key":"$feature_enrollment/all","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}],
			"holdout_groups":[{"properties":[],"rollout_percentage":2,"variant":"holdout-7"}],
			"early_exit":null,"mystery":"m"}}`
	want := decodeNumbers(t, record).(map[string]any)
	filters := want["filters"].(map[string]any)
	filters["feature_enrollment"] = true
	filters["holdout"] = decodeNumbers(t, `{"id":7,"exclusion_percentage":2}`)
	got := servedFlag(t, servedOf(t, `{"group_type_mapping":{"0":"organization"},"flags":[`+record+`]}`), "all")
	if diff := cmp.Diff(any(want), any(got)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

// has_experiment is always present (§10.3), and evaluation_tags also under its newer name
// (§1.1).
func TestFlags_1_8_AddedMembers(t *testing.T) {
	got := servedFlag(t, servedOf(t, `{"flags":[{"id":1,"key":"k","active":true,"evaluation_tags":["web"],"filters":{"groups":[]}}]}`), "k")
	want := decodeNumbers(t, `{"id":1,"key":"k","active":true,"has_experiment":false,"evaluation_tags":["web"],"evaluation_contexts":["web"],"filters":{"groups":[]}}`)
	if diff := cmp.Diff(want, any(got)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

// Decision 1: an active murmur3 flag with a result that needs a bucket, and every flag that
// depends on it, are marked so that only the server evaluates them. The payload also contains
// the real value, which our parser reads.
func TestFlags_Decision1_NoSDKDecidesMurmur3(t *testing.T) {
	const half, all = `"groups":[{"rollout_percentage":50}]`, `"groups":[{}]`
	on := func(id string) string {
		return `"groups":[{"properties":[{"key":"` + id + `","type":"flag","operator":"flag_evaluates_to","value":true}]}]`
	}
	const murmur = `,"bucketing_hash":"murmur3"`
	const variants = `,"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}`
	const pinned = `"groups":[{"variant":"b"}]`
	flag := func(id, key, more, filters string) string {
		return `{"id":` + id + `,"key":"` + key + `","active":true` + more + `,"filters":{` + filters + `}}`
	}
	project := strings.Join([]string{
		flag("1", "rollout", murmur, half), flag("2", "no-bucket", murmur, all), flag("3", "sha1", "", half),
		flag("4", "child", "", on("1")), flag("5", "grandchild", "", on("4")), flag("6", "child-of-no-bucket", "", on("2")),
		flag("7", "variants", murmur, all+variants), flag("8", "pinned", murmur, pinned+variants),
		flag("9", "continuity", murmur+`,"ensure_experience_continuity":true`, half),
		`{"id":10,"key":"inactive","active":false` + murmur + `,"filters":{` + half + `}}`,
		flag("11", "child-of-inactive", "", on("10")),
		flag("12", "everybody-by-hand", murmur, `"groups":[{"rollout_percentage":100},{"rollout_percentage":0}]`),
	}, ",")
	payload := servedOf(t, `{"flags":[`+project+`]}`)
	served := map[string]bool{ // the real value; other flags are unchanged
		"rollout": false, "child": false, "grandchild": false, "variants": false, "continuity": true,
	}
	for _, key := range servedKeys(payload) {
		f := servedFlag(t, payload, key)
		original, marked := f["x_ensure_experience_continuity"]
		want, forServer := served[key]
		if marked != forServer || marked && (original != want || f["ensure_experience_continuity"] != true) || !marked && f["ensure_experience_continuity"] == true {
			t.Errorf("%s: ensure_experience_continuity %v, beside it %v (%v)", key, f["ensure_experience_continuity"], original, marked)
		}
	}
	// The hash of the project applies to flags without their own.
	payload = servedOf(t, `{"bucketing_hash":"murmur3","flags":[`+flag("1", "rollout", "", half)+`,`+flag("2", "own", `,"bucketing_hash":"sha1"`, half)+`]}`)
	if servedFlag(t, payload, "rollout")["ensure_experience_continuity"] != true || servedFlag(t, payload, "own")["ensure_experience_continuity"] == true {
		t.Errorf("a project's murmur3: %v", payload["flags"])
	}
}

// posthog-go decodes indexes as unsigned bytes, keys and names as strings; one member of
// another form would make it reject the whole payload (§11).
func TestFlags_11_RecordsThatGoCanDecode(t *testing.T) {
	got := servedFlag(t, servedOf(t, `{"group_type_mapping":{"0":"organization"},"flags":[{"id":1,"key":"k","active":true,"rollout_percentage":{"a":1},
		"filters":{"aggregation_group_type_index":0.0,"multivariate":{"variants":[{"key":"v","name":7,"rollout_percentage":100}]},
			"groups":[{"aggregation_group_type_index":0.0,"properties":[{"key":42,"type":"group","group_type_index":0.0,"operator":"exact","value":5.0}]}]}}]}`), "k")
	want := decodeNumbers(t, `{"id":1,"key":"k","active":true,"has_experiment":false,
		"filters":{"aggregation_group_type_index":0,"multivariate":{"variants":[{"key":"v","rollout_percentage":100}]},
			"groups":[{"aggregation_group_type_index":0,"properties":[{"key":"42","type":"group","group_type_index":0,"operator":"exact","value":5.0}]}]}}`)
	if diff := cmp.Diff(want, any(got)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}
