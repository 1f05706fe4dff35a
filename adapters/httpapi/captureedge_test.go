package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// furtherRows is the number of lines in §18 below its numbered rows.
const furtherRows = 13

// Every row of §18, and every line of "Further", by number: sent over a connection, stored, and
// read back.
func TestCapture_18(t *testing.T) {
	rows := map[string]bool{}
	for _, c := range labCases(t, "18_*.json") {
		rows[c.Row] = true
		prefix := "row_"
		if strings.HasPrefix(c.Row, "further") {
			prefix = ""
		}
		t.Run(prefix+c.Row+"_"+c.Name, c.run)
	}
	missing := func(row string) {
		if !rows[row] {
			t.Errorf("row %s has no case", row)
		}
		delete(rows, row)
	}
	for n := 1; n <= 84; n++ {
		if n == 78 {
			missing("78a")
			missing("78b")
			continue
		}
		missing(fmt.Sprint(n))
	}
	for n := 1; n <= furtherRows; n++ {
		missing(fmt.Sprintf("further %d", n))
	}
	for row := range rows {
		t.Errorf("there is no row %q", row)
	}
}

// clauses runs the cases of a file, named after the clause that each proves.
func clauses(t *testing.T, file string) {
	for _, c := range labCases(t, file) {
		t.Run(strings.TrimPrefix(c.Clause, "§")+"_"+c.Name, c.run)
	}
}

// The vectors of §17, sent over a connection and stored.
func TestCapture_17(t *testing.T) { clauses(t, "17.json") }

// Session recordings: accepted for SDKs, but not stored (§7).
func TestCapture_7(t *testing.T) { clauses(t, "7.json") }

// Requirements of SDKs for responses and connections (§14.2).
func TestCapture_14(t *testing.T) { clauses(t, "14.json") }

// The comparison of the tests above must be able to fail: each wrong expectation is detected.
func TestCapture_18_SeesDifferences(t *testing.T) {
	l := newLab(t, "{}")
	step := labStep{captureRequest: captureRequest{httpRequest: httpRequest{Path: "/batch/", Body: json.RawMessage(`{"api_key": "phc_x", "batch": [
		{"event": "e", "distinct_id": "u", "uuid": "0190d0c0-0000-4000-8000-000000000001", "timestamp": "2026-01-01T11:00:00Z", "properties": {"n": 1.0, "$set": {"a": 1}, "$groups": {"company": "acme"}}},
		{"event": "$groupidentify", "distinct_id": "v", "properties": {"$group_type": "company", "$group_key": "acme", "$group_set": {"tier": "gold"}}},
		{"distinct_id": "w"}]}`)}}}
	step.run(t, l)
	sentAt := time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC)
	right := func() labState {
		return labState{
			Events: []labEvent{
				{Event: "e", DistinctID: "u", UUID: "0190d0c0-0000-4000-8000-000000000001", Timestamp: &sentAt, Person: "u", Mode: "full", Historical: ptr(false),
					Properties: map[string]json.RawMessage{"n": json.RawMessage("1.0"), "$group_0": json.RawMessage(`"acme"`)}, Absent: []string{"x"}, PersonProperties: json.RawMessage(`{"a": 1}`)},
				{Event: "$groupidentify", DistinctID: "v"},
			},
			Persons: []labPerson{
				{IDs: []string{"u"}, From: "u", Created: &sentAt, Version: ptr(int64(0)), Properties: json.RawMessage(`{"a": 1}`)},
				{IDs: []string{"v"}, From: "v", Properties: json.RawMessage(`{}`)},
			},
			Groups:     []labGroup{{Type: "company", Key: "acme", Properties: json.RawMessage(`{"tier": "gold"}`)}},
			GroupTypes: []string{"company"},
			Warnings:   map[capture.WarningType]int64{"missing_event_name": 1},
			FlagCalls:  map[string]int64{},
		}
	}
	state := right()
	if found := l.differences(&state); len(found) > 0 {
		t.Fatalf("what is right differs: %q", found)
	}
	later := sentAt.Add(time.Microsecond)
	for name, spoil := range map[string]func(s *labState){
		"another project":    func(s *labState) { s.Project = 2 },
		"an event less":      func(s *labState) { s.Events = s.Events[:1] },
		"name":               func(s *labState) { s.Events[0].Event = "f" },
		"distinct id":        func(s *labState) { s.Events[0].DistinctID = "x" },
		"uuid":               func(s *labState) { s.Events[0].UUID = "0190d0c0-0000-4000-8000-000000000002" },
		"time":               func(s *labState) { s.Events[0].Timestamp = &later },
		"person of an event": func(s *labState) { s.Events[0].Person = "v" },
		"mode":               func(s *labState) { s.Events[0].Mode = "propertyless" },
		"historical":         func(s *labState) { s.Events[0].Historical = ptr(true) },
		"elements":           func(s *labState) { s.Events[0].Elements = "a" },
		"property":           func(s *labState) { s.Events[0].Properties["n"] = json.RawMessage("1") },
		"missing property":   func(s *labState) { s.Events[0].Properties["m"] = json.RawMessage("null") },
		"absent property":    func(s *labState) { s.Events[0].Absent = []string{"n"} },
		"person properties":  func(s *labState) { s.Events[0].PersonProperties = json.RawMessage(`{}`) },
		"no persons":         func(s *labState) { s.Persons = []labPerson{} },
		"ids":                func(s *labState) { s.Persons[0].IDs = []string{"u", "x"} },
		"number of ids":      func(s *labState) { s.Persons[0].IDCount = 2 },
		"person's uuid":      func(s *labState) { s.Persons[0].From = "v" },
		"identified":         func(s *labState) { s.Persons[0].Identified = true },
		"created":            func(s *labState) { s.Persons[0].Created = &later },
		"version":            func(s *labState) { s.Persons[0].Version = ptr(int64(1)) },
		"properties":         func(s *labState) { s.Persons[0].Properties = json.RawMessage(`{"a": 1, "b": 2}`) },
		"has":                func(s *labState) { s.Persons[1].Has = map[string]json.RawMessage{"a": json.RawMessage("1")} },
		"no groups":          func(s *labState) { s.Groups = []labGroup{} },
		"group":              func(s *labState) { s.Groups[0].Properties = json.RawMessage(`{}`) },
		"group types":        func(s *labState) { s.GroupTypes = []string{} },
		"no warnings":        func(s *labState) { s.Warnings, s.Dropped = nil, map[capture.DropReason]uint64{"missing_event_name": 1} },
		"dropped":            func(s *labState) { s.Dropped = map[capture.DropReason]uint64{} },
		"flag calls":         func(s *labState) { s.FlagCalls["f=true"] = 1 },
	} {
		state := right()
		spoil(&state)
		if len(l.differences(&state)) == 0 {
			t.Errorf("%s: not seen", name)
		}
	}
}

// The decisions about capture, 13 to 16, that have no row in §18.
func TestCapture_Decisions(t *testing.T) { clauses(t, "decisions.json") }
