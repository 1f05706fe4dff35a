package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

type personList struct {
	Count    *int64
	Next     *string
	Previous *string
	Results  []struct{ ID int }
}

func (s *personList) ids() (out []int) {
	for _, r := range s.Results {
		out = append(out, r.ID)
	}
	return out
}

func filters(text string) string { return "?properties=" + url.QueryEscape(text) }

// spec/management.md §5.3; the operators are defined in spec/flags.md §4.
func TestManagement_5_3_List(t *testing.T) {
	tests := map[string][]int{
		"":                       {3, 2, 1},
		"?distinct_id=ada":       {1},
		"?distinct_id=nobody":    nil,
		"?search=bo":             {2},
		"?email=ada@example.com": {1},
		"?email=ADA@example.com": {1}, // exact ignores case (§4.5)
		"?limit=2":               {3, 2},
		"?limit=2&offset=1":      {2, 1},
		"?offset=3":              nil,
		"?offset=-1&limit=-1":    {3, 2, 1},
		filters(`[{"key":"plan","value":"pro","operator":"exact","type":"person"}]`):                               {1},
		filters(`[{"key":"plan","value":["pro","free"]}]`):                                                         {2, 1},
		filters(`[{"key":"plan","operator":"is_not_set"}]`):                                                        {3},
		filters(`[{"key":"plan","value":"pro","operator":"is_not"}]`):                                              {3, 2},
		filters(`[{"key":"seats","value":"4","operator":"gt"}]`):                                                   {1},
		filters(`[{"key":"seats","value":"5","operator":"exact"}]`):                                                {1},
		filters(`[{"key":"seats","value":"5.0","operator":"exact"}]`):                                              nil, // 5 and 5.0 are different texts (§4.2)
		filters(`[{"key":"plan","operator":"is_set"},{"key":"email","operator":"is_set"}]`):                        {1},
		filters(`[{"key":"$initial_browser","value":"Firefox","operator":"exact"}]`):                               {2}, // §8.2
		filters(`[{"key":"created_at","value":"2025-06-02","operator":"is_date_after","type":"person_metadata"}]`): {3, 2},
		filters(`[{"key":"plan","operator":"is_set"}]`) + "&email=ada@example.com":                                 {1},
		filters(`[{"key":"plan","value":"pro"}]`) + "&distinct_id=bob":                                             nil,
		filters(`[]`): {3, 2, 1},
	}
	for query, want := range tests {
		var got personList
		newArchive(t).read(t, "/api/projects/1/persons/"+query, &got)
		if diff := cmp.Diff(want, got.ids()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
		if got.Count != nil {
			t.Errorf("%s: a count that was not asked for", query)
		}
	}
}

func TestManagement_5_3_BadFilters(t *testing.T) {
	for text, want := range map[string]string{
		`{`:              "must be a JSON list",
		`{"key":"plan"}`: "must be a JSON list",
		`[1]`:            "properties[0]",
		`[{"key":"a","value":"x","operator":"like"}]`:                                  `properties[0].operator: unknown operator "like"`,
		`[{"key":"a","operator":"is_set"},{"key":"b","value":"(","operator":"regex"}]`: "properties[1].value",
		`[{"key":"id","value":12,"type":"cohort"}]`:                                    "properties[0].type",
		`[{"key":"a","value":"x","type":"group","group_type_index":0}]`:                "properties[0].type",
		`[{"key":"a"}]`: "properties[0].value",
		"[" + strings.TrimSuffix(strings.Repeat(`{"key":"a","operator":"is_set"},`, 51), ",") + "]": "at most 50",
	} {
		w := newArchive(t).refuses(t, "GET", "/api/projects/1/persons/"+filters(text), "", 400, want)
		if !strings.Contains(w.Body.String(), `"attr":"properties"`) {
			t.Errorf("%s: %s", text, w.Body)
		}
	}
	newArchive(t).refuses(t, "GET", "/api/projects/1/persons/?cursor=x", "", 400, "Invalid cursor")
	newArchive(t).refuses(t, "GET", "/api/projects/1/persons/?search=a&distinct_id=b", "", 400, "cannot be used together")
}

// Following next returns every person exactly once, for any limit and offset.
func TestManagement_5_3_Next(t *testing.T) {
	a := &archive{persons: map[int64][]capture.StoredPerson{}}
	for id := range int64(253) {
		a.persons[1] = append(a.persons[1], capture.StoredPerson{ID: id + 1, Person: capture.Person{UUID: uuidOf(byte(id + 1))}})
	}
	for _, limit := range []int{7, 20, 21, 252, 253, 254} {
		for _, offset := range []int{0, 1, 150, 252} {
			got, path := 0, fmt.Sprintf("/api/projects/1/persons/?limit=%d&offset=%d", limit, offset)
			for want := 253 - offset; path != ""; {
				var page personList
				a.read(t, path, &page)
				for _, id := range page.ids() {
					if got++; id != want {
						t.Fatalf("limit %d, offset %d: person %d, want %d", limit, offset, id, want)
					}
					want--
				}
				path = ""
				if page.Next != nil {
					path = strings.TrimPrefix(*page.Next, "http://example.com")
				}
			}
			if got != 253-offset {
				t.Errorf("limit %d, offset %d: %d persons", limit, offset, got)
			}
		}
	}
}

// §3: URLs are absolute, contain the other parameters, and are sorted by name; previous has no
// offset on the first page.
func TestManagement_3_Links(t *testing.T) {
	var got personList
	newArchive(t).read(t, "/api/projects/1/persons/?search=a&limit=1&offset=1", &got)
	if got.Previous == nil || *got.Previous != "http://example.com/api/projects/1/persons/?limit=1&search=a" {
		t.Errorf("previous %v", got.Previous)
	}
	newArchive(t).read(t, "/api/projects/1/persons?include_total&limit=1", &got)
	if got.Next == nil || *got.Next != "http://example.com/api/projects/1/persons?cursor=3&include_total=&limit=1" || got.Count == nil || *got.Count != 3 {
		t.Errorf("next %v, count %v", got.Next, got.Count)
	}
}

// Name and order of ids follow §5.3.
func TestManagement_5_3_Shape(t *testing.T) {
	want := map[string]any{
		"id": 1.0, "uuid": uuidOf(1).String(), "name": "ada@example.com", "is_identified": true, "created_at": "2025-06-01T10:00:00Z",
		"distinct_ids": []any{"ada", "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f"},
		"properties":   map[string]any{"email": "ada@example.com", "plan": "pro", "seats": 5.0},
	}
	for _, id := range []string{"1", uuidOf(1).String(), strings.ToUpper(uuidOf(1).String())} {
		var got map[string]any
		newArchive(t).read(t, "/api/environments/@current/persons/"+id+"/", &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	names := map[string]string{
		`{"name":"N","email":"e"}`:         "e",
		`{"email":"","Name":"N"}`:          "N",
		`{"email":null,"username":7}`:      "7",
		`{"email":{"a":1},"UserName":"u"}`: "u",
		`{"other":"x"}`:                    "me",
	}
	for properties, want := range names {
		a := &archive{persons: map[int64][]capture.StoredPerson{1: {{ID: 1, DistinctIDs: []string{"a-b-c-d-e", "me"}, Person: capture.Person{Properties: object(t, properties)}}}}}
		var got map[string]any
		a.read(t, "/api/projects/1/persons/1/", &got)
		if got["name"] != want {
			t.Errorf("%s: name %v, want %s", properties, got["name"], want)
		}
	}
	newArchive(t).refuses(t, "GET", "/api/projects/1/persons/ada/", "", 400, "The ID provided does not look like a personID. If you are using a distinctId, please use /persons?distinct_id=ada instead.")
	newArchive(t).refuses(t, "GET", "/api/projects/1/persons/77/", "", 404, "Not found.")
}

func TestManagement_5_3_Delete(t *testing.T) {
	for query, withEvents := range map[string]bool{"": false, "?delete_events": true, "?delete_events=true": true, "?delete_events=false": false} {
		a := newArchive(t)
		w := ask(a.handler(t), "DELETE", "/api/projects/1/persons/2/"+query, "", "Authorization", "Bearer phx_write")
		if w.Code != http.StatusAccepted || w.Body.Len() > 0 {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
		if diff := cmp.Diff([]erasure{{1, uuidOf(2), withEvents}}, a.erased, cmp.AllowUnexported(erasure{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	a := newArchive(t)
	a.refuses(t, "DELETE", "/api/projects/1/persons/9/", "", 404, "Not found.")
	if a.erased != nil {
		t.Errorf("erased %v", a.erased)
	}
}

func TestManagement_5_3_BulkDelete(t *testing.T) {
	ids := func(n int) string {
		return `["` + strings.Repeat(uuidOf(1).String()+`","`, n-1) + uuidOf(2).String() + `"]`
	}
	tests := map[string]struct {
		body   string
		status int
		detail string
		erased []erasure
	}{
		"distinct ids": {`{"distinct_ids":["ada","nobody"],"delete_events":true}`, 202, "", []erasure{{1, uuidOf(1), true}}},
		"ids":          {`{"ids":["` + uuidOf(2).String() + `"]}`, 202, "", []erasure{{1, uuidOf(2), false}}},
		"none":         {`{"ids":[]}`, 202, "", nil},
		"neither":      {`{}`, 400, "You need to specify either distinct_ids or ids", nil},
		"too many":     {`{"distinct_ids":` + ids(1001) + `}`, 400, "You can only pass 1000 distinct_ids in one call", nil},
		"no uuid":      {`{"ids":["ada"]}`, 400, "Must be a valid UUID.", nil},
		"no JSON":      {`{bad`, 400, "JSON parse error - ", nil},
		"a list":       {`[]`, 400, "Invalid data. Expected a dictionary, but got list.", nil},
		"numbers":      {`{"distinct_ids":[1]}`, 400, "Not a valid value", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			if tt.detail != "" {
				a.refuses(t, "POST", "/api/projects/1/persons/bulk_delete/", tt.body, tt.status, tt.detail)
			} else if w := ask(a.handler(t), "POST", "/api/projects/1/persons/bulk_delete/", tt.body, "Authorization", "Bearer phx_all", "Content-Type", "application/json"); w.Code != tt.status {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if diff := cmp.Diff(tt.erased, a.erased, cmp.AllowUnexported(erasure{})); diff != "" {
				t.Errorf("erased (-want +got):\n%s", diff)
			}
		})
	}
	newArchive(t).refuses(t, "POST", "/api/projects/1/persons/bulk_delete/", `{}`, 415, `Unsupported media type "text/plain" in request.`,
		"Authorization", "Bearer phx_all", "Content-Type", "text/plain")
}
