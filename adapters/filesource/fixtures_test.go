package filesource

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

func loadFixtures(t *testing.T, text, apiKey string) (flags.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path, apiKey)
}

// Flags have the values of the file, for all subjects and for single distinct ids.
func TestFixtures_Answers(t *testing.T) {
	f, err := loadFixtures(t, `{"fixtures": {
		"search": true, "old": false, "layout": "wide",
		"limits": {"payload": {"rows": 10}},
		"theme": {"value": "dark", "payload": "night", "for": {"bob": "light", "eve": false, "joe": {"value": "dark", "payload": "night"}}},
		"few": {"for": {"bob": true}}}}`, "")
	if err != nil {
		t.Fatal(err)
	}
	p := f.Projects[0]
	set := flags.Compile(p.Definitions)
	if faults := set.Faults(); len(faults) > 0 {
		t.Error(faults[0])
	}
	r, ctx := set.Reader(), context.Background()
	show := func(id string) (out []string) {
		for _, key := range []string{"search", "old", "layout", "limits", "theme", "few"} {
			raw, d := r.JSONDetail(ctx, key, &flags.Subject{DistinctID: id}, nil)
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s=%v %s", key, d.Value(), raw)))
		}
		return out
	}
	for id, want := range map[string][]string{
		"ana": {"search=true", "old=false", "layout=wide", `limits=true {"rows": 10}`, `theme=dark "night"`, "few=false"},
		"bob": {"search=true", "old=false", "layout=wide", `limits=true {"rows": 10}`, "theme=light", "few=true"},
		"eve": {"search=true", "old=false", "layout=wide", `limits=true {"rows": 10}`, "theme=false", "few=false"},
		"joe": {"search=true", "old=false", "layout=wide", `limits=true {"rows": 10}`, `theme=dark "night"`, "few=false"},
	} {
		if diff := cmp.Diff(want, show(id)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", id, diff)
		}
	}
	if p.APIKey != "phc_test" || p.SecretKeys[0] != "phs_test" || p.PersonalKeys[0].Key != "phx_test" {
		t.Errorf("keys %s %v %v", p.APIKey, p.SecretKeys, p.PersonalKeys)
	}
}

// The keys are those of the file, or of Config, or the defaults for tests; ids of flags do not
// change when flags are added.
func TestFixtures_KeysAndIDs(t *testing.T) {
	for _, tt := range []struct{ text, apiKey, want string }{
		{`{"fixtures": {"b": true}}`, "phc_given", "phc_given"},
		{`{"api_key": "phc_file", "fixtures": {"b": true, "a": true}}`, "phc_given", "phc_file"},
	} {
		f, err := loadFixtures(t, tt.text, tt.apiKey)
		if err != nil {
			t.Fatal(err)
		}
		flags := f.Projects[0].Definitions.Flags
		if b := flags[len(flags)-1]; f.Projects[0].APIKey != tt.want || b.Key != "b" || b.ID != int64(fixtureID("b")) {
			t.Errorf("%s: %s, %+v", tt.text, f.Projects[0].APIKey, b)
		}
	}
}

// Invalid fixtures are rejected with the place of the error.
func TestFixtures_Rejects(t *testing.T) {
	for text, want := range map[string]string{
		`{"fixtures": {"f": 5}}`:                                             "fixtures: must be true, false, a variant, or an object with value, payload and for, not 5",
		`{"fixtures": {"f": null}}`:                                          "not null",
		`{"fixtures": {"f": ""}}`:                                            `not ""`,
		`{"fixtures": {"f": {"vlaue": true}}}`:                               `unknown field "vlaue"`,
		`{"fixtures": {}, "flag": {}}`:                                       `unknown field "flag"`,
		`{"fixtures": {"f": {"value": false, "payload": 1}}}`:                "a flag that is off has no payload",
		`{"fixtures": {"f": {"payload": 1, "for": {"u": {"payload": 2}}}}}`:  "fixtures.f: the value true has two payloads, 2 and 1",
		`{"fixtures": {"f": {"value": true, "for": {"u": {"payload": 2}}}}}`: "fixtures.f: the value true has two payloads, 2 and none",
		`{"fixtures": {"f": {"for": {"Bob": true, "bob": false}}}}`:          `fixtures.f: for: "bob" cannot be distinguished from "Bob"`,
		`{"fixtures": {"f": {"for": {"": true}}}}`:                           `for: "" cannot be distinguished`,
		`{"fixtures": {"f": {"for": {"u": {"value": true, "for": {}}}}}}`:    `unknown field "for"`,
		`{"fixtures": {"f": {"value": "a", "for": {"u": true}}}}`:            "fixtures.f: it is true for some users and a variant for others",
		`{"fixtures": []}`:                                                   "cannot unmarshal array",
	} {
		if _, err := loadFixtures(t, text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

// Every document of fixtures is rejected, or results in flags without faults.
func FuzzFixtures(f *testing.F) {
	for _, text := range []string{
		`{"fixtures":{"f":true,"g":"wide","h":{"value":"a","payload":[1],"for":{"u":false,"v":{"value":"b"}}}}}`, `{"fixtures":{"":{}}}`, `{"fixtures":{"f":{"payload":null}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !isFixtures(text) {
			return
		}
		text, err := expandFixtures(text, "")
		if err != nil {
			return
		}
		file, err := flags.ParseFile(text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range file.Projects[0].Definitions.Flags {
			if key := file.Projects[0].Definitions.Flags[i].Key; key != "" {
				r := flags.Compile(file.Projects[0].Definitions).Reader()
				if _, d := r.BoolDetail(context.Background(), key, &flags.Subject{DistinctID: "u"}, false); d.Err != nil {
					t.Errorf("%q: %v", key, d.Err)
				}
			}
		}
	})
}
