package httpapi_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Cohorts from a file are read-only, for all forms in the file (decisions, "Definitions file").
func TestManagement_CohortOfAFile(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error {
		return tx.PutDefinition(management.CohortDefinition, 1, &management.Definition{
			ID: 12, Record: json.RawMessage(`{"type":"AND","values":[{"type":"person","key":"a","operator":"exact","value":"b"}]}`), Origin: "demo.json",
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	clash := []any{"server_error", "conflict", "The cohort 12 is defined in the file demo.json and can only be changed there."}
	o.walk(t, []manageStep{
		{Request: "GET /api/projects/1/cohorts/12/", Status: 200, Want: json.RawMessage(`{"...": 1, "name": null, "is_static": false, "filters": {"properties": {"type": "AND", "values": [{"type": "person", "key": "a", "operator": "exact", "value": "b"}]}}}`)},
		{Request: "PATCH /api/projects/1/cohorts/12/", Body: json.RawMessage(`{"name": "x"}`), Status: 409, Error: clash},
		{Request: "PATCH /api/projects/1/cohorts/12/add_persons_to_static_cohort/", Body: json.RawMessage(`{"person_ids": ["x"]}`), Status: 409, Error: clash},
		{Request: "GET /api/projects/1/cohorts/12/duplicate_as_static_cohort/", Status: 200, Want: json.RawMessage(`{"...": 1, "is_static": true, "count": 0}`)},
	})
}

// A list of more persons than fit on a page returns each person once, for any number of distinct
// ids.
func TestManagement_CohortPages(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	o.walk(t, []manageStep{
		{As: "none", Request: "POST /batch/", Status: 200, Body: json.RawMessage(`{"api_key": "phc_1", "batch": [
			{"event": "$identify", "distinct_id": "a", "properties": {"distinct_id": "a", "$set": {"n": 1}}},
			{"event": "$create_alias", "distinct_id": "a", "properties": {"distinct_id": "a", "alias": "z"}},
			{"event": "$identify", "distinct_id": "b", "properties": {"distinct_id": "b", "$set": {"n": 2}}},
			{"event": "$identify", "distinct_id": "c", "properties": {"distinct_id": "c", "$set": {"n": 3}}}]}`)},
		{Request: "POST /api/projects/1/cohorts/", Status: 201, Body: json.RawMessage(`{"filters": {"properties": {"type": "AND", "values": [{"type": "person", "key": "n", "operator": "is_set"}]}}}`), Keep: map[string]string{"id": "id"}},
		{Request: "GET /api/projects/1/cohorts/{id}/duplicate_as_static_cohort/", Status: 200, Keep: map[string]string{"copy": "id"}, Want: json.RawMessage(`{"...": 1, "count": 3}`)},
	})
	for name, want := range map[string][]string{"id": {"c", "b", "a"}, "copy": {"a", "b", "c"}} {
		var got []string
		path := o.fill("/api/projects/1/cohorts/{" + name + "}/persons/?limit=1")
		for pages := 0; path != ""; pages++ {
			status, _, body := o.send(t, &manageStep{Request: "GET " + path})
			var page struct {
				Next    *string
				Results []struct {
					DistinctIDs []string `json:"distinct_ids"`
				}
			}
			if err := json.Unmarshal(body, &page); err != nil || status != 200 || pages > len(want) {
				t.Fatalf("%s: page %d: %d %s %v", name, pages, status, body, err)
			}
			for _, p := range page.Results {
				got = append(got, p.DistinctIDs[0])
			}
			path = ""
			if page.Next != nil {
				path = (*page.Next)[len(o.URL):]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: persons (-want +got):\n%s", name, diff)
		}
	}
	o.walk(t, []manageStep{{Request: "GET /api/projects/1/cohorts/{copy}/persons/?cursor=*", Status: 400}})
}

func TestManagement_People(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	o.walk(t, []manageStep{{As: "none", Request: "POST /batch/", Status: 200, Body: json.RawMessage(`{"api_key": "phc_1", "batch": [
		{"event": "$identify", "distinct_id": "a", "properties": {"distinct_id": "a", "$set": {"whole": 5, "part": 0.5, "list": [1]}}},
		{"event": "$identify", "distinct_id": "b", "properties": {"distinct_id": "b", "$set": {"x": null}}},
		{"event": "$groupidentify", "distinct_id": "a", "properties": {"distinct_id": "a", "$group_type": "company", "$group_key": "one", "$group_set": {"size": 3}}},
		{"event": "$groupidentify", "distinct_id": "a", "properties": {"distinct_id": "a", "$group_type": "company", "$group_key": "two", "$group_set": {}}}]}`)}})
	ctx := context.Background()
	var people management.People = o.store.Management()
	if n, err := people.CountPersons(ctx, 1); n != 2 || err != nil {
		t.Error(n, err)
	}
	a, err := people.PersonByDistinctID(ctx, 1, "a")
	if err != nil || a == nil {
		t.Fatal(a, err)
	}
	if a.Properties["whole"] != int64(5) || a.Properties["part"] != 0.5 || !cmp.Equal(a.Properties["list"], []any{int64(1)}) {
		t.Errorf("properties %#v are not of the types of flags", a.Properties)
	}
	again, err := people.PersonByUUID(ctx, 1, a.UUID)
	if diff := cmp.Diff(a, again); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, uuid := range []string{"x", "0191f0a2-5b1c-7d3e-8f40-0000000000ff"} {
		if missing, err := people.PersonByUUID(ctx, 1, uuid); missing != nil || err != nil {
			t.Error(missing, err)
		}
	}
	if missing, err := people.PersonByDistinctID(ctx, 2, "a"); missing != nil || err != nil {
		t.Error(missing, err)
	}
	for _, stop := range []int{1, 9} {
		var persons, groups []string
		err := people.Persons(ctx, 1, func(p *management.Person) bool {
			persons = append(persons, p.DistinctIDs...)
			return len(persons) < stop
		})
		if want := []string{"b", "a"}; err != nil || !slices.Equal(persons, want[:min(stop, 2)]) {
			t.Error(persons, err)
		}
		err = people.Groups(ctx, 1, 0, func(key string, properties map[string]any) bool {
			groups = append(groups, key)
			if key == "one" && properties["size"] != int64(3) {
				t.Error(properties)
			}
			return len(groups) < stop
		})
		if want := []string{"one", "two"}; err != nil || !slices.Equal(groups, want[:min(stop, 2)]) {
			t.Error(groups, err)
		}
	}
}
