package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// DefinitionsFiles applies definitions files to a store.
type DefinitionsFiles interface {
	// ApplyFile stores the definitions of a file, which has been read from raw, in place of those
	// that the same origin had before.
	ApplyFile(ctx context.Context, origin string, f flags.File, raw []byte) error
	// ForgetFile deletes the objects of an origin whose file is no longer used.
	ForgetFile(ctx context.Context, origin string) error
}

// DefinitionsStore is the store for Definitions.
type DefinitionsStore interface {
	serving.Source
	DefinitionsFiles
}

func applyError(s DefinitionsFiles, origin, text string) error {
	f, err := flags.ParsePayload([]byte(text), "phc_bare")
	if err != nil {
		return err
	}
	return s.ApplyFile(context.Background(), origin, f, []byte(text))
}

func apply(t testing.TB, s DefinitionsFiles, origin, text string) {
	t.Helper()
	must(t, applyError(s, origin, text))
}

func forgetFile(t testing.TB, s DefinitionsFiles, origin string) {
	t.Helper()
	must(t, s.ForgetFile(context.Background(), origin))
}

func project(t testing.TB, s serving.Source, key string) flags.Project {
	t.Helper()
	p, err := s.ProjectByKey(context.Background(), key)
	must(t, err)
	return p
}

var revisionMember = regexp.MustCompile(`"revision":\d+`)

// payload returns the definitions as SDKs receive them, without the revision.
func payload(t testing.TB, d flags.Definitions) string {
	t.Helper()
	body, err := d.Payload()
	must(t, err)
	return revisionMember.ReplaceAllString(string(body), "")
}

func storedPayload(t testing.TB, s serving.Source, key string) string {
	t.Helper()
	d, err := s.Definitions(context.Background(), project(t, s, key))
	must(t, err)
	return payload(t, d)
}

// Definitions is the contract test of serving.Source and of definitions files.
func Definitions(t *testing.T, open func(testing.TB) DefinitionsStore) {
	t.Run("AsTheFileSays", func(t *testing.T) { matchesFlagsParser(t, open) })
	t.Run("Project", func(t *testing.T) { projectOfFile(t, open(t)) })
	t.Run("Revision", func(t *testing.T) { revisions(t, open(t)) })
	t.Run("Conflicts", func(t *testing.T) { fileConflicts(t, open) })
	t.Run("BadFlagFailsAlone", func(t *testing.T) { badFlag(t, open(t)) })
	t.Run("ForgetFile", func(t *testing.T) { forgottenFile(t, open(t)) })
}

// demoFile returns the file of the quick start, from a folder above the tested store, or an empty text
// if the store is part of another repository.
func demoFile(t *testing.T) string {
	t.Helper()
	for dir := range 4 {
		text, err := os.ReadFile(filepath.Join(strings.Repeat("../", dir+1), "testdata", "demo.json"))
		if err == nil {
			return string(text)
		}
		if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return ""
}

// matchesFlagsParser compares the definitions with the result of package flags for the
// same files.
func matchesFlagsParser(t *testing.T, open func(testing.TB) DefinitionsStore) {
	texts := map[string]string{
		"odd": "\ufeff" + `{"projects":[{"id":3,"api_key":"phc_odd","timezone":"Europe/Berlin","bucketing_hash":"murmur3","property_matching_version":2,
			"minimal_flag_called_events":true,"static_cohorts":[9],"group_type_mapping":{"0":"company","3":"te\u0000am"},
			"flags":[{"id":2,"key":"b <>&\u2028","active":true,"filters":{"groups":[{"properties":[{"type":"cohort","key":"id","value":12}]}],"payloads":{"true":"{\"a\": 1.0}"}}},
			{"id":1,"key":"a","active":true,"filters":{"groups":[{"rollout_percentage":33.3}]}},{"key":"no id","active":true,"filters":{}}, 5,
			{"id":7,"key":"gone","deleted":true,"active":true,"filters":{}}],
			"cohorts":[{"id":12,"is_static":true,"members":["u"]},{"id":13.0,"filters":{"properties":{"type":"AND","values":[]}}}]}]}`,
		"bare": `{"flags":[{"id":1,"key":"one","active":true,"filters":{"groups":[{}]}}],"group_type_mapping":{"1":"team"},"cohorts":{"5":{"type":"OR","values":[]}}}`,
	}
	if demo := demoFile(t); demo != "" {
		texts["demo"] = demo
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			apply(t, s, name, text)
			f, err := flags.ParsePayload([]byte(text), "phc_bare")
			must(t, err)
			for _, p := range f.Projects {
				want := strings.ReplaceAll(payload(t, p.Definitions), `\u0000`, "\uFFFD")
				equal(t, want, storedPayload(t, s, p.APIKey), "%s", p.APIKey)
			}
		})
	}
}

func projectOfFile(t *testing.T, s DefinitionsStore) {
	apply(t, s, "a.json", `{"organization":{"id":"org","name":"O","quotas":{"feature_flags":10,"events":null}},
		"projects":[{"id":4,"name":"four","api_key":"phc_a","quota_limited":["events","feature_flags"]},{"id":5,"api_key":"phc_b"}]}`)
	ten := int64(10)
	want := flags.Project{ID: 4, Name: "four", APIKey: "phc_a", OrganizationID: "org", Revision: 1, FlagLimit: &ten, QuotaLimited: []string{"events", "feature_flags"}}
	equal(t, want, project(t, s, "phc_a"), "")
	apply(t, s, "a.json", `{"organization":{"id":"org","name":"O"},"projects":[{"id":4,"name":"vier","api_key":"phc_a"},{"id":5,"api_key":"phc_b"}]}`)
	want = flags.Project{ID: 4, Name: "vier", APIKey: "phc_a", OrganizationID: "org", Revision: 1, QuotaLimited: []string{}}
	equal(t, want, project(t, s, "phc_a"), "no limits")
	for _, key := range []string{"phc_", "", "PHC_A", "phc_a\x00", strings.Repeat("x", 300)} {
		if _, err := s.ProjectByKey(context.Background(), key); !errors.Is(err, flags.ErrUnknownKey) {
			t.Errorf("%.10q: %v", key, err)
		}
	}
}

func revisions(t *testing.T, s DefinitionsStore) {
	const head, tail = `{"projects":[{"id":1,"api_key":"phc_a",`, `},{"id":2,"api_key":"phc_b"}]}`
	revision := int64(0)
	for _, step := range []struct {
		name, text string
		grows      int64
	}{
		{"new", `"flags":[{"id":1,"key":"a","active":true,"filters":{}}]`, 1},
		{"the same", `"flags":[{"id":1,"key":"a","active":true,"filters":{}}]`, 0},
		{"white space", `"flags": [ {"id":1, "key":"a", "active":true, "filters":{}}]`, 0},
		{"quotas and name", `"name":"x","quota_limited":["events"],"flags":[{"id":1,"key":"a","active":true,"filters":{}}]`, 0},
		{"a flag changes and one comes", `"flags":[{"id":1,"key":"a","active":false,"filters":{}},{"id":2,"key":"b","active":true,"filters":{}}]`, 1},
		{"a flag leaves", `"flags":[{"id":2,"key":"b","active":true,"filters":{}}]`, 1},
		{"it stays away", `"flags":[{"id":2,"key":"b","active":true,"filters":{}}]`, 0},
		{"it comes back", `"flags":[{"id":1,"key":"a","active":false,"filters":{}},{"id":2,"key":"b","active":true,"filters":{}}]`, 1},
		{"settings", `"timezone":"Europe/Berlin"`, 1},
		{"a cohort", `"timezone":"Europe/Berlin","cohorts":{"1":{"is_static":true,"members":["u"]}}`, 1},
		{"members", `"timezone":"Europe/Berlin","cohorts":{"1":{"is_static":true,"members":["u","v"]}}`, 1},
		{"the same members", `"timezone":"Europe/Berlin","cohorts":{"1":{"is_static":true,"members":["v","u","v"]}}`, 0},
		{"members are not listed", `"timezone":"Europe/Berlin","cohorts":{"1":{"is_static":true}}`, 0},
		{"a group type", `"group_type_mapping":{"0":"company"}`, 1},
		{"a group type leaves, but is in use", `"flags":[]`, 0},
	} {
		apply(t, s, "a.json", head+step.text+tail)
		now := project(t, s, "phc_a").Revision
		if now != revision+step.grows {
			t.Errorf("%s: revision %d after %d", step.name, now, revision)
		}
		revision = now
	}
	if got := project(t, s, "phc_b").Revision; got != 1 {
		t.Errorf("the other project has revision %d", got)
	}
}

func fileConflicts(t *testing.T, open func(testing.TB) DefinitionsStore) {
	const first = `{"organization":{"id":"o","quotas":{"events":1}},"projects":[{"id":1,"api_key":"phc_a","group_type_mapping":{"0":"company"},
		"personal_api_keys":[{"key":"phx_1","scopes":["*"]}],"secret_api_keys":["phs_1"]}]}`
	for name, tt := range map[string]struct{ origin, text, want string }{
		"one project in two files": {"b.json", `{"projects":[{"id":1,"api_key":"phc_a"}]}`, "stands in a.json too"},
		"the id of another":        {"b.json", `{"projects":[{"id":1,"api_key":"phc_b"}]}`, `the id 1 is that of the project with the api_key "phc_a"`},
		"another id":               {"a.json", `{"projects":[{"id":2,"api_key":"phc_a"}]}`, "its id in the store is 1, not 2"},
		"another group type":       {"a.json", `{"projects":[{"id":1,"api_key":"phc_a","group_type_mapping":{"0":"team"}}]}`, `"team" in the file and "company" in the store`},
		"another number":           {"a.json", `{"projects":[{"id":1,"api_key":"phc_a","group_type_mapping":{"1":"company"}}]}`, `"company" is 1 in the file and 0 in the store`},
		"other scopes":             {"b.json", `{"projects":[{"id":2,"api_key":"phc_b","personal_api_keys":[{"key":"phx_1","scopes":[]}]}]}`, "personal_api_keys[0]"},
		"a secret key twice":       {"b.json", `{"projects":[{"id":2,"api_key":"phc_b","secret_api_keys":["phs_1"]}]}`, "secret_api_keys[0]"},
		"a public key is secret":   {"b.json", `{"projects":[{"id":2,"api_key":"phc_b","secret_api_keys":["phc_a"]}]}`, "public api_key"},
		"an empty key":             {"b.json", `{"projects":[{"id":2,"api_key":"phc_b","secret_api_keys":[""]}]}`, "is empty"},
		"other quotas":             {"b.json", `{"organization":{"id":"o","quotas":{"events":2}},"projects":[{"id":2,"api_key":"phc_b"}]}`, "stands in a.json too"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			apply(t, s, "a.json", first)
			before := storedPayload(t, s, "phc_a")
			err := applyError(s, tt.origin, tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), tt.origin) {
				t.Errorf("error %v, want %q after the name of the file", err, tt.want)
			}
			equal(t, before, storedPayload(t, s, "phc_a"), "something has changed")
			if _, err := s.ProjectByKey(context.Background(), "phc_b"); !errors.Is(err, flags.ErrUnknownKey) {
				t.Errorf("phc_b: %v", err)
			}
		})
	}
}

func badFlag(t *testing.T, s DefinitionsStore) {
	apply(t, s, "a.json", `{"projects":[{"id":1,"api_key":"phc_a","flags":[{"key":"bad","active":true,"filters":{}},{"id":1,"key":"good","active":true,"filters":{"groups":[{}]}}]}]}`)
	d, err := s.Definitions(context.Background(), project(t, s, "phc_a"))
	must(t, err)
	var out flags.Decisions
	flags.Compile(d).Select(&flags.Subject{DistinctID: "u"}, epoch, &flags.Selection{}, &out)
	got := map[string]bool{}
	for _, decision := range out.List {
		got[decision.Key] = decision.Enabled
	}
	if diff := cmp.Diff(map[string]bool{"bad": false, "good": true}, got); diff != "" || !out.Errors {
		t.Errorf("errors %v (-want +got):\n%s", out.Errors, diff)
	}
}

func forgottenFile(t *testing.T, s DefinitionsStore) {
	const text = `{"projects":[{"id":1,"api_key":"phc_a","flags":[{"id":1,"key":"a","active":true,"filters":{}}]}]}`
	apply(t, s, "a.json", text)
	forgetFile(t, s, "a.json")
	if _, err := s.ProjectByKey(context.Background(), "phc_a"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Errorf("forgotten: %v", err)
	}
	forgetFile(t, s, "a.json")
	apply(t, s, "b.json", text) // now another file may contain it
	if p := project(t, s, "phc_a"); p.Revision != 3 || p.ID != 1 {
		t.Errorf("%+v", p)
	}
	if got := storedPayload(t, s, "phc_a"); !strings.Contains(got, `"key":"a"`) {
		t.Errorf("payload %s", got)
	}
}
