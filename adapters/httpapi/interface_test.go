package httpapi_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// interfaceFile is testdata/interface.json: the rows of the interface document, and the cases that
// prove them.
type interfaceFile struct {
	Source   string `json:"source"`
	Sections []struct {
		Section string `json:"section"`
		// Printed is the number of rows in the section of the document.
		Printed int            `json:"printed"`
		Rows    []interfaceRow `json:"rows"`
	} `json:"sections"`
}

// interfaceRow is a row of the document.
type interfaceRow struct {
	// Row is method and path, or the text of a line of §7.
	Row string `json:"row"`
	// Asks are methods and paths if Row is a sentence: one of them must be requested.
	Asks []string `json:"asks"`
	// Scope is the required scope, none for ingestion.
	Scope string `json:"scope"`
	// NotShown is what the document does not specify, but management.md or a decision does.
	NotShown string `json:"not_shown"`
	// Status are the statuses, each of which must be proven; Empty ones have no body.
	Status []int    `json:"status"`
	Empty  bool     `json:"empty"`
	Cases  []string `json:"cases"`
}

// requested is a request of a case and its response.
type requested struct {
	method, path string
	status       int
	empty        bool
}

func TestInterface_EveryRow(t *testing.T) {
	text, err := os.ReadFile("../../testdata/interface.json")
	if err != nil {
		t.Fatal(err)
	}
	var f interfaceFile
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	cases := casesByName(t)
	seen := map[string]bool{}
	for _, section := range f.Sections {
		if len(section.Rows) != section.Printed {
			t.Errorf("§%s: %d rows, the document prints %d", section.Section, len(section.Rows), section.Printed)
		}
		for _, row := range section.Rows {
			name := "§" + section.Section + " " + row.Row
			if seen[name] {
				t.Errorf("%s stands there twice", name)
			}
			seen[name] = true
			row.check(t, name, cases)
			if row.Scope != "" {
				row.checkScope(t, name)
			}
		}
	}
}

// check searches for the row's request in each of its cases.
func (row *interfaceRow) check(t *testing.T, name string, cases map[string][]requested) {
	t.Helper()
	requests := row.Asks
	if requests == nil {
		requests = []string{row.Row}
	}
	proven := map[int]bool{}
	for _, file := range row.Cases {
		steps, ok := cases[file]
		if !ok {
			t.Errorf("%s: there is no case %s", name, file)
		}
		found := false
		for _, s := range steps {
			if slices.Contains(row.Status, s.status) && (s.empty || !row.Empty) &&
				slices.ContainsFunc(requests, func(ask string) bool { return s.matches(ask) }) {
				found, proven[s.status] = true, true
			}
		}
		if ok && !found {
			t.Errorf("%s: %s has no such request that is answered with %v, empty %t", name, file, row.Status, row.Empty)
		}
	}
	for _, status := range row.Status {
		if !proven[status] {
			t.Errorf("%s: no case is answered with %d", name, status)
		}
	}
}

// checkScope compares the row's scope with that of the route, which must exist.
func (row *interfaceRow) checkScope(t *testing.T, name string) {
	t.Helper()
	for _, e := range httpapi.EndpointsForTest() {
		path := e.Path
		if e.InProject {
			path = strings.Replace(path, "/api/projects/", "/api/environments/", 1)
		}
		if (&requested{method: e.Method, path: path}).matches(row.Row) && strings.Count(path, "{") == strings.Count(row.Row, "/:") {
			if e.Scope != row.Scope {
				t.Errorf("%s demands %s, want %s", name, e.Scope, row.Scope)
			}
			return
		}
	}
	t.Errorf("%s: there is no such route", name)
}

// matches reports whether a request matches a printed row: :name matches any part of a path.
func (a *requested) matches(printed string) bool {
	method, path, _ := strings.Cut(strings.Replace(printed, "{ingest_url}", "", 1), " ")
	path, query, _ := strings.Cut(path, "?")
	got, gotQuery, _ := strings.Cut(a.path, "?")
	want, parts := strings.Split(strings.TrimSuffix(path, "/"), "/"), strings.Split(strings.TrimSuffix(got, "/"), "/")
	return method == a.method && (query == "" || strings.Contains("&"+gotQuery+"&", "&"+query+"&")) &&
		slices.EqualFunc(want, parts, func(want, part string) bool {
			return want == part || strings.HasPrefix(want, ":") && part != ""
		})
}

// casesByName returns all cases over HTTP, by folder, file and name.
func casesByName(t *testing.T) map[string][]requested {
	t.Helper()
	out := map[string][]requested{}
	for _, folder := range []string{"", "restricted"} {
		for file, f := range manageFiles(t, folder) {
			for _, c := range f.Cases {
				name := filepath.Join("management", folder, file) + "/" + c.Name
				for _, s := range c.Steps {
					method, path, _ := strings.Cut(s.Request, " ")
					out[name] = append(out[name], requested{method, path, s.Status, string(s.Want) == `""`})
				}
			}
		}
	}
	for file, list := range caseFiles(t) {
		for _, c := range list {
			name := "http/cases/" + file + "/" + c.Name
			out[name] = append(out[name], requested{c.Request.Method, c.Request.Path, c.Want.Status, c.Want.Empty})
		}
	}
	for _, c := range captureCases(t, "http.json") {
		name := "capture/http/" + c.Name
		out[name] = append(out[name], requested{c.Request.Method, c.Request.Path, c.Want.Status, c.Want.Empty})
	}
	paths, err := filepath.Glob("../../testdata/capture/edgecases/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		for _, c := range labCases(t, filepath.Base(path)) {
			name := fmt.Sprint("capture/edgecases/", strings.TrimSuffix(filepath.Base(path), ".json"), "/", c.Name)
			for _, s := range c.Steps {
				a := requested{cmp.Or(s.Method, http.MethodPost), cmp.Or(s.Path, "/i/v0/e/"), http.StatusOK, false}
				if s.Want != nil {
					a.status, a.empty = s.Want.Status, s.Want.Empty
				}
				out[name] = append(out[name], a)
			}
		}
	}
	return out
}
