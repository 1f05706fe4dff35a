package flags_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// exampleFile is the example of "Definitions file" in the page of decisions, with a flag
// added.
const exampleFile = `{
	"organization": {"id": "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "name": "Demo organization", "quotas": {"feature_flags": 1000000, "events": null}},
	"projects": [{
		"id": 1, "name": "demo", "api_key": "phc_demo", "timezone": "UTC", "bucketing_hash": "sha1", "property_matching_version": 1,
		"personal_api_keys": [{"key": "phx_demo", "scopes": ["*"]}], "secret_api_keys": ["phs_demo"],
		"group_type_mapping": {"0": "company"},
		"flags": [{"id": 1, "key": "in-13", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "value": 13}]}]}}],
		"cohorts": {"12": {"type": "AND", "values": []}, "13": {"is_static": true, "members": ["user-1"]}},
		"quota_limited": ["feature_flags"]
	}, {"id": 2, "api_key": "phc_two"}]
}`

func TestDefinitionsFile_Example(t *testing.T) {
	file, err := flags.ParseFile([]byte(exampleFile))
	if err != nil {
		t.Fatal(err)
	}
	limit := int64(1000000)
	want := flags.File{
		Organization: flags.Organization{ID: "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", Name: "Demo organization", Quotas: map[string]int64{"feature_flags": limit}},
		Projects: []flags.FileProject{
			{
				Project: flags.Project{ID: 1, Name: "demo", APIKey: "phc_demo", OrganizationID: "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f",
					FlagLimit: &limit, QuotaLimited: []string{"feature_flags"}},
				PersonalKeys: []flags.PersonalKey{{Key: "phx_demo", Scopes: []string{"*"}}}, SecretKeys: []string{"phs_demo"},
			},
			{Project: flags.Project{ID: 2, Name: "project 2", APIKey: "phc_two", OrganizationID: "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", FlagLimit: &limit}},
		},
	}
	demo := flags.Compile(file.Projects[0].Definitions)
	if faults := demo.Faults(); len(faults) > 0 {
		t.Errorf("faults: %v", faults)
	}
	for id, want := range map[string]bool{"user-1": true, "user-2": false} {
		var out flags.Decisions
		if d, ok := demo.EvaluateFlag("in-13", &flags.Subject{DistinctID: id}, testAt, &out); !ok || d.Enabled != want {
			t.Errorf("%s: %+v", id, d)
		}
	}
	elsewhere := cmp.Comparer(func(_, _ flags.Definitions) bool { return true }) // compared above
	if diff := cmp.Diff(want, file, elsewhere); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

// Decision 21: keys at the top level have access to the organization.
func TestDefinitionsFile_OrganizationKeys(t *testing.T) {
	withKeys := func(keys string) string {
		return strings.Replace(exampleFile, `"projects"`, `"personal_api_keys": `+keys+`, "projects"`, 1)
	}
	file, err := flags.ParseFile([]byte(withKeys(`[{"key": "phx_of_all", "scopes": ["organization:read", "*"]}]`)))
	if diff := cmp.Diff([]flags.PersonalKey{{Key: "phx_of_all", Scopes: []string{"organization:read", "*"}}}, file.PersonalKeys); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for keys, want := range map[string]string{
		`"phx_of_all"`:                       `personal_api_keys: must be an array, not the text "phx_of_all"`,
		`[{"key": 1}]`:                       "personal_api_keys[0].key: must be text, not the number 1",
		`[{"key": "phx_a", "scope": ["*"]}]`: `personal_api_keys[0].scope: is not a member of a personal key, "scopes" is most likely meant`,
	} {
		if _, err := flags.ParseFile([]byte(withKeys(keys))); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", keys, err, want)
		}
	}
}

// An ambiguous file is an error as a whole, with the path.
func TestDefinitionsFile_Invalid(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"organization", `"organization": {`, `"organization": 5, "x": {`, "organization: must be an object, not the number 5"},
		{"a negative quota", `1000000`, `-1`, "organization.quotas.feature_flags: a quota must not be negative; null means no limit"},
		{"a quota in words", `1000000`, `"many"`, `organization.quotas.feature_flags: must be a whole number, not the text "many"`},
		{"projects", `"projects": [{`, `"projects": 1, "x": [{`, "projects: must be an array, not the number 1"},
		{"no id", `"id": 2, "api`, `"api`, "projects[1].id: must be a whole number, not null or absent"},
		{"an id in words", `"id": 2`, `"id": "2"`, `projects[1].id: must be a whole number, not the text "2"`},
		{"id 0", `"id": 2`, `"id": 0`, "projects[1].id: a project's id must be greater than 0, not 0"},
		{"an id twice", `"id": 2`, `"id": 1`, "projects[1].id: 1 is the id of another project"},
		{"no key", `, "api_key": "phc_two"`, ``, "projects[1].api_key: must be text, not null or absent"},
		{"an empty key", `"phc_two"`, `""`, "projects[1].api_key: must not be empty"},
		{"a key twice", `"phc_two"`, `"phc_demo"`, `projects[1].api_key: "phc_demo" is the key of another project`},
		{"a personal key", `{"key": "phx_demo", "scopes": ["*"]}`, `"phx_demo"`, `projects[0].personal_api_keys[0]: must be an object, not the text "phx_demo"`},
		{"scopes", `["*"]`, `"*"`, `projects[0].personal_api_keys[0].scopes: must be an array, not the text "*"`},
		{"secret keys", `["phs_demo"]`, `[1]`, "projects[0].secret_api_keys[0]: must be text, not the number 1"},
		{"quota_limited", `["feature_flags"]`, `true`, "projects[0].quota_limited: must be an array, not a boolean"},
		{"hash", `"sha1"`, `"md5"`, `projects[0].bucketing_hash: must be "sha1" or "murmur3", not "md5"`},
		{"group types", `{"0": "company"}`, `{"first": "company"}`, `projects[0].group_type_mapping.first: a group type index must be a number of at least 0, not "first"`},
		{"flags", `"flags": [`, `"flags": {}, "x": [`, "projects[0].flags: must be an array, not an object"},
		{"a cohort's id", `"12"`, `"twelve"`, `projects[0].cohorts.twelve: a cohort's id must be a whole number, not "twelve"`},
		{"the end is missing", "}]\n}", "}", "the document ends in the middle"},
		{"text behind it", "}]\n}", "}]\n} 5", "line 11 column 3: text after the end of the JSON document"},
		{"a misspelt member", `"projects"`, `"project"`, `project: is not a member of a definitions file, "projects" is most likely meant`},
		{"a misspelt organization", `"quotas"`, `"qoutas"`, `organization.qoutas: is not a member of the organization, "quotas" is most likely meant`},
		{"a misspelt scope", `"scopes"`, `"scope"`, `projects[0].personal_api_keys[0].scope: is not a member of a personal key, "scopes" is most likely meant`},
		{"no projects", `"projects"`, `"teams"`, "projects: is missing: a definitions file has an organization and projects, see the README"},
	}
	for _, tt := range tests {
		changed := strings.Replace(exampleFile, tt.old, tt.new, 1)
		if changed == exampleFile {
			t.Fatalf("%s changes nothing", tt.name)
		}
		_, err := flags.ParseFile([]byte(changed))
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}

// Faults of one flag, cohort or setting are reported and do not affect other parts.
func TestDefinitionsFile_FaultsAreIsolated(t *testing.T) {
	const extra = `, "flags": [{"id": 1, "key": "good", "active": true, "filters": {"groups": [{}]}}, BAD], "cohorts": {COHORT}MORE}`
	tests := []struct{ name, bad, cohort, more, path string }{
		{"no id", `{"key": "bad", "filters": {}}`, "", "", "projects[1].flags[1].id"},
		{"no object", `"bad"`, "", "", "projects[1].flags[1]"},
		{"a key that is taken", `{"id": 2, "key": "good", "active": true, "filters": {}}`, "", "", "flags[1].key"},
		{"a rollout in words", `{"id": 2, "key": "bad", "filters": {"groups": [{"rollout_percentage": "50"}]}}`, "", "", "projects[1].flags[1].filters.groups[0].rollout_percentage"},
		{"a cohort that is text", `{"id": 2, "key": "bad", "filters": {}}`, `"12": "x"`, "", "projects[1].cohorts.12"},
		{"a member that is no text", `{"id": 2, "key": "bad", "filters": {}}`, `"12": {"is_static": true, "members": [1]}`, "", "projects[1].cohorts.12.members[0]"},
		{"an index without a group type", `{"id": 2, "key": "bad", "active": true, "filters": {"groups": [{"aggregation_group_type_index": 9}]}}`, "", "", "flags[1].filters.groups[0]"},
		{"an unknown time zone", `{"id": 2, "key": "bad", "filters": {}}`, "", `, "timezone": "Mars/Olympus"`, "timezone"},
		{"an unknown matching version", `{"id": 2, "key": "bad", "filters": {}}`, "", `, "property_matching_version": 3`, "projects[1].property_matching_version"},
	}
	for _, tt := range tests {
		more := strings.NewReplacer("BAD", tt.bad, "COHORT", tt.cohort, "MORE", tt.more).Replace(extra)
		file, err := flags.ParseFile([]byte(strings.Replace(exampleFile, `"phc_two"}`, `"phc_two"`+more, 1)))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		set := flags.Compile(file.Projects[1].Definitions)
		if faults := set.Faults(); len(faults) != 1 || faults[0].Path != tt.path {
			t.Errorf("%s: faults %v, want one at %s", tt.name, faults, tt.path)
		}
		var out flags.Decisions
		if d, ok := set.EvaluateFlag("good", &flags.Subject{DistinctID: "u"}, testAt, &out); !ok || !d.Enabled {
			t.Errorf("%s: the good flag is %+v", tt.name, d)
		}
	}
}

// Some editors write a byte order mark before UTF-8; it is not part of the document.
func TestDefinitionsFile_ByteOrderMark(t *testing.T) {
	if _, err := flags.ParseFile([]byte("\ufeff" + exampleFile)); err != nil {
		t.Error(err)
	}
	if _, err := flags.ParseDefinitions([]byte("\ufeff" + `{"flags": []}`)); err != nil {
		t.Error(err)
	}
}

// A member that a project does not have is reported, since it is most likely misspelt. So are
// settings that work but are probably not as intended (§1.5).
func TestFile_LikelyMistakesAreReported(t *testing.T) {
	file, err := flags.ParseFile([]byte(`{"projects": [{"id": 1, "api_key": "k", "flgas": [], "flags": [
		{"id": 1, "key": "a", "active": true, "filters": {"groups": [{"rollout_percentage": 150}], "multivariate": {"variants": [
			{"key": "x", "rollout_percentage": 50}, {"key": "x", "rollout_percentage": 20}]}}},
		{"id": 2, "key": "b", "active": true, "filters": {"groups": [{"rollout_percentage": 33.3}], "multivariate": {"variants": [
			{"key": "x", "rollout_percentage": 33.33}, {"key": "y", "rollout_percentage": 33.33}, {"key": "z", "rollout_percentage": 33.34}]}}}
	]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fault := range flags.Compile(file.Projects[0].Definitions).Faults() {
		if fault.Code != flags.NoReason {
			t.Errorf("%v fails the flag", fault)
		}
		got = append(got, fault.Path)
	}
	want := []string{
		"flgas", "flags[0].filters.multivariate.variants[1].key", "flags[0].filters.multivariate.variants",
		"flags[0].filters.groups[0].rollout_percentage",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
