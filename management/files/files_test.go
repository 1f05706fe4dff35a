package files_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/files"
)

// step is a file that is applied. An empty text means that the file is no longer used.
type step struct{ origin, text string }

// apply applies a file to a store.
func apply(s *store, f step) (changed []int64, err error) {
	file := &files.File{}
	if f.text != "" {
		parsed, err := flags.ParseFile([]byte(f.text))
		if err != nil {
			return nil, err
		}
		if file, err = files.Parse(parsed, []byte(f.text)); err != nil {
			return nil, err
		}
	}
	return files.Apply(s, f.origin, file)
}

func mustApply(t *testing.T, s *store, steps ...step) {
	t.Helper()
	for _, f := range steps {
		if _, err := apply(s, f); err != nil {
			t.Fatalf("%s: %v", f.text, err)
		}
	}
}

// complete is a file with an object of each kind.
const complete = `{"organization":{"id":"O","name":"O","quotas":{"events":1}},"personal_api_keys":[{"key":"phx_org","scopes":["*"]}],"projects":[
	{"id":2,"api_key":"phc_b"},
	{"id":1,"api_key":"phc_a","name":"one","group_type_mapping":{"0":"company"},"quota_limited":["events"],"timezone":"Europe/Berlin",
	"flags":[{"id":1,"key":"a","active":true,"filters":{}},{"key":"no id","active":true,"filters":{}}],
	"cohorts":[{"id":7,"is_static":true,"members":["v","u"]},{"id":8,"filters":{"properties":{"type":"AND","values":[]}}}],
	"personal_api_keys":[{"key":"phx_1","scopes":["b","a"]}],"secret_api_keys":["phs_1"]}]}`

func TestApply_All(t *testing.T) {
	s := newStore()
	changed, err := apply(s, step{"a", complete})
	if err != nil || !slices.Equal(changed, []int64{2, 1}) || !slices.Equal(s.locked, []int64{1, 2}) {
		t.Errorf("changed %v, locked %v, %v", changed, s.locked, err)
	}
	if diff := cmp.Diff(map[string]files.Organization{"O": {ID: "O", Name: "O", Quotas: `{"events":1}`, Origin: "a"}}, s.organizations); diff != "" {
		t.Error(diff)
	}
	want := files.Project{ID: 1, Organization: "O", Name: "ONE", APIKey: "phc_a", Settings: `{"timezone":"Europe/Berlin"}`, Paused: []string{"events"}, Origin: "a"}
	if diff := cmp.Diff(want, s.projects[1]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[int64][]string{1: {"COMPANY"}}, s.groupTypes); diff != "" {
		t.Error(diff)
	}
	records := map[recordKey]files.Record{
		{management.FlagDefinition, 1, 1}:   {Key: "A", Text: `{"id":1,"key":"a","active":true,"filters":{}}`, Origin: "a"},
		{management.FlagDefinition, 1, -2}:  {Key: "NO ID", Text: `{"key":"no id","active":true,"filters":{}}`, Origin: "a"}, // decision 4
		{management.CohortDefinition, 1, 7}: {Text: `{"id":7,"is_static":true}`, Origin: "a"},
		{management.CohortDefinition, 1, 8}: {Text: `{"id":8,"filters":{"properties":{"type":"AND","values":[]}}}`, Origin: "a"},
	}
	if diff := cmp.Diff(records, s.records); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[recordKey][]string{{management.CohortDefinition, 1, 7}: {"u", "v"}}, s.members); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"phx_org": "a.[*].[].[O]", "phx_1": "a.[a b].[1].[]", "phs_1": "a.secret.[1].[]"}, s.describeKeys()); diff != "" {
		t.Error(diff)
	}
	s.writes = nil
	if changed, err := apply(s, step{"a", strings.ReplaceAll(complete, ",\n", " ,\t")}); len(changed)+len(s.writes) > 0 || err != nil {
		t.Errorf("the same file again: changed %v, wrote %v, %v", changed, s.writes, err)
	}
	changed, err = apply(s, step{origin: "a"})
	if err != nil || !slices.Equal(changed, []int64{1, 2}) || !s.projects[1].Deleted || !s.projects[2].Deleted || len(s.keys) > 0 || s.organizations["O"].Origin != "" {
		t.Errorf("the file is gone: changed %v, %v, %+v", changed, err, s)
	}
}

// describeKeys returns the keys of the store in a short form, by their text.
func (s *store) describeKeys() map[string]string {
	out := map[string]string{}
	for _, key := range []string{"phx_org", "phx_1", "phx_2", "phs_1"} {
		k, ok := s.keys[management.HashKey(key)]
		if !ok {
			continue
		}
		access := fmt.Sprint(k.Scopes)
		if k.Secret {
			access = "secret"
		}
		out[key] = fmt.Sprintf("%s.%s.%v.%v", k.Origin, access, k.Projects, k.Organizations)
		if s.withoutUser[k.Hash] {
			out[key] += ".without user"
		}
	}
	return out
}

// file returns a file with one project and more members of it.
func file(project int, members string) string {
	return fmt.Sprintf(`{"organization":{"id":"O"},"projects":[{"id":%d,"api_key":"phc_%d"%s}]}`, project, project, members)
}

func personal(key, scope string) string {
	return fmt.Sprintf(`,"personal_api_keys":[{"key":"%s","scopes":["%s"]}]`, key, scope)
}

func ofOrganization(organization, keys string) string {
	return fmt.Sprintf(`{"organization":{"id":"%s"},"personal_api_keys":[%s],"projects":[{"id":1,"api_key":"phc_1"}]}`, organization, keys)
}

func TestApply_Keys(t *testing.T) {
	const secret, orgKey = `,"secret_api_keys":["phs_1"]`, `{"key":"phx_1","scopes":["*"]}`
	fromAPI := func(k files.Key) func(s *store) {
		return func(s *store) { k.Hash = management.HashKey("phx_1"); s.keys[k.Hash] = k }
	}
	for name, tt := range map[string]struct {
		before func(s *store)
		steps  []step
		want   map[string]string
		err    string // of the last step
	}{
		"two projects":       {nil, []step{{"a", `{"projects":[{"id":1,"api_key":"phc_1"` + personal("phx_1", "*") + `},{"id":2,"api_key":"phc_2"` + personal("phx_1", "*") + `}]}`}}, map[string]string{"phx_1": "a.[*].[1 2].[]"}, ""},
		"two files":          {nil, []step{{"a", file(1, personal("phx_1", "*"))}, {"b", file(2, personal("phx_1", "*"))}}, map[string]string{"phx_1": "a.[*].[1 2].[]"}, ""},
		"one of two leaves":  {nil, []step{{"a", file(1, personal("phx_1", "*"))}, {"b", file(2, personal("phx_1", "*"))}, {"a", file(1, "")}}, map[string]string{"phx_1": "a.[*].[2].[]"}, ""},
		"both leave":         {nil, []step{{"a", file(1, personal("phx_1", "*"))}, {"b", file(2, personal("phx_1", "*"))}, {"a", ""}, {"b", ""}}, map[string]string{}, ""},
		"other scopes":       {nil, []step{{"a", file(1, personal("phx_1", "*"))}, {"a", file(1, personal("phx_1", "b"))}}, map[string]string{"phx_1": "a.[b].[1].[]"}, ""},
		"to another project": {nil, []step{{"a", file(1, secret)}, {"a", file(2, secret)}}, map[string]string{"phs_1": "a.secret.[2].[]"}, ""},
		"other scopes in another file": {nil, []step{{"a", file(1, personal("phx_1", "*"))}, {"b", file(2, personal("phx_1", "b"))}}, nil,
			`personal_api_keys[0] of the project "phc_2" is in the store already, as another kind of key or with other scopes`},
		"secret in two files": {nil, []step{{"a", file(1, secret)}, {"b", file(2, secret)}}, nil, `secret_api_keys[0] of the project "phc_2" is the secret key of another project already`},
		"secret twice": {nil, []step{{"a", file(1, `,"secret_api_keys":["phs_1","phs_1"]`)}}, nil,
			`secret_api_keys[1] of the project "phc_1" stands in several places: a secret key belongs to one project`},
		"two kinds":                {nil, []step{{"a", file(1, personal("phs_1", "*")+secret)}}, nil, "as different kinds of keys, or with different scopes"},
		"an empty key":             {nil, []step{{"a", file(1, personal("", "*"))}}, nil, `personal_api_keys[0] of the project "phc_1" is empty`},
		"a public key":             {nil, []step{{"a", file(1, personal("phc_1", "*"))}}, nil, "is the public api_key of a project"},
		"a public key in store":    {nil, []step{{"a", file(1, "")}, {"b", file(2, personal("phc_1", "*"))}}, nil, "is the public api_key of a project"},
		"a deleted public key":     {nil, []step{{"a", file(1, "")}, {"a", ""}, {"b", file(2, personal("phc_1", "*"))}}, map[string]string{}, ""},
		"from the API":             {fromAPI(files.Key{Scopes: []string{"*"}, Projects: []int64{5}}), []step{{"a", file(1, personal("phx_1", "*"))}}, map[string]string{"phx_1": ".[*].[1 5].[]"}, ""},
		"from the API, everything": {fromAPI(files.Key{Scopes: []string{"*"}}), []step{{"a", file(1, personal("phx_1", "*"))}}, map[string]string{"phx_1": ".[*].[].[]"}, ""},
		"from the API, scopes":     {fromAPI(files.Key{Scopes: []string{"b"}}), []step{{"a", file(1, personal("phx_1", "*"))}}, nil, "in the store already"},
		"from the API, stays":      {fromAPI(files.Key{Scopes: []string{"*"}, Projects: []int64{1}}), []step{{"a", file(1, "")}, {"a", ""}}, map[string]string{"phx_1": ".[*].[1].[]"}, ""},
		"organization":             {nil, []step{{"a", ofOrganization("O", orgKey)}}, map[string]string{"phx_1": "a.[*].[].[O]"}, ""},
		"organization leaves":      {nil, []step{{"a", ofOrganization("O", orgKey)}, {"a", ofOrganization("O", "")}}, map[string]string{}, ""},
		"another organization":     {nil, []step{{"a", ofOrganization("O", orgKey)}, {"a", ofOrganization("P", orgKey)}}, map[string]string{"phx_1": "a.[*].[].[P].without user"}, ""},
		"organization, scopes":     {nil, []step{{"a", ofOrganization("O", orgKey)}, {"a", ofOrganization("O", `{"key":"phx_1","scopes":["b"]}`)}}, map[string]string{"phx_1": "a.[b].[].[O]"}, ""},
		"organization to project":  {nil, []step{{"a", ofOrganization("O", orgKey)}, {"a", file(1, personal("phx_1", "*"))}}, map[string]string{"phx_1": "a.[*].[1].[]"}, ""},
		"project to organization":  {nil, []step{{"a", file(1, personal("phx_1", "*"))}, {"a", ofOrganization("O", orgKey)}}, map[string]string{"phx_1": "a.[*].[].[O]"}, ""},
		"organization and project": {nil, []step{{"a", ofOrganization("O", orgKey)}, {"b", file(2, personal("phx_1", "*"))}}, nil, "opens an organization already (a): leave one out"},
		"both in one file": {nil, []step{{"a", strings.Replace(ofOrganization("O", orgKey), `"phc_1"`, `"phc_1"`+personal("phx_1", "*"), 1)}}, nil,
			`personal_api_keys[0] of the organization is also personal_api_keys[0] of the project "phc_1": a key opens the organization or projects, leave one out`},
		"organization twice":        {nil, []step{{"a", ofOrganization("O", orgKey+`,{"key":"phx_1","scopes":["b"]}`)}}, nil, "personal_api_keys[1] of the organization stands in several places with different scopes"},
		"organization, empty":       {nil, []step{{"a", ofOrganization("O", `{"key":"","scopes":["*"]}`)}}, nil, "personal_api_keys[0] of the organization is empty"},
		"organization, from API":    {fromAPI(files.Key{Scopes: []string{"*"}}), []step{{"a", ofOrganization("O", orgKey)}}, nil, "is in the store already, made through the API"},
		"organization, two files":   {nil, []step{{"a", ofOrganization("O", orgKey)}, {"b", strings.Replace(ofOrganization("O", orgKey), `"id":1,"api_key":"phc_1"`, `"id":2,"api_key":"phc_2"`, 1)}}, nil, "personal_api_keys[0] of the organization stands in a too: give it in one file only"},
		"an API key of projects":    {fromAPI(files.Key{Organizations: []string{"O"}}), []step{{"a", file(1, personal("phx_1", "*"))}}, nil, "opens an organization already (made through the API)"},
		"scopes in any order":       {nil, []step{{"a", `{"projects":[{"id":1,"api_key":"phc_1","personal_api_keys":[{"key":"phx_1","scopes":["b","a"]},{"key":"phx_1","scopes":["a","b"]}]}]}`}}, map[string]string{"phx_1": "a.[a b].[1].[]"}, ""},
		"several places and scopes": {nil, []step{{"a", `{"projects":[{"id":1,"api_key":"phc_1","personal_api_keys":[{"key":"phx_1","scopes":["b"]},{"key":"phx_1","scopes":["a"]}]}]}`}}, nil, "personal_api_keys[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			if tt.before != nil {
				tt.before(s)
			}
			last := len(tt.steps) - 1
			mustApply(t, s, tt.steps[:last]...)
			_, err := apply(s, tt.steps[last])
			checkError(t, err, tt.err)
			if diff := cmp.Diff(tt.want, s.describeKeys()); diff != "" && tt.err == "" {
				t.Error(diff)
			}
		})
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestApply_Projects(t *testing.T) {
	project := func(p files.Project) func(s *store) {
		return func(s *store) { s.projects[p.ID], s.revisions[p.ID] = p, 1 }
	}
	quotas := func(text string) string { return strings.Replace(file(2, ""), `"O"`, `"O","quotas":`+text, 1) }
	for name, tt := range map[string]struct {
		before    func(s *store)
		steps     []step
		revisions map[int64]int
		err       string
	}{
		"from the API":       {project(files.Project{ID: 1, APIKey: "phc_1", Organization: "O", Settings: "{}"}), []step{{"a", file(1, "")}}, map[int64]int{1: 1}, ""},
		"deleted before":     {project(files.Project{ID: 1, APIKey: "phc_1", Origin: "b", Deleted: true}), []step{{"a", file(1, "")}}, map[int64]int{1: 2}, ""},
		"a name":             {nil, []step{{"a", file(1, "")}, {"a", file(1, `,"name":"x"`)}}, map[int64]int{1: 1}, ""},
		"limits":             {nil, []step{{"a", file(1, "")}, {"a", file(1, `,"quota_limited":["events"]`)}}, map[int64]int{1: 1}, ""},
		"settings":           {nil, []step{{"a", file(1, "")}, {"a", file(1, `,"timezone":"UTC"`)}}, map[int64]int{1: 2}, ""},
		"another project":    {nil, []step{{"a", file(1, "")}, {"a", file(2, "")}}, map[int64]int{1: 2, 2: 1}, ""},
		"in another file":    {nil, []step{{"a", file(1, "")}, {"b", file(1, "")}}, nil, `project "phc_1": it stands in a too: a project may stand in one file only`},
		"to another file":    {nil, []step{{"a", file(1, "")}, {"a", ""}, {"b", file(1, "")}}, map[int64]int{1: 3}, ""},
		"another id":         {nil, []step{{"a", file(1, "")}, {"a", `{"projects":[{"id":2,"api_key":"phc_1"}]}`}}, nil, "its id in the store is 1, not 2: an id cannot change, give that one"},
		"the id of another":  {nil, []step{{"a", file(1, "")}, {"b", `{"projects":[{"id":1,"api_key":"phc_2"}]}`}}, nil, `the id 1 is that of the project with the api_key "phc_1": choose another id`},
		"other quotas":       {nil, []step{{"a", file(1, "")}, {"b", quotas(`{"events":5}`)}}, nil, "the organization O stands in a too, with other quotas"},
		"no quotas":          {nil, []step{{"a", file(1, "")}, {"b", file(2, "")}}, map[int64]int{1: 1, 2: 1}, ""},
		"another group type": {nil, []step{{"a", file(1, `,"group_type_mapping":{"0":"x"}`)}, {"a", file(1, `,"group_type_mapping":{"0":"y"}`)}}, nil, `group_type_mapping: 0 is "Y" in the file and "X" in the store: give "Y" another number`},
		"another number":     {nil, []step{{"a", file(1, `,"group_type_mapping":{"0":"x"}`)}, {"a", file(1, `,"group_type_mapping":{"2":"x"}`)}}, nil, `group_type_mapping: "X" is 2 in the file and 0 in the store: give it that number`},
		"more group types":   {nil, []step{{"a", file(1, `,"group_type_mapping":{"3":"x"}`)}, {"a", file(1, `,"group_type_mapping":{"1":"y"}`)}}, map[int64]int{1: 2}, ""},
		"a flag leaves":      {nil, []step{{"a", file(1, `,"flags":[{"id":1,"key":"a"}]`)}, {"a", file(1, "")}}, map[int64]int{1: 2}, ""},
		"it stays away":      {nil, []step{{"a", file(1, `,"flags":[{"id":1,"key":"a"}]`)}, {"a", file(1, "")}, {"a", file(1, "")}}, map[int64]int{1: 2}, ""},
		"a cohort leaves":    {nil, []step{{"a", file(1, `,"cohorts":[{"id":1}]`)}, {"a", file(1, "")}, {"a", file(1, "")}}, map[int64]int{1: 2}, ""},
		"other members":      {nil, []step{{"a", file(1, `,"cohorts":{"1":{"is_static":true,"members":["u"]}}`)}, {"a", file(1, `,"cohorts":{"1":{"is_static":true,"members":[]}}`)}}, map[int64]int{1: 2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			if tt.before != nil {
				tt.before(s)
			}
			last := len(tt.steps) - 1
			mustApply(t, s, tt.steps[:last]...)
			_, err := apply(s, tt.steps[last])
			checkError(t, err, tt.err)
			if diff := cmp.Diff(tt.revisions, s.revisions); diff != "" && tt.err == "" {
				t.Error(diff)
			}
		})
	}
}

// A file does not touch flags and cohorts from the API, except flags with its keys.
func TestApply_FromAPI(t *testing.T) {
	s := newStore()
	mustApply(t, s, step{"a", file(1, "")})
	for id, r := range map[int64]files.Record{10: {Key: "A"}, 11: {Key: "B"}, 12: {}, 13: {Key: "C", Origin: "old name"}, 14: {Key: "A", Deleted: true}} {
		s.records[recordKey{management.FlagDefinition, 1, id}] = r
		s.records[recordKey{management.CohortDefinition, 1, id}] = files.Record{Origin: r.Origin, Deleted: r.Deleted}
	}
	s.members[recordKey{management.CohortDefinition, 1, 12}] = []string{"u"}
	s.writes = nil
	mustApply(t, s, step{"a", file(1, `,"flags":[{"id":1,"key":"a"}],"cohorts":[{"id":12,"is_static":true}]`)})
	want := []string{"delete 0 10 of 1", "delete 0 13 of 1", "delete 1 13 of 1", "project 1", "record 0 1 of 1", "record 1 12 of 1"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(s.writes))); diff != "" {
		t.Error(diff)
	}
	if got := s.members[recordKey{management.CohortDefinition, 1, 12}]; !slices.Equal(got, []string{"u"}) {
		t.Errorf("members that were added through the API: %v", got)
	}
}

func TestApply_Organizations(t *testing.T) {
	s := newStore()
	mustApply(t, s, step{"a", `{"projects":[{"id":1,"api_key":"phc_1"}]}`})
	none := slices.Sorted(maps.Keys(s.organizations))[0]
	if o := s.organizations[none]; none != "00000000-0000-0000-0000-000000000000" || o.Name != "Default organization" || o.Quotas != "{}" {
		t.Errorf("without an organization: %+v", o)
	}
	s.organizations["O"] = files.Organization{ID: "O", Name: "from the API", Quotas: `{"events":3}`}
	mustApply(t, s, step{"a", file(1, "")})
	want := map[string]files.Organization{
		none: {ID: none, Name: "Default organization", Quotas: "{}"},
		"O":  {ID: "O", Name: "from the API", Quotas: "{}", Origin: "a"},
	}
	if diff := cmp.Diff(want, s.organizations); diff != "" {
		t.Error(diff)
	}
}

// Every error of the store ends the work.
func TestApply_Faults(t *testing.T) {
	for name, steps := range map[string][]step{
		"new":     {{"a", complete}},
		"changed": {{"a", complete}, {"a", file(3, personal("phx_1", "c"))}},
		"gone":    {{"a", complete}, {"b", file(3, personal("phx_1", "a"))}, {"a", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			last := len(steps) - 1
			for call := 1; ; call++ {
				s := newStore()
				for _, f := range steps[:last] {
					_, _ = apply(s, f) // "gone" needs a conflict, too
				}
				s.calls, s.failing = 0, call
				_, err := apply(s, steps[last])
				if s.calls < call {
					if call < 8 || err != nil {
						t.Errorf("only %d calls, %v", s.calls, err)
					}
					return
				}
				if !errors.Is(err, errStore) || s.calls != call {
					t.Fatalf("call %d of %d: %v", call, s.calls, err)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	complete, err := flags.ParseFile([]byte(`{"projects":[{"id":1,"api_key":"phc_1","flags":[{"id":1,"key":"a"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	nul := complete
	nul.Projects = slices.Clone(complete.Projects)
	nul.Projects[0].APIKey = "phc\x00"
	for name, tt := range map[string]struct {
		file      flags.File
		text, err string
	}{
		"byte order mark":    {complete, "\ufeff" + `{"projects":[{"flags":[{}]}]}`, ""},
		"not JSON":           {complete, `{`, "unexpected end of JSON input"},
		"no list":            {complete, `{"projects":{}}`, "projects: json"},
		"fewer projects":     {complete, `{"projects":[]}`, "the file has changed while it was read: 1 projects, then 0"},
		"fewer flags":        {complete, `{"projects":[{}]}`, `project "phc_1": flags: the file has changed while it was read`},
		"flags are no list":  {complete, `{"projects":[{"flags":{}}]}`, `project "phc_1": flags: json`},
		"NUL in a key":       {nul, `{"projects":[{"flags":[{}]}]}`, "projects[0].api_key: must not hold U+0000"},
		"a cohort twice":     {complete, `{"projects":[{"flags":[{}],"cohorts":{"1":{},"01":{}}}]}`, `project "phc_1": cohorts: 1 stands there twice`},
		"a cohort's number":  {complete, `{"projects":[{"flags":[{}],"cohorts":[{"id":3.0}]}]}`, ""},
		"a cohort by a name": {complete, `{"projects":[{"flags":[{}],"cohorts":{"x":{}}}]}`, `project "phc_1": cohorts: `},
		"a cohort without":   {complete, `{"projects":[{"flags":[{}],"cohorts":[{}]}]}`, `project "phc_1": cohorts: `},
		"cohorts are a text": {complete, `{"projects":[{"flags":[{}],"cohorts":"x"}]}`, `project "phc_1": cohorts: `},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := files.Parse(tt.file, []byte(tt.text))
			checkError(t, err, tt.err)
		})
	}
}
