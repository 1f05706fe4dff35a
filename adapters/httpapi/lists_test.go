package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// §2.1 of spec/clients.md: every list ignores and reports unknown parameters, and refuses
// unsupported ones with 400; no value of a parameter causes a server error.
func TestLists_EveryParameter(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	values := []string{
		"", "x", "-1", "99999999999999999999", "true", "null", "[", "[]", "{}", "[null]", `[{"a":[]}]`, `["\u0000"]`, "[1e999]", "1,,2", ",", "-9999y", "2026-02-30",
		"\x00", "\xff", "%", "'; DROP TABLE records; --", strings.Repeat("[", 5000), strings.Repeat("é,", 2000),
	}
	lists := map[string]bool{}
	var some sample
	for _, e := range httpapi.EndpointsForTest() {
		if !e.List {
			continue
		}
		lists[e.Path] = true
		path := "GET " + walkPath(e.Path, unknownUUID)
		_, headers, body := o.send(t, &manageStep{Request: path + "?nobody_knows_this=1"})
		if got := headers.Get("Bunting-Warning"); got != `the parameter "nobody_knows_this" is unknown and was ignored` {
			t.Errorf("%s: the warning is %q: %s", e.Path, got, body)
		}
		for _, name := range e.Undone {
			status, body := o.ask(t, manageStep{Request: path + "?" + name + "=1"})
			if !strings.Contains(string(body), `"attr":"`+name+`"`) || status != 400 {
				t.Errorf("%s?%s: %d %s", e.Path, name, status, body)
			}
		}
		for _, name := range append(e.Parameters, "limit", "offset", "format") {
			for _, value := range values {
				if !some.has() {
					continue
				}
				status, body := o.ask(t, manageStep{Request: path + "?" + url.Values{name: {value}}.Encode()})
				if status >= 500 {
					t.Errorf("%s?%s=%.40q: %d %s", e.Path, name, value, status, body)
				}
			}
		}
	}
	for _, path := range []string{"/api/projects/{project}/insights/", "/api/projects/{project}/events/", "/api/organizations/{organization}/members/", "/api/personal_api_keys/"} {
		if !lists[path] {
			t.Errorf("%s is not taken for a list", path)
		}
	}
}

// The supported parameters of lists are in the API's description, the refused ones are not.
func TestLists_AreDescribed(t *testing.T) {
	var d struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name   string
				In     string
				Schema struct {
					Type string
					Enum []string
				}
			}
		}
	}
	o := newOffice(t, "sqlite::memory:")
	if err := json.Unmarshal(o.do(t, "GET /api/schema/", "", 200), &d); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/api/organizations/{organization}/members/":     "limit integer, offset integer, email string, search string, order string joined_at|-joined_at, updated_after string",
		"/api/projects/{project_id}/surveys/":            "limit integer, offset integer, search string, archived boolean, ids string, type string popover|widget|external_survey|api",
		"/api/projects/{project_id}/activity_log/":       "limit integer, page integer, scope string, scopes string, item_id string, user string",
		"/api/projects/{project_id}/ingestion_warnings/": "",
	} {
		var got []string
		for _, p := range d.Paths[path]["get"].Parameters {
			if p.In == "query" {
				got = append(got, strings.TrimSpace(p.Name+" "+p.Schema.Type+" "+strings.Join(p.Schema.Enum, "|")))
			}
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s is described with %q, want %q", path, text, want)
		}
	}
	if post := d.Paths["/api/projects/{project_id}/surveys/"]["post"].Parameters; len(post) != 1 {
		t.Errorf("to make a survey has the parameters %v, want only the project", post)
	}
}

// An insight from before short ids were introduced has a permanent one (§1.1).
func TestLists_ShortIDsOfOldInsights(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	id, uuid := "7", "0191f0a2-5b1c-7d3e-8f40-00000000abcd"
	old := fmt.Sprintf(`{"id": 7, "uuid": %q, "name": "Old", "description": "", "query": null, "filters": {}, "deleted": false, "created_at": "2025-01-01T00:00:00Z", "created_by": 1, "updated_at": "2025-01-01T00:00:00Z", "last_modified_by": 1}`, uuid)
	err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error {
		return tx.Put(&management.Record{Kind: "insight", Parent: management.ProjectParent(1), ID: id, Sort: "1", Data: json.RawMessage(old)})
	})
	if err != nil {
		t.Fatal(err)
	}
	short, _ := dig(o.do(t, "GET /api/projects/1/insights/"+id+"/", "", 200), "short_id")
	if len(short) != 8 || strings.Trim(short, "0123456789") == "" {
		t.Fatalf("the short id is %q, want eight characters that are no number", short)
	}
	o.vars["short"] = short
	for range 2 { // as it was stored, and after a change
		for _, path := range []string{"/api/projects/1/insights/{short}/", "/api/projects/1/insights/?short_id={short}"} {
			if body := o.do(t, "GET "+path, "", 200); !strings.Contains(string(body), `"id":7,`) || !strings.Contains(string(body), short) {
				t.Errorf("%s: %s", path, body)
			}
		}
		o.do(t, "PATCH /api/projects/1/insights/{short}/", `{"name": "New"}`, 200)
	}
	log := o.do(t, "GET /api/projects/1/activity_log/?scope=Insight", "", 200)
	if strings.Contains(string(log), `"short_id","before"`) || !strings.Contains(string(log), `"field":"name"`) {
		t.Errorf("the log of the change: %s", log)
	}
}

// manyEvents returns an archive with n more events; only the oldest has the property "tree".
func manyEvents(t *testing.T, n int) *archive {
	t.Helper()
	a := newArchive(t)
	for i := range n {
		e := capture.Record{ID: int64(1000 + i), ProjectID: 1, Name: "many", DistinctID: "x", Properties: `{"n":1}`, Timestamp: day(1).Add(time.Duration(i) * time.Second)}
		if i == 0 {
			e.Properties = `{"n":1,"tree":2}`
		}
		a.events = append(a.events, e)
	}
	return a
}

// A filter of events reads 10,000 of them for one page, which may be empty and still have a link to
// the next page.
func TestLists_EventsAreFilteredWithinBounds(t *testing.T) {
	a := manyEvents(t, 10_100)
	path := "/api/projects/1/events/?event=many&properties=" + url.QueryEscape(`[{"key":"tree","operator":"is_set","value":"is_set"}]`)
	var page struct {
		Next    string
		Results []struct{ Properties map[string]any }
	}
	a.read(t, path, &page)
	if len(page.Results) != 0 || page.Next == "" {
		t.Fatalf("the first page: %+v", page)
	}
	next := strings.TrimPrefix(page.Next, "http://example.com")
	page.Next = ""
	a.read(t, next, &page)
	if len(page.Results) != 1 || page.Results[0].Properties["tree"] != 2.0 || page.Next != "" {
		t.Errorf("the second page: %+v", page)
	}
}

// If an offset is larger than the number of events that one request reads, several requests are
// needed to skip it.
func TestLists_EventsOffset(t *testing.T) {
	a := manyEvents(t, 10_100)
	path, pages := "/api/projects/1/events/?event=many&offset=10050&limit=30", []int{}
	for path != "" {
		var page struct {
			Next    string
			Results []any
		}
		a.read(t, path, &page)
		pages = append(pages, len(page.Results))
		path = strings.TrimPrefix(page.Next, "http://example.com")
	}
	if want := []int{0, 30, 20}; !slices.Equal(pages, want) {
		t.Errorf("pages of %v events, want %v", pages, want)
	}
}

// §2.2: event_names reads the newest 10,000 events, and reports whether there are more.
func TestLists_EventNamesWithinBounds(t *testing.T) {
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprint("none ", i)
	}
	names[0] = "many"
	text, _ := json.Marshal(names)
	a := manyEvents(t, 101)
	w := ask(a.handler(t), "GET", "/api/projects/1/property_definitions/?filter_by_event_names=true&event_names="+url.QueryEscape(string(text)), "", "Authorization", "Bearer phx_all")
	var got struct{ Results []struct{ Name string } }
	decodeJSON(t, w.Body.Bytes(), &got)
	if len(got.Results) != 1 || got.Results[0].Name != "n" {
		t.Errorf("properties %+v, want n alone: tree is on the event that is not looked at", got.Results)
	}
	if warned := w.Header().Get("Bunting-Warning"); warned != `event_names: only the newest 100 events of "many" were looked at` {
		t.Errorf("the warning is %q", warned)
	}
}
