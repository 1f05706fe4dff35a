package httpapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// spec/management.md §5.4.
func TestManagement_5_4_GroupTypes(t *testing.T) {
	var got []struct {
		Name  string `json:"group_type"`
		Index int    `json:"group_type_index"`
	}
	newArchive(t).read(t, "/api/projects/1/groups_types/", &got)
	if len(got) != 2 || got[0].Name != "company" || got[0].Index != 0 || got[1].Name != "team" || got[1].Index != 2 {
		t.Errorf("types %v", got)
	}
	a := newArchive(t)
	a.types = nil
	if w := ask(a.handler(t), "GET", "/api/projects/1/groups_types/", "", "Authorization", "Bearer phx_all"); w.Body.String() != "[]" {
		t.Errorf("none: %s", w.Body)
	}
}

func TestManagement_5_4_Groups(t *testing.T) {
	type answer struct {
		Next     *string
		Previous *string
		Results  []struct {
			Key        string         `json:"group_key"`
			Index      int            `json:"group_type_index"`
			Properties map[string]any `json:"group_properties"`
			CreatedAt  string         `json:"created_at"`
		}
	}
	for query, want := range map[string][]string{
		"":                       {"acme", "zinc & co"},
		"&search=zin":            {"zinc & co"},
		"&group_key=acme":        {"acme"},
		"&group_key=zinc+%26+co": {"zinc & co"},
		"&group_key=nobody":      nil,
		"&limit=1":               {"acme"},
	} {
		var got answer
		newArchive(t).read(t, "/api/projects/1/groups/?group_type_index=0"+query, &got)
		var keys []string
		for _, r := range got.Results {
			keys = append(keys, r.Key)
		}
		if diff := cmp.Diff(want, keys); diff != "" || got.Previous != nil {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
		if query != "&limit=1" {
			continue
		}
		if got.Next == nil {
			t.Fatal("no next")
		}
		newArchive(t).read(t, strings.TrimPrefix(*got.Next, "http://example.com"), &got)
		if len(got.Results) != 1 || got.Results[0].Key != "zinc & co" || got.Results[0].CreatedAt != "2025-06-02T10:00:00.123456Z" || got.Results[0].Properties == nil {
			t.Errorf("next %+v", got.Results)
		}
	}
	var one map[string]any
	newArchive(t).read(t, "/api/projects/1/groups/find/?group_type_index=0&group_key=acme", &one)
	want := map[string]any{"group_type_index": 0.0, "group_key": "acme", "group_properties": map[string]any{"size": 10.0}, "created_at": "2025-06-01T10:00:00Z"}
	if diff := cmp.Diff(want, one); diff != "" {
		t.Errorf("find (-want +got):\n%s", diff)
	}
}

func TestManagement_5_4_Bad(t *testing.T) {
	for path, want := range map[string]struct {
		status       int
		detail, attr string
	}{
		"groups/":                                     {400, "This field is required.", `"attr":"group_type_index"`},
		"groups/?group_type_index=x":                  {400, "A valid integer is required.", `"attr":"group_type_index"`},
		"groups/?group_type_index=-1":                 {400, "A valid integer is required.", `"attr":"group_type_index"`},
		"groups/?group_type_index=0&cursor=%25":       {400, "Invalid cursor", `"attr":"cursor"`},
		"groups/find/?group_type_index=0":             {400, "This field is required.", `"attr":"group_key"`},
		"groups/find/?group_type_index=0&group_key=n": {404, "Not found.", `"attr":null`},
		"property_definitions/?type=cohort":           {400, `"cohort" is not a valid choice.`, `"attr":"type"`},
	} {
		w := newArchive(t).refuses(t, "GET", "/api/projects/1/"+path, "", want.status, want.detail)
		if !strings.Contains(w.Body.String(), want.attr) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

func TestReading_Definitions(t *testing.T) {
	type definitions struct {
		Count          int
		Next, Previous *string
		Results        []struct {
			Name  string
			Type  string
			Value *string `json:"property_type"`
			Index *int    `json:"group_type_index"`
		}
	}
	for query, want := range map[string][]string{
		"":                               {"$browser String", "n Numeric", "tree -"},
		"?search=BROW":                   {"$browser String"},
		"?type=event&limit=1&offset=1":   {"n Numeric"},
		"?type=person":                   nil,
		"?type=group&group_type_index=0": {"size Numeric"},
		"?type=group&group_type_index=2": {"lead String"},
	} {
		var got definitions
		newArchive(t).read(t, "/api/projects/1/property_definitions/"+query, &got)
		var names []string
		for _, r := range got.Results {
			kind := "-"
			if r.Value != nil {
				kind = *r.Value
			}
			names = append(names, r.Name+" "+kind)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
		if strings.Contains(query, "offset=1") && (got.Count != 3 || got.Next == nil || got.Previous == nil) {
			t.Errorf("%s: count %d, next %v, previous %v", query, got.Count, got.Next, got.Previous)
		}
	}
	var events definitions
	newArchive(t).read(t, "/api/projects/1/event_definitions/", &events)
	if events.Count != 1 || events.Results[0].Name != "first" {
		t.Errorf("events %+v", events)
	}
}

// Decision 15: dropped events can be listed.
func TestReading_Warnings(t *testing.T) {
	var got map[string]any
	newArchive(t).read(t, "/api/projects/1/ingestion_warnings/?limit=1", &got)
	want := map[string]any{
		"next": "http://example.com/api/projects/1/ingestion_warnings/?limit=1&offset=1", "previous": nil,
		"results": []any{map[string]any{
			"type": "event_too_large", "distinct_id": "ada", "event_uuid": uuidOf(7).String(), "detail": "", "count": 3.0,
			"first_seen": "2025-06-04T10:00:00.123456Z", "last_seen": "2025-06-05T10:00:00Z",
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	newArchive(t).read(t, "/api/projects/1/ingestion_warnings/?limit=1&offset=1", &got)
	if got["next"] != nil || len(got["results"].([]any)) != 1 || got["results"].([]any)[0].(map[string]any)["event_uuid"] != nil {
		t.Errorf("second page %v", got)
	}
}
