package flags_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// A testCase is one entry of a file in testdata. testdata/README.md describes the members.
type testCase struct {
	Row        int             `json:"row"`    // of the specification's §12
	Clause     string          `json:"clause"` // of any other section
	Name       string          `json:"name"`
	Source     string          `json:"source"`
	Overruled  string          `json:"overruled"`
	Definition json.RawMessage `json:"definitions"`
	testRequest
	Stored *testStored `json:"stored"`
	Want   *testWant   `json:"want"`

	// Steps are requests to one Decider, in order. The following fields configure it.
	Steps        []testStep                             `json:"steps"`
	Persons      []testPerson                           `json:"persons"`
	StoredGroups map[string]map[string]flags.Properties `json:"stored_groups"`
	Locate       map[string]flags.Properties            `json:"locate"`
	Project      struct {
		FlagLimit    *int64   `json:"flag_limit"`
		QuotaLimited []string `json:"quota_limited"`
	} `json:"project"`

	HTTP json.RawMessage `json:"http"` // for adapters/httpapi
}

type testRequest struct {
	Subject   testSubject     `json:"subject"`
	Selection flags.Selection `json:"selection"`
	At        *time.Time      `json:"at"`
}

type testStep struct {
	testRequest
	IP           string    `json:"ip"`
	IPFromHeader bool      `json:"ip_from_header"`
	GeoIPDisable bool      `json:"geoip_disable"`
	DisableFlags bool      `json:"disable_flags"`
	Want         *testWant `json:"want"`
}

type testSubject struct {
	DistinctID      string                      `json:"distinct_id"`
	AnonymousID     string                      `json:"anon_distinct_id"`
	DeviceID        string                      `json:"device_id"`
	Groups          map[string]string           `json:"groups"`
	Person          flags.Properties            `json:"person_properties"`
	GroupProperties map[string]flags.Properties `json:"group_properties"`
	Located         flags.Properties            `json:"located"`
	LocatedByPeer   bool                        `json:"located_by_peer"`
	Partial         bool                        `json:"partial"`
}

func (s testSubject) subject() flags.Subject {
	return flags.Subject{
		DistinctID: s.DistinctID, AnonymousID: s.AnonymousID, DeviceID: s.DeviceID, Groups: s.Groups, Person: s.Person,
		GroupProperties: s.GroupProperties, Located: s.Located, LocatedByPeer: s.LocatedByPeer, Partial: s.Partial,
	}
}

type testStored struct {
	Person           flags.Properties            `json:"person"`
	CreatedAt        time.Time                   `json:"created_at"`
	Groups           map[string]flags.Properties `json:"groups"`
	Cohorts          []int64                     `json:"cohorts"`
	Overrides        map[string]string           `json:"overrides"`
	Failure          flags.ReasonCode            `json:"failure"`
	OverridesFailure flags.ReasonCode            `json:"overrides_failure"`
}

type testPerson struct {
	IDs        []string         `json:"ids"`
	CreatedAt  time.Time        `json:"created_at"`
	Properties flags.Properties `json:"properties"`
	Cohorts    []int64          `json:"cohorts"`
}

type testWant struct {
	// Flags are all expected results. Absent lists keys that must not be among them, as
	// information for the reader.
	Flags        map[string]wantFlag `json:"flags"`
	Absent       []string            `json:"absent"`
	Errors       bool                `json:"errors"`
	QuotaLimited bool                `json:"quota_limited"`
	// Faults must be among the faults of the Set.
	Faults   []wantFault `json:"faults"`
	NoFaults bool        `json:"no_faults"`
}

type wantFlag struct {
	Enabled     bool             `json:"enabled"`
	Variant     string           `json:"variant"`
	Code        string           `json:"code"`
	Condition   *int             `json:"condition_index"`
	Description *string          `json:"description"` // nil means the description of the code
	Payload     json.RawMessage  `json:"payload"`
	Failed      bool             `json:"failed"`
	Undecided   *flags.Undecided `json:"undecided"`
	Hashed      *bool            `json:"hashed"` // whether a rollout's or variant's bucket was computed
	ID          *int64           `json:"id"`
	Version     *int64           `json:"version"`
}

type wantFault struct {
	Flag string `json:"flag"`
	Path string `json:"path"`
	Code string `json:"code"`
}

// descriptions are the descriptions of §3.9; N is the number of the condition. Failures
// without a description there may have any.
var descriptions = map[string]string{
	"condition_match":              "Matched condition set N",
	"no_condition_match":           "No matching condition set",
	"out_of_rollout_bound":         "Out of rollout bound",
	"no_group_type":                "No group type",
	"super_condition_value":        "Super condition value",
	"holdout_condition_value":      "Holdout condition value",
	"pinned":                       "Pinned value", // console.md N11
	"missing_dependency":           "Flag cannot be evaluated due to missing dependency",
	"dependency_not_found_cohort":  "Cohort dependency not found",
	"dependency_cycle_cohort":      "Cohort dependency cycle detected",
	"cohort_filters_parsing_error": "Failed to parse cohort filters",
	"hash_key_override_error":      "Failed to fetch hash key override for experience continuity",
	"cookieless_identity":          "The flag needs an id, and a visitor without cookies has none",
	"database_error":               "Database connection error during evaluation",
}

// testAt is the time of cases without a time.
var testAt = time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC)

// readCases reads all files of a folder of testdata. Numbers keep their form, since 5 and 5.0
// have different texts (§4.2). A member without a field is an error.
func readCases(t *testing.T, folder string) (cases []testCase, files []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", folder, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in testdata/%s: %v", folder, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var list []testCase
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		dec.DisallowUnknownFields()
		if err := dec.Decode(&list); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for range list {
			files = append(files, filepath.Base(path))
		}
		cases = append(cases, list...)
	}
	return cases, files
}

// compare checks all results and returns true if they are as expected.
func (w *testWant) compare(t *testing.T, list []flags.Decision, errors bool) bool {
	t.Helper()
	good := true
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf(format, args...)
		good = false
	}
	seen := map[string]bool{}
	for i := range list {
		d := &list[i]
		want, ok := w.Flags[d.Key]
		if !ok || seen[d.Key] {
			fail("%s is in the answer: %s", d.Key, show(d))
			continue
		}
		seen[d.Key] = true
		if diff := want.compare(d); diff != "" {
			fail("%s: %s\ngot %s", d.Key, diff, show(d))
		}
	}
	for key := range w.Flags {
		if !seen[key] {
			fail("%s is not in the answer", key)
		}
	}
	for _, key := range w.Absent {
		if _, both := w.Flags[key]; both {
			fail("the case wants %s both ways", key)
		}
	}
	if errors != w.Errors {
		fail("errors = %v, want %v", errors, w.Errors)
	}
	return good
}

func show(d *flags.Decision) string {
	return fmt.Sprintf("enabled %v, variant %q, %v %d %q, payload %s, undecided %v",
		d.Enabled, d.Variant, d.Reason.Code, d.Reason.Condition, d.Reason.Description(), d.Payload, d.Undecided)
}

func (w *wantFlag) compare(d *flags.Decision) string {
	if w.Undecided != nil || d.Undecided != nil {
		return cmp.Diff(w.Undecided, d.Undecided)
	}
	condition := -1
	if w.Condition != nil {
		condition = *w.Condition
	}
	description, hasDescription := descriptions[w.Code]
	description = strings.Replace(description, "N", fmt.Sprint(condition+1), 1)
	if w.Code != "condition_match" {
		description = descriptions[w.Code]
	}
	if w.Description != nil {
		description, hasDescription = *w.Description, true
	}
	switch {
	case d.Enabled != w.Enabled:
		return fmt.Sprintf("enabled = %v", d.Enabled)
	case d.Variant != w.Variant:
		return fmt.Sprintf("variant = %q, want %q", d.Variant, w.Variant)
	case d.Reason.Code.String() != w.Code || d.Reason.Condition != condition:
		return fmt.Sprintf("want reason %s %d", w.Code, condition)
	case d.Failed() != w.Failed:
		return fmt.Sprintf("failed = %v", d.Failed())
	case hasDescription && d.Reason.Description() != description || d.Reason.Description() == "":
		return fmt.Sprintf("want description %q", description)
	case w.ID != nil && d.ID != *w.ID:
		return fmt.Sprintf("id = %d, want %d", d.ID, *w.ID)
	case w.Version != nil && d.Version != *w.Version:
		return fmt.Sprintf("version = %d, want %d", d.Version, *w.Version)
	}
	return cmp.Diff(jsonOf(w.Payload), jsonOf(d.Payload))
}

// jsonOf decodes a payload for comparison. Null is equal to no payload.
func jsonOf(data json.RawMessage) any {
	if data == nil {
		return nil
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return err.Error()
	}
	return v
}

func (w wantFault) find(t *testing.T, faults []*flags.DefinitionError) {
	t.Helper()
	for _, f := range faults {
		if f.Flag == w.Flag && f.Path == w.Path && f.Code.String() == w.Code {
			return
		}
	}
	t.Errorf("no fault %+v among %v", w, faults)
}
