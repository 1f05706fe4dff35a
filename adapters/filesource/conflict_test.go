package filesource

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

func TestOpen_Refuses(t *testing.T) {
	withKeys := func(id, apiKey, keys string) string {
		return `{"projects": [{"id": ` + id + `, "api_key": "` + apiKey + `", ` + keys + `}]}`
	}
	tests := map[string]struct {
		files  []string
		apiKey string
		want   string
	}{
		"no files":                   {want: "Config.Files is empty"},
		"not JSON":                   {files: []string{"{\n \"projects\": x}"}, want: "0.json: line 2 column 14:"},
		"empty":                      {files: []string{""}, want: "0.json: line 1 column 1: the document is empty"},
		"neither kind":               {files: []string{`{"flag": []}`}, want: "0.json: flags: is missing"},
		"bare payload without a key": {files: []string{`{"flags": []}`}, want: "0.json: is a bare definitions payload, without \"projects\": give the key of its project with --api-key"},
		"place in the file":          {files: []string{`{"projects": [{"id": 0, "api_key": "phc_a"}]}`}, want: "0.json: projects[0].id:"},
		"one key in two files":       {files: []string{definitions(1, "phc_a"), definitions(2, "phc_a")}, want: `1.json both have the project with the api_key "phc_a"`},
		"one id in two files":        {files: []string{definitions(1, "phc_a"), definitions(1, "phc_b")}, want: `1.json both have a project with the id 1 (api_key "phc_a" and "phc_b")`},
		"two bare payloads":          {files: []string{`{"flags": []}`, `{"flags": []}`}, apiKey: "phc_a", want: `both have the project with the api_key "phc_a"`},
		"every bad file is named":    {files: []string{"x", "y"}, want: "1.json: line 1"},
		"different scopes": {files: []string{
			withKeys("1", "phc_a", `"personal_api_keys": [{"key": "phx", "scopes": ["*"]}]`),
			withKeys("2", "phc_b", `"personal_api_keys": [{"key": "phx", "scopes": ["feature_flag:read"]}]`),
		}, want: `1.json: personal_api_keys[0] of the project "phc_b" is in several places with different scopes`},
		"secret and personal": {files: []string{
			withKeys("1", "phc_a", `"personal_api_keys": [{"key": "k", "scopes": []}], "secret_api_keys": ["k"]`),
		}, want: `secret_api_keys[0] of the project "phc_a" is a personal key in one place and a secret key in another`},
		"public and secret": {files: []string{withKeys("1", "phc_a", `"secret_api_keys": ["phc_a"]`)}, want: `the api_key "phc_a", which is public, is also a personal or secret key`},
		"an empty key":      {files: []string{withKeys("1", "phc_a", `"secret_api_keys": [""]`)}, want: `secret_api_keys[0] of the project "phc_a" is empty`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var paths []string
			for i, text := range tt.files {
				path := filepath.Join(dir, string(rune('0'+i))+".json")
				write(t, path, text)
				paths = append(paths, path)
			}
			s, err := Open(Config{Files: paths, APIKey: tt.apiKey})
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want %q in it", err, tt.want)
			}
			var place *flags.DefinitionError
			if slices.Contains([]string{"not JSON", "empty", "neither kind", "place in the file"}, name) && !errors.As(err, &place) {
				t.Errorf("%v has no place that can be matched", err)
			}
		})
	}
	if _, err := Open(Config{Files: []string{"a.json", "./a.json"}}); err == nil || !strings.Contains(err.Error(), "is given twice") {
		t.Errorf("one file twice: %v", err)
	}
	if _, err := Open(Config{Files: []string{filepath.Join(t.TempDir(), "missing", "none.json")}}); err == nil || !strings.Contains(err.Error(), "none.json: file does not exist") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestSource_ConflictOnReload(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a.json"), filepath.Join(t.TempDir(), "b.json")
	write(t, a, definitions(1, "phc_a", "one"))
	write(t, b, definitions(2, "phc_b", "one"))
	h := startByEvents(t, a, b)
	write(t, b, definitions(2, "phc_a", "stolen"))
	h.waitUntil("the second phc_a is refused", h.isFailing(1, "both have the project"))
	if !h.hasFlags("phc_a", "one")() || !h.hasFlags("phc_b", "one")() {
		t.Error("the last good states are gone")
	}
	write(t, a, definitions(3, "phc_c", "one")) // removes phc_a from this file
	h.waitUntil("phc_a is taken over", h.hasFlags("phc_a", "stolen"))
	if !h.hasFlags("phc_c", "one")() || h.flagKeys("phc_b") != nil || h.Status()[1].Err != nil {
		t.Errorf("status %+v", h.Status())
	}
}

func TestSource_FilesExchangeProjects(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a.json"), filepath.Join(t.TempDir(), "b.json")
	write(t, a, definitions(1, "phc_a", "one"))
	write(t, b, definitions(2, "phc_b", "one"))
	h := startByEvents(t, a, b)
	write(t, a, definitions(2, "phc_b", "two"))
	write(t, b, definitions(1, "phc_a", "two"))
	h.waitUntil("both have changed", func() bool { return h.hasFlags("phc_a", "two")() && h.hasFlags("phc_b", "two")() })
	for i, st := range h.Status() {
		if st.Err != nil {
			t.Errorf("file %d: %v", i, st.Err)
		}
	}
}

func TestSource_BarePayload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "payload.json")
	write(t, path, `{"flags": [{"id": 1, "key": "one", "active": true, "filters": {}}], "group_type_mapping": {"0": "company"}, "cohorts": {}}`)
	h := start(t, Config{Files: []string{path}, APIKey: "phc_p", Poll: noPoll}, fsnotify.NewWatcher)
	if !h.hasFlags("phc_p", "one")() {
		t.Errorf("flags %v", h.flagKeys("phc_p"))
	}
	if h.HasKeys() {
		t.Error("a bare payload has no keys")
	}
}

func TestSource_Key(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, `{"projects": [
		{"id": 1, "api_key": "phc_a", "personal_api_keys": [{"key": "phx_1", "scopes": ["feature_flag:read"]}], "secret_api_keys": ["phs_a"]},
		{"id": 2, "api_key": "phc_b", "personal_api_keys": [{"key": "phx_1", "scopes": ["feature_flag:read"]}, {"key": "phx_2", "scopes": ["*"]}]}]}`)
	h := startByEvents(t, path)
	type answer struct {
		Secret           bool
		Scopes, Projects []string
		OK               bool
	}
	for key, want := range map[string]answer{
		"phx_1": {Scopes: []string{"feature_flag:read"}, Projects: []string{"phc_a", "phc_b"}, OK: true},
		"phx_2": {Scopes: []string{"*"}, Projects: []string{"phc_b"}, OK: true},
		"phs_a": {Secret: true, Projects: []string{"phc_a"}, OK: true},
		"phc_a": {}, "": {}, "phx_3": {},
	} {
		var got answer
		got.Secret, got.Scopes, got.Projects, got.OK = h.Key(key)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", key, diff)
		}
	}
	write(t, path, definitions(1, "phc_a"))
	h.waitUntil("the keys are gone", func() bool { return !h.HasKeys() })
	if _, _, _, ok := h.Key("phx_1"); ok {
		t.Error("a key that is gone still opens something")
	}
}

// Members of static cohorts are persons, and their stored data survives a change of the file
// (§8.6).
func TestSource_8_6_MembersKeepTheirIdentifiers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	file := func(members string) string {
		return `{"projects": [{"id": 7, "api_key": "phc_a", "flags": [], "cohorts": {"13": {"is_static": true, "members": [` + members + `]}}}]}`
	}
	write(t, path, file(`"ann"`))
	h := startByEvents(t, path)
	ask := func(id, anonymous string) map[string]string {
		t.Helper()
		got, err := h.Memory().Overrides(context.Background(), 7, id, anonymous, []string{"beta"})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := ask("ann", "anon-1"); got["beta"] != "anon-1" {
		t.Errorf("ann: %v, want anon-1 kept", got)
	}
	if got := ask("bob", "anon-2"); len(got) != 0 {
		t.Errorf("bob is nobody: %v", got)
	}
	write(t, path, file(`"ann", "bob"`))
	h.waitUntil("bob is known", func() bool { return h.Status()[0].Loads == 2 })
	if got := ask("ann", "anon-3"); got["beta"] != "anon-1" {
		t.Errorf("ann: %v, want anon-1 still", got)
	}
	if got := ask("bob", "anon-2"); got["beta"] != "anon-2" {
		t.Errorf("bob: %v, want anon-2 kept", got)
	}
	stored, err := h.Memory().Stored(context.Background(), serving.Query{ProjectID: 7, DistinctID: "ann"})
	if err != nil || len(stored.Cohorts) != 0 {
		t.Errorf("stored %+v, %v: membership is in the definitions", stored, err)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, definitions(1, "phc_a", "one"))
	f, err := Load(path, "")
	if err != nil || len(f.Projects) != 1 || f.Projects[0].APIKey != "phc_a" {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := Load(path+"x", ""); err == nil || !strings.Contains(err.Error(), "flags.jsonx: file does not exist") {
		t.Errorf("a missing file: %v", err)
	}
	big, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(maxSize + 1); err != nil { // a sparse file uses no disk space
		t.Fatal(err)
	}
	_ = big.Close()
	if _, err := Load(path, ""); err == nil || !strings.Contains(err.Error(), "larger than 256 MiB") {
		t.Errorf("a file that is too large: %v", err)
	}
}
