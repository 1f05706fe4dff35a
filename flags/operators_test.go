package flags_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the cases, on every machine

	"github.com/dlclark/regexp2/v2"

	"github.com/bunting-flags/bunting/flags"
)

// operatorCase is one line of testdata/operators/<operator>.json: a filter, a property, and
// the expected result.
type operatorCase struct {
	Clause string `json:"clause"`
	Source string `json:"source"`
	// Type and Key are those of the filter. If absent, it is the person's property p. For a
	// cohort or a flag, Property is the person's property p.
	Type flags.PropertyType `json:"type"`
	Key  *string            `json:"key"`
	// Value and Property are nil if they are absent; null is not absent.
	Value           json.RawMessage `json:"value"`
	Property        json.RawMessage `json:"property"`
	MatchingVersion int             `json:"matching_version"`
	Timezone        string          `json:"timezone"`
	At              time.Time       `json:"at"`
	Match           *bool           `json:"match"`
	Note            string          `json:"note"`
}

const operatorsFolder = "../testdata/operators"

// usualTime is the time of evaluation of cases without a time.
var usualTime = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func readOperatorCases(t testing.TB, op flags.Operator) []operatorCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(operatorsFolder, string(op)+".json"))
	if err != nil {
		t.Fatalf("operator %s has no file of cases: %v", op, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var cases []operatorCase
	if err := dec.Decode(&cases); err != nil {
		t.Fatalf("%s.json: %v", op, err)
	}
	for i := range cases {
		c := &cases[i]
		if c.Match == nil || c.Clause == "" || c.Source == "" {
			t.Fatalf("%s.json: case %d says no match, clause or source", op, i)
		}
		if c.Type == "" {
			c.Type = flags.PersonProperty
		}
		if c.Key == nil {
			p := "p"
			c.Key = &p
		}
		if c.At.IsZero() {
			c.At = usualTime
		}
	}
	return cases
}

func (c *operatorCase) String() string {
	show := func(raw json.RawMessage) string {
		if raw == nil {
			return "absent"
		}
		return string(raw)
	}
	s := fmt.Sprintf("%s %s: value %s, property %s", c.Clause, c.Type, show(c.Value), show(c.Property))
	if c.MatchingVersion != 0 || c.Timezone != "" || !c.At.Equal(usualTime) {
		s += fmt.Sprintf(", matching version %d, zone %q, at %s", c.MatchingVersion, c.Timezone, c.At.Format(time.RFC3339))
	}
	return s + " (" + c.Source + "; " + c.Note + ")"
}

// filter returns the case's filter in the form of a definition, without an operator if op is
// empty.
func (c *operatorCase) filter(op flags.Operator) map[string]any {
	f := map[string]any{"key": *c.Key, "type": c.Type}
	if op != "" {
		f["operator"] = op
	}
	if c.Value != nil {
		f["value"] = c.Value
	}
	if c.Type == flags.GroupProperty {
		f["group_type_index"] = 0
	}
	return f
}

// surroundings are the cohorts and flags that filters of the cases refer to: cohort 1
// contains persons with p "in", 2 is a list with the person, 3 a list without, 4 is empty, 5
// contains persons who are not in 1, 6 is deleted. Flag 11 is on if p is "on", 12 then has
// the variant b, 13 is not active.
const surroundings = `{
	"flags": [
		{"id": 11, "key": "parent", "active": true, "filters": {"groups": [{"properties": [{"key": "p", "type": "person", "operator": "regex", "value": "^on$"}]}]}},
		{"id": 12, "key": "variants", "active": true, "filters": {"groups": [{"properties": [{"key": "p", "type": "person", "operator": "regex", "value": "^on$"}]}],
			"multivariate": {"variants": [{"key": "a", "rollout_percentage": 0}, {"key": "b", "rollout_percentage": 100}]}}},
		{"id": 13, "key": "inactive", "active": false, "filters": {"groups": [{}]}}
	],
	"group_type_mapping": {"0": "company"},
	"cohorts": {
		"1": {"type": "AND", "values": [{"key": "p", "type": "person", "operator": "exact", "value": "in"}]},
		"2": {"is_static": true, "members": ["somebody", "user-1"]},
		"3": {"is_static": true, "members": ["somebody"]},
		"4": {"id": 4, "filters": null},
		"5": {"type": "AND", "values": [{"key": "id", "type": "cohort", "operator": "not_in", "value": 1}]},
		"6": {"id": 6, "deleted": true, "filters": {"properties": {"type": "AND", "values": []}}}
	}
}`

// compile returns a set of flags, each with the one filter of its name.
func (c *operatorCase) compile(t testing.TB, filters map[string]map[string]any) *flags.Set {
	t.Helper()
	var doc map[string]any
	dec := json.NewDecoder(strings.NewReader(surroundings))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	list := doc["flags"].([]any)
	id := 1000
	for key, filter := range filters {
		id++
		list = append(list, map[string]any{
			"id": id, "key": key, "active": true,
			"filters": map[string]any{"groups": []any{map[string]any{"properties": []any{filter}}}},
		})
	}
	doc["flags"] = list
	doc["timezone"] = c.Timezone
	doc["property_matching_version"] = c.MatchingVersion
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	d, err := flags.ParseDefinitions(data)
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return flags.Compile(d)
}

// subject returns the person of the case. Numbers keep their form.
func (c *operatorCase) subject(t testing.TB) *flags.Subject {
	t.Helper()
	sub := &flags.Subject{DistinctID: "user-1"}
	if c.Type == flags.GroupProperty {
		sub.Groups = map[string]string{"company": "acme"}
	}
	if c.Property == nil {
		return sub
	}
	dec := json.NewDecoder(bytes.NewReader(c.Property))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	switch c.Type {
	case flags.GroupProperty:
		sub.GroupProperties = map[string]flags.Properties{"company": {*c.Key: v}}
	case flags.PersonMetadata:
		at, err := time.Parse(time.RFC3339Nano, v.(string))
		if err != nil {
			t.Fatal(err)
		}
		// A property of the same name has no effect (§1.4).
		sub.Person = flags.Properties{*c.Key: "1970-01-01"}
		sub.Stored = &flags.Stored{CreatedAt: at}
	case flags.CohortProperty, flags.FlagProperty:
		sub.Person = flags.Properties{"p": v}
	default:
		sub.Person = flags.Properties{*c.Key: v}
	}
	return sub
}

// decide evaluates one flag.
func decide(set *flags.Set, key string, sub *flags.Subject, now time.Time) bool {
	var out flags.Decisions
	set.Evaluate(sub, now, &out)
	d := out.Find(key)
	return d != nil && d.Enabled
}

// eachOperator runs f as a subtest for every operator, and stops the clock of regular
// expressions at the end.
func eachOperator(t *testing.T, f func(t *testing.T, op flags.Operator, cases []operatorCase)) {
	t.Helper()
	t.Cleanup(regexp2.StopTimeoutClock)
	for _, op := range flags.Operators() {
		t.Run(string(op.Name), func(t *testing.T) { f(t, op.Name, readOperatorCases(t, op.Name)) })
	}
}

// Each case names the source of its expected value.
func TestFlags_4_5_Operators(t *testing.T) {
	seen := map[string]bool{}
	eachOperator(t, func(t *testing.T, op flags.Operator, cases []operatorCase) {
		seen[string(op)+".json"] = true
		answers := map[bool]int{}
		for i := range cases {
			c := &cases[i]
			answers[*c.Match]++
			set := c.compile(t, map[string]map[string]any{"f": c.filter(op)})
			if got := decide(set, "f", c.subject(t), c.At); got != *c.Match {
				t.Errorf("got %v, want %v: %v", got, *c.Match, c)
			}
		}
		if answers[true] == 0 || answers[false] == 0 {
			t.Errorf("the cases should show matches and misses, they are %v", answers)
		}
	})
	files, err := os.ReadDir(operatorsFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !seen[file.Name()] {
			t.Errorf("%s is the file of no operator", file.Name())
		}
	}
}

// The default operator is exact, and "in" for cohorts; min and max are other names of gte and
// lte (§1.4).
func TestFlags_1_4_OperatorDefaultAndAliases(t *testing.T) {
	for _, name := range []struct{ written, meant flags.Operator }{{"", flags.Exact}, {"", flags.In}, {"min", flags.GreaterOrEqual}, {"max", flags.LessOrEqual}} {
		for _, c := range readOperatorCases(t, name.meant) {
			if (name.meant == flags.In) != (c.Type == flags.CohortProperty) {
				continue
			}
			if c.Type == flags.FlagProperty || name.meant == flags.Exact && c.Type == flags.CohortProperty {
				continue
			}
			set := c.compile(t, map[string]map[string]any{"f": c.filter(name.written)})
			if got := decide(set, "f", c.subject(t), c.At); got != *c.Match {
				t.Errorf("operator %q: got %v, want %v: %v", name.written, got, *c.Match, &c)
			}
		}
	}
}

// An unknown operator fails the flag (row 80 of §12.3).
func TestFlags_12_3_UnknownOperatorFailsTheFlag(t *testing.T) {
	c := operatorCase{Type: flags.PersonProperty, Key: new(string), Value: json.RawMessage(`"x"`)}
	for _, op := range []flags.Operator{"is_unknown", "Exact", "EXACT", " exact", "contains", "="} {
		set := c.compile(t, map[string]map[string]any{"f": c.filter(op), "good": {"key": "p", "type": "person", "operator": "is_not_set"}})
		var out flags.Decisions
		set.Evaluate(&flags.Subject{DistinctID: "u"}, usualTime, &out)
		if d := out.Find("f"); d == nil || !d.Failed() || d.Reason.Code != flags.FlagDataParsingError {
			t.Errorf("%q: got %+v, want a failed flag", op, d)
		}
		if !out.Errors || !out.Find("good").Enabled {
			t.Errorf("%q: the other flag should be decided, and errors be told", op)
		}
	}
}
