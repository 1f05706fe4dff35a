package served

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// project is the path of the project.
const project = "/projects/1"

// Manage sends a request to the management API, with a key for all organizations: path is relative
// to /api, body and into may be nil.
func (s *Server) Manage(method, path string, body, into any) {
	s.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			s.t.Fatal(err)
		}
	}
	r, err := http.NewRequest(method, s.URL+"/api"+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+ManageKey)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %d, %v\n%s", method, path, res.StatusCode, err, answer)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
}

// Issue is an issue of captured exceptions.
type Issue struct{ Name, Assignee string }

// Issues returns all issues.
func (s *Server) Issues() []Issue {
	s.t.Helper()
	var page struct{ Results []Issue }
	s.Manage(http.MethodGet, project+"/error_tracking/issues/", nil, &page)
	return page.Results
}

// AssignExceptions creates a rule that assigns exceptions with matching properties, given as
// operator and value, and returns the assignee.
func (s *Server) AssignExceptions(filters map[string][2]string) (assignee string) {
	s.t.Helper()
	var me struct{ ID int64 }
	s.Manage(http.MethodGet, "/users/@me/", nil, &me)
	values := []any{}
	for property, want := range filters {
		values = append(values, map[string]any{"type": "event", "key": property, "operator": want[0], "value": want[1]})
	}
	s.Manage(http.MethodPost, project+"/error_tracking/assignment_rules/", map[string]any{
		"filters":  map[string]any{"type": "AND", "values": values},
		"assignee": map[string]any{"type": "user", "id": me.ID},
	}, nil)
	return fmt.Sprint("user:", me.ID)
}
