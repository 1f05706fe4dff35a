package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// An erasure is recorded in the server's log and in the project's activity log (spec/management.md
// §5.11): the user, the person's id, and the number of events, but not the person's name. This
// applies to one person, many, and events only.
func TestPersons_ErasureLeavesATrace(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	var log bytes.Buffer
	o.serve(t, func(c *httpapi.Config) { c.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
	key := "Bearer " + o.key(t, "owner")
	events := func(id string, n int) {
		t.Helper()
		var list []string
		for range n {
			list = append(list, fmt.Sprintf(`{"event":"e","distinct_id":%q,"properties":{"$set":{"email":"secret@example.com"}}}`, id))
		}
		if w := ask(o.handler, "POST", "/batch/", `{"api_key":"phc_1","batch":[`+strings.Join(list, ",")+`]}`); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	uuid := func(id string) string {
		t.Helper()
		var page struct{ Results []struct{ UUID string } }
		if decodeJSON(t, ask(o.handler, "GET", "/api/projects/1/persons/?distinct_id="+id, "", "Authorization", key).Body.Bytes(), &page); len(page.Results) != 1 {
			t.Fatalf("%s: %+v", id, page)
		}
		return page.Results[0].UUID
	}
	for i, c := range []struct {
		id, method, path, body string
		events                 int
		activity               string
		told                   int
	}{
		{"ann", "DELETE", "/api/projects/1/persons/%s/?delete_events=true", "", 3, "deleted", 3},
		{"bob", "DELETE", "/api/projects/1/persons/%s/", "", 2, "deleted", 0},
		{"cid", "POST", "/api/projects/1/persons/bulk_delete/", `{"ids":["%s"],"delete_events":true}`, 4, "deleted", 4},
		{"dot", "POST", "/api/projects/1/persons/%s/delete_events/", "", 5, "updated", 5},
	} {
		events(c.id, c.events)
		person := uuid(c.id)
		log.Reset()
		path, body := c.path, c.body
		if strings.Contains(path, "%s") {
			path = fmt.Sprintf(path, person)
		} else {
			body = fmt.Sprintf(body, person)
		}
		if w := ask(o.handler, c.method, path, body, "Authorization", key, "Content-Type", "application/json"); w.Code >= 300 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		var line struct {
			Project      int
			Person, User string
			Events       int
			RequestID    string `json:"request_id"`
		}
		if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Project != 1 || line.Person != person || line.User != "owner@example.com" || line.Events != c.told || line.RequestID == "" {
			t.Errorf("%s: the log says %s (%v)", path, log.String(), err)
		}
		var found struct {
			Results []struct {
				Activity, Scope string
				ItemID          string `json:"item_id"`
				User            struct{ Email string }
				Detail          struct {
					Name    string
					Changes []struct {
						Field  string
						Before int
					}
				}
			}
			Total int `json:"total_count"`
		}
		text := ask(o.handler, "GET", "/api/projects/1/activity_log/?scope=Person", "", "Authorization", key).Body.Bytes()
		decodeJSON(t, text, &found)
		if found.Total != i+1 {
			t.Fatalf("%s: %d lines in the log of changes, want %d: %s", path, found.Total, i+1, text)
		}
		got := found.Results[0]
		if got.Activity != c.activity || got.Scope != "Person" || got.ItemID != person || got.User.Email != "owner@example.com" ||
			len(got.Detail.Changes) != 1 || got.Detail.Changes[0].Field != "events" || got.Detail.Changes[0].Before != c.told {
			t.Errorf("%s: %+v", path, got)
		}
		if strings.Contains(string(text)+log.String(), "secret@") {
			t.Errorf("%s: the trace has properties of who is gone", path)
		}
	}
	// For a person that does not exist there is no entry.
	log.Reset()
	if w := ask(o.handler, "POST", "/api/projects/1/persons/bulk_delete/", `{"ids":["0191f0a2-5b1c-7d3e-8f40-0000000000ff"]}`, "Authorization", key, "Content-Type", "application/json"); w.Code >= 300 || log.Len() > 0 {
		t.Errorf("%d %s, log %s", w.Code, w.Body, log.String())
	}
}
