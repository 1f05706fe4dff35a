package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"database/sql"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/management"
)

// refusal is the expected error of a request.
type refusal struct {
	status       int
	code, detail string
}

// Every route returns the errors of §1.5, in its order, without changing any data (§1.5, §2.2; rows
// 1, 2, 8, 13, 15, 19, 75, 76 of §6).
func TestManagement_EveryRouteRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "office.db")
	o := newOffice(t, "sqlite:"+file)
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	scopes := map[string]bool{}
	for _, e := range httpapi.EndpointsForTest() {
		if strings.Contains(e.Scope, ":") {
			scopes[e.Scope] = true
		}
	}
	keys := []string{"owner", "foreign", "owner projects=2", "owner organizations=" + officeOther}
	for scope := range scopes {
		keys = append(keys, "owner "+scope)
	}
	for _, caller := range keys {
		o.key(t, caller)
		o.ask(t, manageStep{As: caller, Request: "GET /api/projects/1/persons/"}) // so that later requests do not change the time of last use
	}
	// Sessions are refused like the keys from which they were created (console.md §5.4).
	cookies := map[string]string{}
	for _, caller := range []string{"foreign", "owner projects=2", "owner organizations=" + officeOther, "owner feature_flag:read", "owner user:write"} {
		cookies[caller] = o.newSession(t, `{"key": "`+o.key(t, caller)+`"}`)
	}
	before := contents(t, db)
	var checkRefusal func(e *httpapi.EndpointForTest, what string, s manageStep, want refusal)
	checkRefusal = func(e *httpapi.EndpointForTest, what string, s manageStep, want refusal) {
		t.Helper()
		if cookie := cookies[s.As]; cookie != "" {
			checkRefusal(e, what+", by cookie", manageStep{As: "none", Headers: map[string]string{"Cookie": cookie}}, want)
		}
		s.Request = e.Method + " " + walkPath(e.Path, unknownUUID)
		status, body := o.ask(t, s)
		var got struct{ Code, Detail string }
		_ = json.Unmarshal(body, &got)
		if status != want.status || got.Code != want.code || !strings.HasPrefix(got.Detail, want.detail) {
			t.Errorf("%s %s, %s: %d %s; want %d %s %q", e.Method, e.Path, what, status, body, want.status, want.code, want.detail)
		}
	}
	var some sample
	for _, e := range httpapi.EndpointsForTest() {
		if e.Scope == "public" {
			continue
		}
		checkRefusal(&e, "no key", manageStep{As: "none"}, refusal{401, "not_authenticated", "Authentication credentials were not provided."})
		checkRefusal(&e, "wrong key", manageStep{As: "none", Headers: map[string]string{"Authorization": "Bearer phx_wrong"}},
			refusal{401, "authentication_failed", "Personal API key found in request Authorization header is invalid."})
		for _, scope := range slices.Sorted(maps.Keys(scopes)) {
			if e.Scope == "" || scope == e.Scope || strings.TrimSuffix(scope, "write")+"read" == e.Scope || !some.has() {
				continue
			}
			checkRefusal(&e, "scope "+scope, manageStep{As: "owner " + scope}, refusal{403, "permission_denied", "API key missing required scope '" + e.Scope + "'"})
		}
		switch {
		case e.InProject:
			checkRefusal(&e, "another organization's", manageStep{As: "foreign"}, refusal{403, "permission_denied", "You don't have access to the project."})
			checkRefusal(&e, "another project's", manageStep{As: "owner projects=2"}, refusal{403, "permission_denied", "API key does not have access to the requested project: ID 1."})
		case e.InOrg:
			checkRefusal(&e, "another organization's", manageStep{As: "foreign"}, refusal{403, "permission_denied", "You do not have permission to perform this action."})
			checkRefusal(&e, "a project's", manageStep{As: "owner projects=2"}, refusal{403, "permission_denied", "API keys with scoped projects are only supported on project-based endpoints."})
			checkRefusal(&e, "scoped to another organization", manageStep{As: "owner organizations=" + officeOther}, refusal{403, "permission_denied", "API key does not have access to the requested organization: ID " + officeOrg + "."})
		}
		// For a person or group that does not exist, the error is 404 or a missing parameter, for
		// any body.
		if own := strings.Contains(e.Path, "{person}") || strings.Contains(e.Path, "/groups/"); e.Takes != nil && e.Method != http.MethodGet && !own {
			checkRefusal(&e, "no JSON", manageStep{Text: `{"a":`}, refusal{400, "parse_error", "JSON parse error"})
			checkRefusal(&e, "another media type", manageStep{Text: "x", Headers: map[string]string{"Content-Type": "text/plain"}}, refusal{415, "unsupported_media_type", "Unsupported media type"})
		}
	}
	if diff := difference(before, contents(t, db)); diff != "" {
		t.Errorf("a refused request has changed something: %s", diff)
	}
}

// For invalid ids and fields the error describes the problem, and is never a server error (§2.2).
func TestManagement_EveryRouteBearsNonsense(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	long := strings.Repeat("x", 5000)
	var some sample
	ids := []string{unknownUUID, "999999", "0", "-1", "abc", "99999999999999999999999", "@current", "%00", "a b", "é", long[:300]}
	for _, e := range httpapi.EndpointsForTest() {
		if e.Scope == "INTERNAL" && strings.Contains(e.Path, "run_test_step") {
			continue // sends requests to other servers
		}
		if strings.Contains(e.Path[strings.LastIndexByte(e.Path[:len(e.Path)-1], '/'):], "{") || strings.Count(e.Path, "{") > 1 {
			for _, id := range ids {
				if !some.has() {
					continue
				}
				if status, body := o.ask(t, manageStep{Request: e.Method + " " + walkPath(e.Path, id), Body: []byte("{}")}); status >= 500 {
					t.Errorf("%s %s with %q: %d %s", e.Method, e.Path, id, status, body)
				}
			}
		}
		for _, body := range nonsense(e.Takes, long) {
			if !some.has() {
				continue
			}
			if e.Array {
				body = "[" + body + "]"
			}
			status, answer := o.ask(t, manageStep{Request: e.Method + " " + walkPath(e.Path, "1"), Text: body})
			if status >= 500 {
				t.Errorf("%s %s with %.200s: %d %s", e.Method, e.Path, body, status, answer)
			}
		}
	}
}

// nonsense returns bodies in which one field after the other has an unusual value.
func nonsense(fields management.Fields, long string) []string {
	if fields == nil {
		return nil
	}
	out := []string{`{}`, `[]`, `null`, `"x"`, `7`, `{"unknown": {"a": [1]}}`, `[[]]`, `[null]`}
	values := []string{`null`, `true`, `7`, `-1.5`, `1e400`, `""`, `"` + long + `"`, `"a\u0000b"`, `"\ud800"`, `[]`, `[null]`, `[[]]`, `[{}]`, `[{"id": {}}]`, `{}`, `{"type": 7}`, `{"a": {"b": null}}`, `"2026-13-45"`}
	for _, f := range fields {
		for _, v := range values {
			out = append(out, fmt.Sprintf(`{%q: %s}`, f.Name, v))
		}
	}
	return out
}

// managedTables are the tables of managed data, without columns that change by use.
var managedTables = map[string]string{
	"records": "kind || parent || id || sort || hidden || data", "record_counts": "kind || parent || n", "organizations": "id || name || quotas || meta",
	"projects": "id || name || api_key || settings || meta || deleted", "api_keys": "hash || label || scopes || projects",
	"flag_records": "id || record || meta || deleted", "cohort_records": "id || record || meta || deleted", "cohort_members": "distinct_id || cohort_id",
	"persons": "uuid || properties", "event_chunks": "hex(short) || hex(data)",
}

func contents(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for table, columns := range managedTables {
		var rows []string
		found, err := db.Query("SELECT " + columns + " AS row FROM " + table + " ORDER BY row")
		if err != nil {
			t.Fatal(table, err)
		}
		for found.Next() {
			var row string
			if err := found.Scan(&row); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		if err := found.Close(); err != nil {
			t.Fatal(err)
		}
		out[table] = strings.Join(rows, "\n")
	}
	return out
}

func difference(before, after map[string]string) string {
	for _, table := range slices.Sorted(maps.Keys(before)) {
		if before[table] != after[table] {
			return table + " was\n" + before[table] + "\nand is\n" + after[table]
		}
	}
	return ""
}
