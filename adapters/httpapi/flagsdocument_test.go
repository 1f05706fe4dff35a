package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// documentPeople are the persons to evaluate, with the properties in the request; ana exists in
// both projects, with a second id.
var documentPeople = map[string]string{
	"ana":   `{"plan": "pro", "seats": 10}`,
	"ana-2": `{"plan": "pro", "seats": 10}`,
	"ben":   `{"plan": "free", "seats": 3}`,
	"cy":    `{}`,
}

const proLeaf = `{"type": "person", "key": "plan", "operator": "exact", "value": "pro"}`

// cohortForms are the forms of a cohort in a store, from a file, from the API or from older
// versions, with their members (spec/flags.md §1.6, §5.4 to §5.6).
var cohortForms = []struct{ name, record, who string }{
	{"a bare tree", `{"type": "AND", "values": [` + proLeaf + `]}`, "ana ana-2"},
	{"a record", `{"name": "Pro", "filters": {"properties": {"type": "AND", "values": [` + proLeaf + `]}}}`, "ana ana-2"},
	{"the same name again", `{"name": "Pro", "filters": {"properties": {"type": "AND", "values": [{"type": "person", "key": "plan", "operator": "exact", "value": "free"}]}}}`, "ben"},
	{"no operators, type property", `{"name": "Property", "filters": {"properties": {"type": "property", "values": [{"type": "person", "key": "plan", "value": "pro"}]}}}`, "ana ana-2"},
	{"nested", `{"name": "Nested", "filters": {"properties": {"type": "OR", "values": [{"type": "AND", "values": [` + proLeaf + `, {"type": "person", "key": "seats", "operator": "gt", "value": 20}]},
		{"type": "AND", "values": [{"type": "person", "key": "plan", "operator": "is_not_set"}]}]}}}`, "cy"},
	{"negated", `{"name": "Negated", "filters": {"properties": {"type": "AND", "values": [{"type": "person", "key": "plan", "operator": "exact", "value": "pro", "negation": true}]}}}`, "ben cy"},
	{"about groups, which cohorts never are", `{"name": "Grouped", "filters": {"properties": {"type": "AND", "values": [{"type": "group", "group_type_index": 0, "key": "plan", "operator": "exact", "value": "pro"}]}}}`, "ana ana-2"},
	{"another cohort", `{"name": "Of Pro", "filters": {"properties": {"type": "AND", "values": [{"type": "cohort", "key": "id", "value": 2}]}}}`, "ana ana-2"},
	{"not in another cohort", `{"name": "Not of Pro", "filters": {"properties": {"type": "AND", "values": [{"type": "cohort", "key": "id", "operator": "not_in", "value": 2}]}}}`, "ben cy"},
	{"older: alternatives", `{"name": "Older", "groups": [{"properties": [{"key": "plan", "value": "pro", "operator": "exact"}]}, {"properties": [{"key": "plan", "type": "event", "value": ["free"]}]}]}`, "ana ana-2 ben"},
	{"older: all of them", `{"name": "Older all", "filters": null, "groups": [{"properties": [{"key": "plan", "value": "pro"}, {"key": "seats", "operator": "lt", "value": 5}]}]}`, ""},
	{"older: a map", `{"name": "Older map", "groups": [{"properties": {"plan": "pro"}}]}`, "ana ana-2"},
	{"older: a tree", `{"name": "Older tree", "groups": [{"properties": {"type": "OR", "values": [` + proLeaf + `]}}]}`, "ana ana-2"},
	{"older: nothing", `{"name": "Older nobody", "groups": [{"properties": []}, {}]}`, ""},
	{"no rule", `{"name": "Nobody", "filters": null}`, ""},
	{"without a name", `{"filters": {"properties": {"type": "AND", "values": [` + proLeaf + `]}}}`, "ana ana-2"},
	{"computed elsewhere", `{"name": "Realtime", "cohort_type": "realtime", "filters": {"properties": {"type": "AND", "values": [` + proLeaf + `]}}}`, ""},
	{"a list", `{"name": "List", "is_static": true}`, "ana ana-2 cy"},
	{"a list, by its type", `{"name": "Typed", "cohort_type": "static"}`, ""},
	{"since when a person is known", `{"name": "Since", "filters": {"properties": {"type": "AND", "values": [{"type": "person_metadata", "key": "created_at", "operator": "is_date_after", "value": "2020-01-01"}]}}}`, "ana ana-2"},
}

// furnishForms stores the cohorts, and a flag for each, in project 1.
func (o *office) furnishForms(t *testing.T) {
	t.Helper()
	for _, project := range []string{"phc_1", "phc_2"} {
		o.walk(t, []manageStep{{As: "none", Request: "POST /batch/", Status: 200, Body: json.RawMessage(`{"api_key": "` + project + `", "batch": [
			{"event": "$identify", "distinct_id": "ana", "properties": {"distinct_id": "ana", "$set": {"known": true}}},
			{"event": "$create_alias", "distinct_id": "ana", "properties": {"distinct_id": "ana", "alias": "ana-2"}}]}`)}})
	}
	err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error {
		for i, form := range cohortForms {
			id := int64(i + 1)
			if err := tx.PutDefinition(management.CohortDefinition, 1, &management.Definition{ID: id, Record: json.RawMessage(form.record), Origin: "old.json"}); err != nil {
				return err
			}
			key := fmt.Sprint("in-", id)
			record := fmt.Sprintf(`{"id": %d, "key": %q, "active": true, "filters": {"groups": [{"properties": [{"type": "cohort", "key": "id", "value": %d}]}]}}`, id, key, id)
			if err := tx.PutDefinition(management.FlagDefinition, 1, &management.Definition{ID: id, Key: key, Record: json.RawMessage(record), Origin: "old.json"}); err != nil {
				return err
			}
			if form.name == "a list" {
				if err := tx.AddMembers(1, id, []string{"ana", "cy"}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// members returns, by flag, the persons for whom it is enabled, as evaluated by a project's server.
func (o *office) members(t *testing.T, project string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, person := range slices.Sorted(maps.Keys(documentPeople)) {
		_, _, body := o.send(t, &manageStep{As: "none", Request: "POST /flags/?v=2", Text: `{"api_key": "` + project + `", "distinct_id": "` + person + `", "person_properties": ` + documentPeople[person] + `}`})
		var answer struct {
			Flags map[string]struct{ Enabled, Failed bool }
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatal(err)
		}
		for key, f := range answer.Flags {
			out[key] += ""
			if f.Failed {
				t.Errorf("%s: %s is failed for %s", project, key, person)
			}
			if f.Enabled {
				out[key] = strings.TrimSpace(out[key] + " " + person)
			}
		}
	}
	return out
}

// Decision 27: flags that a project exports and another one imports evaluate the same for every
// person, for all forms of the cohorts.
func TestFlagsDocument_EveryCohortForm(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	o.furnishForms(t)
	want := map[string]string{}
	for i, form := range cohortForms {
		want[fmt.Sprint("in-", i+1)] = form.who
	}
	if diff := cmp.Diff(want, o.members(t, "phc_1")); diff != "" {
		t.Fatalf("the first project (-want +got):\n%s", diff)
	}
	unchanged := json.RawMessage(fmt.Sprintf(`{"changes": [], "unchanged": %d}`, 2*len(cohortForms)))
	o.walk(t, []manageStep{
		{Request: "GET /api/projects/1/feature_flags/export/", Status: 200, Keep: map[string]string{"doc": ""}},
		{Request: "POST /api/projects/1/feature_flags/plan/", Text: "{doc}", Status: 200, Want: unchanged},
		{Request: "POST /api/projects/2/feature_flags/plan/", Text: "{doc}", Status: 200},
		{Request: "POST /api/projects/2/feature_flags/apply/", Text: "{doc}", Status: 200, Want: json.RawMessage(`{"...": 1, "unchanged": 0}`)},
		{Request: "GET /api/projects/2/feature_flags/export/", Status: 200, WantText: "{doc}"},
		{Request: "POST /api/projects/2/feature_flags/plan/", Text: "{doc}", Status: 200, Want: unchanged},
		{Request: "GET /api/projects/2/feature_flags/?limit=1", Status: 200, Want: json.RawMessage(`{"...": 1, "results": [{"...": 1, "version": 1}]}`), Keep: map[string]string{"flag": "results.0.id"}},
		{Request: "GET /api/projects/2/feature_flags/{flag}/versions/", Status: 200, Want: json.RawMessage(`{"...": 1, "count": 1}`)},
		{Request: "GET /api/projects/2/feature_flags/{flag}/activity/", Status: 200, Want: json.RawMessage(`{"...": 1, "results": [{"...": 1, "activity": "created"}]}`)},
	})
	if !strings.HasSuffix(o.vars["doc"], "}\n") {
		t.Error("the document does not end with a newline")
	}
	if diff := cmp.Diff(want, o.members(t, "phc_2")); diff != "" {
		t.Errorf("the second project (-want +got):\n%s", diff)
	}
	definitions, err := flags.ParseDefinitions([]byte(o.vars["doc"]))
	if err != nil {
		t.Fatal(err)
	}
	set := flags.Compile(definitions)
	if faults := set.Faults(); len(faults) > 0 {
		t.Error("read as definitions:", faults)
	}
	got := map[string]string{}
	var out flags.Decisions
	for _, person := range slices.Sorted(maps.Keys(documentPeople)) {
		subject := flags.Subject{DistinctID: person, Person: flags.Properties{}}
		if err := json.Unmarshal([]byte(documentPeople[person]), &subject.Person); err != nil {
			t.Fatal(err)
		}
		set.Evaluate(&subject, o.now(), &out)
		for key := range want {
			if got[key] += ""; out.Find(key).Enabled {
				got[key] = strings.TrimSpace(got[key] + " " + person)
			}
		}
	}
	for i, form := range cohortForms {
		if key := fmt.Sprint("in-", i+1); form.name != "since when a person is known" && got[key] != want[key] { // a document does not include that
			t.Errorf("read as definitions, %s: %q, want %q", form.name, got[key], want[key])
		}
	}
}

// The members of a static cohort are those in the document, and do not change if it has none.
func TestFlagsDocument_Members(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	cohort := func(more string) json.RawMessage {
		return json.RawMessage(`{"cohorts": [{"name": "List", "is_static": true` + more + `}], "flags": [{"key": "listed", "filters": {"groups": [{"properties": [{"type": "cohort", "key": "name", "value": "List"}]}]}, "active": true}]}`)
	}
	on := func(person string, enabled bool) manageStep {
		return manageStep{As: "none", Request: "POST /flags/?v=2", Body: json.RawMessage(`{"api_key": "phc_1", "distinct_id": "` + person + `"}`), Status: 200,
			Want: json.RawMessage(fmt.Sprintf(`{"...": 1, "flags": {"listed": {"...": 1, "enabled": %v}}}`, enabled))}
	}
	apply, plan := "POST /api/projects/1/feature_flags/apply/", "POST /api/projects/1/feature_flags/plan/"
	o.walk(t, []manageStep{
		{As: "none", Request: "POST /batch/", Status: 200, Body: json.RawMessage(`{"api_key": "phc_1", "batch": [
			{"event": "$identify", "distinct_id": "a", "properties": {"distinct_id": "a", "$set": {"n": 1}}},
			{"event": "$create_alias", "distinct_id": "a", "properties": {"distinct_id": "a", "alias": "a2"}}]}`)},
		{Request: apply, Body: cohort(`, "members": ["a", "b"]`), Status: 200},
		on("a", true), on("a2", true), on("b", true), on("c", false),
		{Request: "GET /api/projects/1/cohorts/", Status: 200, Want: json.RawMessage(`{"...": 1, "results": [{"...": 1, "count": 2}]}`)},
		{Request: apply, Body: cohort(`, "members": ["b", "a2"]`), Status: 200, Want: json.RawMessage(`{"changes": [], "unchanged": 2}`)},
		{Request: apply, Body: cohort(``), Status: 200, Want: json.RawMessage(`{"changes": [], "unchanged": 2}`)},
		{Request: plan, Body: cohort(`, "members": ["c"]`), Status: 200, Want: json.RawMessage(`{"...": 1, "unchanged": 1}`)},
		on("a", true), on("c", false),
		{Request: apply, Body: cohort(`, "members": ["c"]`), Status: 200},
		on("a", false), on("a2", false), on("b", false), on("c", true),
		{Request: apply, Body: cohort(`, "members": []`), Status: 200},
		on("c", false),
		{Request: apply, Body: cohort(`, "members": "a"`), Status: 400, Error: []any{"validation_error", "invalid_input", `cohort "List": Expected a list of distinct ids.`, "members"}},
		{Request: apply, Body: cohort(`, "members": ["a", 5]`), Status: 400, Error: []any{"validation_error", "invalid_input", `cohort "List": Expected a list of distinct ids.`, "members"}},
	})
}
