package convert

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// A converted payload has the same decisions: all members that the parser reads are preserved
// (spec/flags.md §1.1 to §1.8).
func TestPostHog_PayloadSurvives(t *testing.T) {
	for _, name := range []string{"../../../../testdata/demo.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before, err := flags.ParseFile(data)
		if err != nil {
			t.Fatal(err)
		}
		r := convertOne(t, "posthog", data, Options{})
		text, err := r.Document()
		if err != nil {
			t.Fatal(err)
		}
		after, err := flags.ParseFile(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(omittedReasons(r)) > 0 {
			t.Errorf("%s: left out: %v", name, omittedReasons(r))
		}
		if got, want := payload(t, after.Projects[0].Definitions), payload(t, before.Projects[0].Definitions); got != want {
			t.Errorf("%s: the payload is another (-want +got):\n%s", name, cmp.Diff(want, got))
		}
	}
}

func payload(t *testing.T, d flags.Definitions) string {
	t.Helper()
	text, err := d.Payload()
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	for _, f := range v["flags"].([]any) {
		delete(f.(map[string]any), "team_id") // it is the project's own
		delete(f.(map[string]any), "tags")    // reported as a note
	}
	out, _ := json.MarshalIndent(v, "", " ")
	return string(out)
}

const apiFlags = `{"count":9,"next":null,"results":[
 {"id":7,"key":"beta","name":"Beta","active":true,"deleted":false,"created_by":{"email":"a@example.com"},"tags":["web"],"version":3,
  "filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":12}],"rollout_percentage":40}],"payloads":{"true":"{\"a\":1}"},"own":5},
  "ensure_experience_continuity":true,"evaluation_runtime":"server","evaluation_contexts":["web"]},
 {"id":8,"key":"org","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[]}]}},
 {"id":9,"key":"behind","active":true,"filters":{"groups":[{"properties":[{"key":"10","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
 {"id":10,"key":"static","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":13}]}]}},
 {"id":11,"key":"broken","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"person","operator":"sounds_like","value":"x"}]}]}},
 {"id":12,"key":"secret","active":true,"has_encrypted_payloads":true,"filters":{"groups":[{"properties":[]}]}},
 {"id":13,"key":"unknown-cohort","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":99}]}]}},
 {"id":14,"key":"later","active":true,"filters":{"groups":[{"properties":[{"key":"7","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
 {"id":15,"active":true,"filters":{"groups":[]}}
]}`

const apiCohorts = `{"results":[
 {"id":12,"name":"Pro","filters":{"properties":{"type":"AND","values":[{"key":"plan","type":"person","value":"pro","operator":"exact"}]}}},
 {"id":13,"name":"VIP","is_static":true,"filters":{}}
]}`

const apiGroups = `[{"group_type":"company","group_type_index":0}]`

// Pages of lists of the management API are combined. Flags that need data which the lists do not
// contain are left out, with the flags that depend on them.
func TestPostHog_ManagementLists(t *testing.T) {
	f, _ := Find("posthog")
	r, err := f.Read([]Input{{"flags.json", []byte(apiFlags)}, {"cohorts.json", []byte(apiCohorts)}, {"groups.json", []byte(apiGroups)}}, Options{ProjectKey: "phc_own"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"beta", "later", "org"}; !slices.Equal(r.Converted, want) {
		t.Errorf("converted %v, want %v", r.Converted, want)
	}
	got := omittedReasons(r)
	for key, want := range map[string]string{
		"behind": `depends on the flag "static"`, "static": "static, and its members are not", "broken": "sounds_like",
		"secret": "only PostHog can read", "unknown-cohort": "the cohort 99 is not in these files", "15": "needs a key",
	} {
		if !strings.Contains(got[key], want) {
			t.Errorf("flag %s: %q, want %q in it", key, got[key], want)
		}
	}
	text, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"phc_own"`, `"own": 5`, `"company"`, `"evaluation_runtime": "server"`, `"id": 7`, `"name": "Pro"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, absent := range []string{"a@example.com", `"web",`} {
		if strings.Contains(string(text), absent) {
			t.Errorf("%s is in\n%s", absent, text)
		}
	}
	file, err := flags.ParseFile(text)
	if err != nil {
		t.Fatal(err)
	}
	if faults := flags.Compile(file.Projects[0].Definitions).Faults(); len(faults) > 0 {
		t.Error(faults)
	}
}

// A document of bunting flags export refers to cohorts and flags by name.
func TestPostHog_OwnDocument(t *testing.T) {
	doc := `{"cohorts":[{"name":"Pro","filters":{"properties":{"type":"AND","values":[{"key":"plan","type":"person","value":"pro","operator":"exact"}]}}}],
	 "flags":[{"key":"a","name":"","active":true,"filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"Pro","operator":"in"}]}]}},
	 {"key":"b","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}]}`
	r := convertOne(t, "posthog", []byte(doc), Options{})
	if len(r.Omissions) > 0 {
		t.Fatal(r.Omissions)
	}
	text, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	file, err := flags.ParseFile(text)
	if err != nil {
		t.Fatal(err)
	}
	for plan, want := range map[string]bool{"pro": true, "free": false} {
		got := decideAll(t, file.Projects[0].Definitions, "u", map[string]any{"plan": plan})
		if got["a"] != any(want) || got["b"] != any(want) {
			t.Errorf("plan %s: %v, want %v", plan, got, want)
		}
	}
	back, err := r.Portable()
	if err != nil {
		t.Fatal(err)
	}
	again := convertOne(t, "posthog", back, Options{})
	if diff := cmp.Diff(r.Converted, again.Converted); diff != "" || len(again.Omissions) > 0 {
		t.Errorf("through the portable document: %s %v", diff, again.Omissions)
	}
	for plan, want := range map[string]bool{"pro": true, "free": false} {
		got := decideAll(t, again.File.Projects[0].Definitions, "u", map[string]any{"plan": plan})
		if got["a"] != any(want) || got["b"] != any(want) {
			t.Errorf("plan %s through the portable document: %v, want %v", plan, got, want)
		}
	}
}
