package flags_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

const asCode = `{
	"cohorts": [
		{"name": "Oslo", "filters": {"properties": {"type": "AND", "values": [{"key": "city", "type": "person", "value": "Oslo"}]}}},
		{"name": "Locals", "filters": {"properties": {"type": "OR", "values": [{"key": "name", "type": "cohort", "value": "Oslo"}, {"key": "city", "type": "person", "value": "Bergen"}]}}}
	],
	"flags": [
		{"key": "parent", "active": true, "filters": {"groups": [{"properties": [{"key": "name", "type": "cohort", "operator": "in", "value": "Locals"}]}]}},
		{"key": "child", "active": true, "filters": {"groups": [{"properties": [{"key": "parent", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
		{"key": "text", "active": true, "filters": {"groups": [{"properties": [{"key": "name", "type": "person", "value": {"type": "cohort", "key": "name", "value": "Oslo"}}]}]}}
	]
}`

// In flags as code there are no ids: references to cohorts are by name and to flags by key
// (decision 27).
func TestDecision_27_Read(t *testing.T) {
	d, err := flags.ParseDefinitions([]byte(asCode))
	if err != nil {
		t.Fatal(err)
	}
	set := flags.Compile(d)
	if faults := set.Faults(); len(faults) > 0 {
		t.Fatal(faults[0])
	}
	for city, want := range map[string][]string{"Oslo": {"child", "parent"}, "Bergen": {"child", "parent"}, "Rome": nil} {
		var out flags.Decisions
		set.Evaluate(&flags.Subject{DistinctID: "u", Person: flags.Properties{"city": city}}, testAt, &out)
		var on []string
		for _, decision := range out.List {
			if decision.Enabled {
				on = append(on, decision.Key)
			}
		}
		if slices.Sort(on); !slices.Equal(on, want) {
			t.Errorf("%s: %v are on, want %v", city, on, want)
		}
	}
}

// An unknown name is a fault of the flag that refers to it, with its path; all other flags
// are decided.
func TestDecision_27_UnknownNames(t *testing.T) {
	text := strings.Replace(strings.Replace(asCode, `"value": "Locals"`, `"value": "Strangers"`, 1), `"key": "parent", "type": "flag"`, `"key": "nobody", "type": "flag"`, 1)
	d, err := flags.ParseDefinitions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, fault := range flags.Compile(d).Faults() {
		at = append(at, fault.Flag+" "+fault.Path)
	}
	want := []string{"parent flags[0].filters.groups[0].properties[0].value", "child flags[1].filters.groups[0].properties[0]"}
	if !slices.Equal(at, want) {
		t.Errorf("faults at %q, want %q", at, want)
	}
}
