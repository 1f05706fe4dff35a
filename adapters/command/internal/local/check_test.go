package local

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

func TestCheck_DemoHasNoFaults(t *testing.T) {
	r := call(t, "", nil, "check", demo)
	r.Want(t, 0, "project phc_demo (demo): 8 flags, 2 cohorts\n", "")
	if !strings.HasSuffix(r.Stdout, "\n0 errors, 0 warnings\n") {
		t.Errorf("stdout %q", r.Stdout)
	}
	// §11: membership of a static cohort is stored on the server, whatever the SDK.
	if !strings.Contains(r.Stdout, "beta-program  all  asks the server  ") {
		t.Errorf("beta-program is not listed in %q", r.Stdout)
	}
}

const faulty = `{"projects": [
	{"id": 1, "api_key": "phc_good"},
	{"id": 2, "api_key": "phc_bad", "name": "bad", "flags": [
		{"id": 1, "key": "operator", "active": true, "filters": {"groups": [{"properties": [{"key": "x", "type": "person", "operator": "resembles", "value": "y"}]}]}},
		{"id": 2, "key": "never", "active": true, "filters": {"groups": [{"properties": [{"key": "x", "type": "person", "operator": "regex", "value": "("}]}]}},
		{"id": "3", "key": "id", "active": true, "filters": {}}
	]}]}`

func TestCheck_FaultsWithTheirPlaces(t *testing.T) {
	file := clitest.TempFile(t, "f.json", faulty)
	r := call(t, "", nil, "check", "--json", file)
	if r.Code != 1 || r.Stderr != "" {
		t.Errorf("exit code %d, stderr %q", r.Code, r.Stderr)
	}
	var got []fileResult
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil || len(got) != 1 || len(got[0].Projects) != 2 {
		t.Fatalf("%v in %s", err, r.Stdout)
	}
	if got[0].Projects[0].Faults == nil || len(got[0].Projects[0].Faults) != 0 {
		t.Errorf("faults of the good project: %v", got[0].Projects[0].Faults)
	}
	type short struct{ Severity, Place, Flag, Code string }
	faults := []short{}
	for _, f := range got[0].Projects[1].Faults {
		faults = append(faults, short{f.Severity, f.Place, f.Flag, f.Code})
	}
	want := []short{
		{"error", "projects[1].flags[2].id", "id", "flag_data_parsing_error"},
		{"error", "projects[1].flags[0].filters.groups[0].properties[0].operator", "operator", "flag_data_parsing_error"},
		{"warning", "projects[1].flags[1].filters.groups[0].properties[0].value", "never", ""},
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	text := call(t, "", nil, "check", file)
	text.Want(t, 1, `    error    projects[1].flags[0].filters.groups[0].properties[0].operator (flag "operator"): unknown operator "resembles"`, "")
	if !strings.HasSuffix(text.Stdout, "\n2 errors, 1 warning\n") {
		t.Errorf("stdout %q", text.Stdout)
	}
}

// Members that are not read are listed, and a misspelt one is an error with a suggestion
// (decision 30). Each is listed once.
func TestCheck_NamesUnknownMembers(t *testing.T) {
	file := clitest.TempFile(t, "f.json", `{"organization": {"id": "o", "boss": "me"}, "projects": [
		{"id": 1, "api_key": "phc_one", "owner": "x", "timezon": "Europe/Berlin"},
		{"id": 2, "api_key": "phc_two", "flags": [
			{"id": 1, "key": "half", "active": true, "filters": {"groups": [{"properties": [], "rolout_percentage": 50}]}},
			{"id": 2, "key": "all", "active": true, "enabled": true, "filters": {"groups": [{"properties": [], "rollout": 50}]}}
		], "cohorts": {"3": {"type": "AND", "values": [{"key": "k", "type": "person", "value": 1, "operater": "gt"}]}}}]}`)
	r := call(t, "", nil, "check", file)
	const want = `
  project phc_one (project 1): 0 flags, 0 cohorts
    error    projects[0].timezon: is not a member of a project, "timezone" is most likely meant
    warning  projects[0].owner: is not a member of a project and does nothing
    warning  organization.boss: is not a member of the organization and does nothing
  project phc_two (project 2): 2 flags, 1 cohort
    error    projects[1].flags[0].filters.groups[0].rolout_percentage (flag "half"): is not a member of a condition, "rollout_percentage" is most likely meant
    error    projects[1].cohorts.3.values[0].operater: is not a member of a property, "operator" is most likely meant
    warning  projects[1].flags[1].enabled (flag "all"): is not a member of a flag and does nothing
    warning  projects[1].flags[1].filters.groups[0].rollout (flag "all"): is not a member of a condition and does nothing
    SDKs that evaluate locally may give other values than the server for these flags:
      FLAG  SDK  THERE            WHY
      half  all  asks the server  it cannot be evaluated: it is not in the definitions for SDKs

3 errors, 4 warnings
`
	if got := strings.TrimPrefix(r.Stdout, file); got != want || r.Code != 1 {
		t.Errorf("got %s\nwant %s", got, want)
	}
	bare := clitest.TempFile(t, "bare.json", `{"flags": [], "cohort": {}, "notes": 1}`)
	call(t, "", nil, "check", bare).Want(t, 1, `    error    cohort: is not a member of a project, "cohorts" is most likely meant
    warning  notes: is not a member of a project and does nothing
`, "")
}

func TestCheck_SeveralFiles(t *testing.T) {
	bad := clitest.TempFile(t, "bad.json", "{\n x}")
	bare := clitest.TempFile(t, "bare.json", `{"flags": [{"id": 1, "key": "a", "active": true, "filters": {"groups": [{"variant": "b"}]}}]}`)
	r := call(t, "", nil, "check", demo, bad, bare, "none.json")
	r.Want(t, 1, bad+"\n  error    line 2 column ", "")
	for _, want := range []string{
		"phc_demo (demo)", "none.json\n  error    file does not exist\n",
		`    warning  flags[0].filters.groups[0].variant (flag "a"): the flag has no variant "b"`, "\n2 errors, 1 warning\n",
	} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("no %q in %s", want, r.Stdout)
		}
	}
	call(t, "", nil, "check", bare).Want(t, 0, "0 errors, 1 warning", "") // warnings only are no failure
}
