package local

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// diffFile writes definitions with one flag for a plan, and one for all users.
func diffFile(t *testing.T, name, plan string, more string) string {
	t.Helper()
	return clitest.TempFile(t, name, `{"flags": [
		{"id": 1, "key": "by-plan", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "value": "`+plan+`"}]}]}},
		{"id": 2, "key": "for-all", "active": true, "filters": {"groups": [{}]}}`+more+`]}`)
}

func TestDiff_Text(t *testing.T) {
	a, b := diffFile(t, "a.json", "pro", ""), diffFile(t, "b.json", "team", `, {"id": 3, "key": "fresh", "active": true, "filters": {"groups": []}}`)
	users := clitest.TempFile(t, "users.jsonl", `{"distinct_id": "ann", "person_properties": {"plan": "pro"}}

{"distinct_id": "bob", "properties": {"plan": "team"}, "groups": {"company": "x"}, "group_properties": {"company": {"seats": 1}}}
{"distinct_id": "cem", "person_properties": {"plan": "pro"}}
plain-id
"in quotes"
`)
	r := call(t, "", nil, "diff", a, b, "--users", users, "--flag", "by-plan", "--limit", "2")
	want := `flag by-plan: 3 of 5 users would change (60.00 %)
  "ann": true -> false
      the requirements of condition 1 were about a person, person property "plan" exact "pro" and are about a person, person property "plan" exact "team"
  "bob": false -> true
      the requirements of condition 1 were about a person, person property "plan" exact "pro" and are about a person, person property "plan" exact "team"
  and 1 more

3 of 5 users would change
`
	if r.Code != cli.ExitError || r.Stdout != want || r.Stderr != "" {
		t.Errorf("exit code %d, stderr %q, output\n%s\nwant 1 and\n%s", r.Code, r.Stderr, r.Stdout, want)
	}
	call(t, "", nil, "diff", a, b).Want(t, 1, "flag fresh: only in B\n", "")
	call(t, "", nil, "diff", a, a, "--users", users).Want(t, 0, "0 of 5 users would change\n", "")
	call(t, "", nil, "diff", a, a).Want(t, 0, "both have the same flags", "")
	call(t, "one\ntwo", nil, "diff", a, a, "--users", "-").Want(t, 0, "0 of 2 users would change\n", "")
}

func TestDiff_JSON(t *testing.T) {
	a, b := diffFile(t, "a.json", "pro", ""), diffFile(t, "b.json", "team", "")
	r := call(t, ` [ {"distinct_id": "ann", "properties": {"plan": "pro"}}, "bob", {"distinct_id": 7, "properties": {"plan": "a, ]\"b"}} ] `, nil,
		"diff", a, b, "--users", "-", "--format", "json", "--at", "2026-01-31T12:00:00Z")
	var got struct {
		At             string
		Users, Changed int
		Changes        []struct {
			Flag           string
			Changed, Users int
			Share          float64
			Examples       []struct {
				DistinctID string `json:"distinct_id"`
				Before     struct{ Value any }
				After      struct{ Value any }
				Why        struct{ Cause, Text, Before, After string }
			}
		}
	}
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
		t.Fatalf("%v in %s %s", err, r.Stdout, r.Stderr)
	}
	if r.Code != 1 || got.Users != 3 || got.Changed != 1 || len(got.Changes) != 1 || got.At != "2026-01-31T12:00:00Z" {
		t.Fatalf("exit code %d, %+v", r.Code, got)
	}
	c := got.Changes[0]
	if c.Flag != "by-plan" || c.Changed != 1 || c.Users != 3 || len(c.Examples) != 1 || c.Examples[0].DistinctID != "ann" ||
		c.Examples[0].Before.Value != true || c.Examples[0].After.Value != false || c.Examples[0].Why.Cause != "condition" {
		t.Errorf("%+v", c)
	}
}

func TestDiff_Project(t *testing.T) {
	project := `{"id": %d, "name": "p", "api_key": %q, "flags": []}`
	two := clitest.TempFile(t, "two.json", fmt.Sprintf(`{"projects": [`+project+","+project+`]}`, 1, "phc_a", 2, "phc_b"))
	bare := clitest.TempFile(t, "bare.json", `{"flags": []}`)
	call(t, "", nil, "diff", two, bare).Want(t, 2, "", "two.json: the definitions have several projects: choose one with --project KEY; there are phc_a, phc_b")
	call(t, "", nil, "diff", "--project", "phc_b", two, bare).Want(t, 0, "both have the same flags", "")
	call(t, "", nil, "diff", "--project", "phc_c", two, bare).Want(t, 2, "", `no project with the key "phc_c"`)
}

func TestDiff_Refuses(t *testing.T) {
	a := diffFile(t, "a.json", "pro", "")
	long := strings.Repeat("x", maxUserLine)
	tests := map[string]struct {
		users string
		args  []string
		want  string
	}{
		"one file":            {"", []string{a}, "give two definitions files"},
		"no such file":        {"", []string{a, a + ".no"}, "a.json.no: file does not exist"},
		"no such users":       {"", []string{a, a, "--users", a + ".no"}, "--users: open "},
		"format":              {"", []string{a, a, "--format", "xml"}, `--format: must be text or json, not "xml"`},
		"limit":               {"", []string{a, a, "--limit", "-1"}, "--limit: must be a number of examples"},
		"time":                {"", []string{a, a, "--at", "noon"}, "--at: must be a time such as"},
		"flag":                {"", []string{a, a, "--flag", "nowhere"}, `--flag: neither file has a flag "nowhere"`},
		"broken line":         {"u\n{\"distinct_id\": \"a\"\n", nil, "the standard input: line 2: the JSON is incomplete"},
		"no JSON":             {"\n\n{distinct_id}\n", nil, "line 3: invalid character 'd'"},
		"two on a line":       {`{"distinct_id": "a"} {"distinct_id": "b"}`, nil, "line 1: text after the user"},
		"no id":               {`{"properties": {}}`, nil, `line 1: the user has no "distinct_id"`},
		"unknown member":      {`{"distinct_id": "a", "props": {}}`, nil, "line 1: props: is unknown; the members are properties, distinct_id"},
		"address":             {`{"distinct_id": "a", "ip": "192.0.2.1"}`, nil, "line 1: ip: is unknown"},
		"properties":          {`{"distinct_id": "a", "properties": []}`, nil, "line 1: properties: must be a JSON object"},
		"long line":           {"u\n" + long + "y\n", nil, "line 2: a line is longer than 1024 KiB"},
		"long item":           {"[\n\"u\",\n\"" + long + `"]`, nil, "line 3: a user is longer than 1024 KiB"},
		"list without end":    {"[\"a\",\n", nil, "line 2: the list is not closed"},
		"nothing in the list": {"[\"a\",\n,]", nil, "line 2: there is no user between the commas"},
		"comma at the end":    {`["a",]`, nil, "line 1: there is no user between the commas"},
		"text after the list": {"[\"a\"]\n\nb", nil, "line 3: text after the list"},
		"number in a list":    {"[\n7]", nil, "line 2: the user: must be a JSON object"},
		"brackets":            {"[}]", nil, "line 1: a } without a { before it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.args == nil {
				tt.args = []string{a, a, "--users", "-"}
			}
			call(t, tt.users, nil, append([]string{"diff"}, tt.args...)...).Want(t, cli.ExitUsage, "", tt.want)
		})
	}
	for _, users := range []string{"", "\n", "[]", " [ ] \n"} {
		call(t, users, nil, "diff", a, a, "--users", "-").Want(t, 0, "0 of 0 users would change\n", "")
	}
}

// For any list of users, reading ends, with an error or with users that have an id.
func FuzzDiffUsers(f *testing.F) {
	for _, s := range []string{"a\nb", `{"distinct_id": "a"}`, `["a", {"distinct_id": 1}]`, "[}]", "\ufeff[]", `"`, "[[],]", "[\"\\\"]\"]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := newUserReader("users", strings.NewReader(text))
		for n := 0; ; n++ {
			u, err := r.next()
			if err != nil && !strings.HasPrefix(err.Error(), "users: line ") {
				t.Fatalf("an error without a place: %v", err)
			}
			if u == nil || err != nil {
				return
			}
			if n > len(text) {
				t.Fatalf("more users than bytes")
			}
		}
	})
}
