package querytest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Now is the time at which queries arrive: a Wednesday.
var Now = time.Date(2020, 1, 22, 12, 0, 0, 0, time.UTC)

// Suite are the kinds of queries of a package, and the project that they run in.
type Suite struct {
	Kinds   []scan.Kind
	Project port.Project
}

// Parse parses a query, and returns its first fault.
func (s *Suite) Parse(t testing.TB, query string) (scan.Plan, *port.Error) {
	t.Helper()
	n, fault := document.Decode(json.RawMessage(query), "query")
	name := n.Get("kind").Text("")
	i := slices.IndexFunc(s.Kinds, func(k scan.Kind) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("no kind %q: is this JSON? %s", name, query)
	}
	p := s.Project
	p.ID = 1
	plan := s.Kinds[i].Parse(n, &p)
	return plan, *fault
}

// Run runs a query, and returns its result.
func (s *Suite) Run(t testing.TB, events *Store, query string, options port.Options) (*port.Result, error) {
	t.Helper()
	plan, fault := s.Parse(t, query)
	if fault != nil {
		return nil, fault
	}
	reader, err := events.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	p := s.Project
	p.ID = 1
	options.Now = Now
	r := scan.NewRun(t.Context(), reader, &p, options)
	r.Mode = scan.ModeOverrideOnEvents
	result, err := plan.Run(r)
	if err == nil {
		err = r.Fault
	}
	return result, err
}

// Fault is a query with a fault: its code, its place without the leading query__, and a part of the
// message. Of is the clause.
type Fault = struct{ Of, Query, Code, Attr, Detail string }

// CheckFaults compares the fault of each query.
func (s *Suite) CheckFaults(t *testing.T, rows []Fault) {
	t.Helper()
	for _, row := range rows {
		_, fault := s.Parse(t, row.Query)
		switch {
		case row.Code == "" && fault == nil:
		case row.Code == "" || fault == nil:
			t.Errorf("%s: got %v, want code %q", row.Of, fault, row.Code)
		case fault.Code != row.Code || strings.TrimPrefix(fault.Attr, "query__") != row.Attr || !strings.Contains(fault.Detail, row.Detail):
			t.Errorf("%s:\n got %s at %s: %s\nwant %s at %s: %s", row.Of, fault.Code, fault.Attr, fault.Detail, row.Code, row.Attr, row.Detail)
		}
	}
}

// Results runs a query and returns the member results as decoded JSON.
func (s *Suite) Results(t testing.TB, events *Store, query string) any {
	t.Helper()
	result, err := s.Run(t, events, query, port.Options{})
	if err != nil {
		var fault *port.Error
		if errors.As(err, &fault) {
			t.Fatalf("%s at %s: %s", fault.Code, fault.Attr, fault.Detail)
		}
		t.Fatal(err)
	}
	var out any
	if err := wire.Decode(wire.MustEncode(result.Results), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Member returns the JSON of a member of each element of a list of results, separated by spaces. A
// member that is absent is omitted.
func Member(results any, name string) string {
	var out []string
	list, _ := results.([]any)
	for _, row := range list {
		object, _ := row.(map[string]any)
		if v, ok := object[name]; ok {
			out = append(out, string(wire.MustEncode(v)))
		}
	}
	return strings.Join(out, " ")
}
