package filter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// matching is a query for the tests: the distinct ids of the events that pass its filters and belong
// to its node, in order.
type matching struct {
	conditions AllOf
	node       Entity
}

var matchingKind = scan.Kind{Name: "Matching", Parse: func(n document.Node, p *port.Project) scan.Plan {
	m := &matching{conditions: ReadAll(n, p), node: Entity{Project: p}}
	if node := n.Get("node"); !node.IsAbsent() {
		m.node = ReadEntity(node, p)
	}
	return m
}}

func (m *matching) Run(r *scan.Run) (*port.Result, error) {
	b := &scan.Binder{Run: r, From: 0, To: querytest.Now.UnixMicro()}
	b.Needs.Columns |= port.DistinctIDs
	holds, node := m.conditions.Bind(b), m.node.Bind(b)
	var found []string
	err := b.ScanBound(port.Scan{From: b.From, To: b.To}, func(row *scan.Row) error {
		if holds(row) && node.Matches(row) {
			found = append(found, strings.Clone(row.Batch.DistinctID[row.Index]))
		}
		return nil
	})
	return &port.Result{Results: strings.Join(found, "")}, err
}

// filterSuite runs filters in a project with two group types, an action, and a filter of test
// accounts.
func filterSuite() *querytest.Suite {
	return &querytest.Suite{Kinds: []scan.Kind{matchingKind}, Project: port.Project{
		GroupTypes:         []string{"company", "team"},
		TestAccountFilters: json.RawMessage(`[{"key": "plan", "value": "free", "operator": "is_not"}]`),
		PathCleaning:       json.RawMessage(`[{"regex": "/[0-9]+", "alias": "/<id>"}]`),
		Actions: map[int64]port.Action{
			1: {Name: "Paid", Steps: json.RawMessage(`[{"event": "buy", "properties": [{"key": "plan", "value": "pro"}]}, {"event": "view", "url": "/b", "url_matching": "contains"}]`)},
			2: {Name: "Everything", Steps: json.RawMessage(`[]`)},
			3: {Name: "One URL", Steps: json.RawMessage(`[{"url": "https://s.io/a/1", "url_matching": "exact"}]`)},
			4: {Name: "URLs", Steps: json.RawMessage(`[{"url": "/[ab]/", "url_matching": "regex"}]`)},
		},
	}}
}

// filtered are four events: two of purchases and two of views, each of a person of its own.
func filtered(t *testing.T) *querytest.Store {
	properties, err := capture.ParseObject(`{"size": 10, "name": "Acme"}`)
	if err != nil {
		t.Fatal(err)
	}
	store := querytest.Events(`[
		["buy", "a", "2020-01-10T10:00:00Z", {"plan": "pro", "n": 10, "text": "10", "tags": ["x", "y"], "$current_url": "https://s.io/a/1", "$group_0": "acme", "$session_id": "s1"}, {"email": "a@acme.com", "age": 30}],
		["buy", "b", "2020-01-10T11:00:00Z", {"plan": "free", "n": 2.5, "yes": true, "none": null, "empty": "", "$current_url": "https://s.io/b/22"}, {"email": "b@other.com"}],
		["view", "c", "2020-01-11T10:00:00Z", {"plan": "Pro", "n": "x", "when": "2020-01-05", "$current_url": "https://s.io/b/2", "$session_id": "s2"}, {"age": 40}],
		["view", "d", "2020-01-11T10:00:10Z", {"when": "2020-01-06T10:00:00Z", "$feature/page": "test", "$session_id": "s2"}]]`)
	store.Groups = map[int][]capture.Group{0: {{GroupID: capture.GroupID{Key: "acme"}, Properties: properties}}}
	return store
}

// Filters of insights.md §3.2, with operators as in flags (decision 40). The answer has the letters of the events that pass.
func TestFilter_Results(t *testing.T) {
	one := func(key, operator, value string) string {
		return fmt.Sprintf(`{"key": %q, "operator": %q, "value": %s}`, key, operator, value)
	}
	typed := func(kind, key, operator, value string) string {
		return fmt.Sprintf(`{"type": %q, "key": %q, "operator": %q, "value": %s}`, kind, key, operator, value)
	}
	for _, c := range []struct{ of, filters, want string }{
		{"no filters", `[]`, "abcd"},
		{"an empty filter", `[{}]`, "abcd"},
		{"a filter of type empty", `[{"type": "empty"}]`, "abcd"},
		{"a list is AND", `[` + one("plan", "exact", `"pro"`) + `, ` + one("n", "gt", "5") + `]`, "a"},
		{"a tree of OR", `{"type": "OR", "values": [` + one("plan", "exact", `"pro"`) + `, ` + one("plan", "exact", `"free"`) + `]}`, "ab"},
		{"a tree in a tree", `{"type": "AND", "values": [{"type": "OR", "values": [` + one("plan", "exact", `"pro"`) + `, ` + one("plan", "exact", `"free"`) + `]}, ` + one("n", "lt", "5") + `]}`, "b"},
		{"an empty OR", `{"type": "OR", "values": []}`, "abcd"},
		{"exact is case-sensitive", `[` + one("plan", "exact", `"pro"`) + `]`, "a"},
		{"exact is the default", `[{"key": "plan", "value": "pro"}]`, "a"},
		{"exact of a list: any", `[` + one("plan", "exact", `["pro", "Pro"]`) + `]`, "ac"},
		{"exact of an empty list", `[` + one("plan", "exact", `[]`) + `]`, "abcd"},
		{"exact of a number and its text", `[` + one("text", "exact", "10") + `]`, "a"},
		{"exact of a text and a number", `[` + one("n", "exact", `"10.0"`) + `]`, "a"},
		{"exact of a boolean", `[` + one("yes", "exact", `"true"`) + `]`, "b"},
		{"is_not holds for what is missing", `[` + one("yes", "is_not", "true") + `]`, "acd"},
		{"is_not of a list", `[` + one("plan", "is_not", `["pro", "free"]`) + `]`, "cd"},
		{"not_in is is_not", `[` + one("plan", "not_in", `["pro", "free"]`) + `]`, "cd"},
		{"in is exact", `[` + one("plan", "in", `["pro", "free"]`) + `]`, "ab"},
		{"icontains", `[` + one("plan", "icontains", `"PR"`) + `]`, "ac"},
		{"a percent sign is plain", `[` + one("plan", "icontains", `"p%"`) + `]`, ""},
		{"not_icontains holds for what is missing", `[` + one("plan", "not_icontains", `"pr"`) + `]`, "bd"},
		{"starts_with", `[` + one("plan", "starts_with", `"P"`) + `]`, "ac"},
		{"ends_with", `[` + one("plan", "ends_with", `"EE"`) + `]`, "b"},
		{"not_starts_with", `[` + one("plan", "not_starts_with", `"p"`) + `]`, "bd"},
		{"regex is case-sensitive", `[` + one("plan", "regex", `"^p"`) + `]`, "a"},
		{"not_regex holds for what is missing", `[` + one("plan", "not_regex", `"^p"`) + `]`, "bcd"},
		{"gt", `[` + one("n", "gt", "2.5") + `]`, "a"},
		{"gte", `[` + one("n", "gte", "2.5") + `]`, "ab"},
		{"lt of a word is false", `[` + one("n", "lt", "1000") + `]`, "ab"},
		{"lte with a text", `[` + one("n", "lte", `"2.5"`) + `]`, "b"},
		{"min is gte", `[` + one("n", "min", "10") + `]`, "a"},
		{"max is lte", `[` + one("n", "max", "2.5") + `]`, "b"},
		{"between contains its ends", `[` + one("n", "between", "[2.5, 9]") + `]`, "b"},
		{"not_between holds for what is missing (decision 40)", `[` + one("n", "not_between", "[2.5, 9]") + `]`, "acd"},
		{"is_set of the empty text", `[` + one("empty", "is_set", `"is_set"`) + `]`, "b"},
		{"null is set (decision 40)", `[` + one("none", "is_set", `"is_set"`) + `]`, "b"},
		{"is_not_set", `[` + one("none", "is_not_set", `"is_not_set"`) + `]`, "acd"},
		{"is_date_before", `[` + one("when", "is_date_before", `"2020-01-06"`) + `]`, "c"},
		{"is_date_after", `[` + one("when", "is_date_after", `"2020-01-05"`) + `]`, "d"},
		{"is_date_exact", `[` + one("when", "is_date_exact", `"2020-01-05"`) + `]`, "c"},
		{"is_cleaned_path_exact", `[` + one("$current_url", "is_cleaned_path_exact", `"https://s.io/b/7"`) + `]`, "bc"},
		{"a person's property", `[` + typed("person", "email", "icontains", `"acme"`) + `]`, "a"},
		{"a person's number", `[` + typed("person", "age", "gte", "40") + `]`, "c"},
		{"a person's property that is missing", `[` + typed("person", "age", "is_not", "30") + `]`, "bcd"},
		{"a group's property", `[{"type": "group", "group_type_index": 0, "key": "size", "operator": "gt", "value": 5}]`, "a"},
		{"a group that is missing", `[{"type": "group", "group_type_index": 1, "key": "size", "operator": "is_not", "value": 5}]`, "abcd"},
		{"a flag's value", `[` + typed("feature", "$feature/page", "exact", `"test"`) + `]`, "d"},
		{"a column", `[` + typed("event_metadata", "event", "exact", `"view"`) + `]`, "cd"},
		{"the distinct id", `[` + typed("event_metadata", "distinct_id", "exact", `["a", "d"]`) + `]`, "ad"},
		{"the group's key", `[` + typed("event_metadata", "$group_0", "exact", `"acme"`) + `]`, "a"},
		{"the length of a session", `[` + typed("session", "$session_duration", "gte", "10") + `]`, "cd"},
		{"the first URL of a session", `[` + typed("session", "$entry_current_url", "exact", `"https://s.io/b/2"`) + `]`, "cd"},
		{"an expression", `[{"type": "hogql", "key": "properties.n > 5 OR event = 'view'"}]`, "acd"},
		{"an expression that is null", `[{"type": "hogql", "key": "properties.none + 1 > 0"}]`, ""},
	} {
		if got := filterSuite().Results(t, filtered(t), `{"kind": "Matching", "properties": `+c.filters+`}`); got != c.want {
			t.Errorf("%s: got %v, want %s", c.of, got, c.want)
		}
	}
	if got := filterSuite().Results(t, filtered(t), `{"kind": "Matching", "filterTestAccounts": true}`); got != "acd" {
		t.Errorf("test accounts: got %v, want acd", got)
	}
}

// Nodes of §2.2 and actions of §2.3.
func TestFilter_Nodes(t *testing.T) {
	for _, c := range []struct{ of, node, want string }{
		{"an event", `{"kind": "EventsNode", "event": "buy"}`, "ab"},
		{"every event", `{"kind": "EventsNode", "event": null}`, "abcd"},
		{"no event of this name", `{"kind": "EventsNode", "event": "Buy"}`, ""},
		{"filters and fixed filters", `{"kind": "EventsNode", "event": "buy", "properties": [{"key": "n", "operator": "gt", "value": 1}], "fixedProperties": [{"key": "plan", "value": "free"}]}`, "b"},
		{"an action: one step must hold", `{"kind": "ActionsNode", "id": 1}`, "ac"},
		{"an action with a filter of its own", `{"kind": "ActionsNode", "id": 1, "properties": [{"key": "plan", "value": "Pro"}]}`, "c"},
		{"an action without steps is every event", `{"kind": "ActionsNode", "id": 2}`, "abcd"},
		{"an exact URL", `{"kind": "ActionsNode", "id": 3}`, "a"},
		{"a pattern of URLs", `{"kind": "ActionsNode", "id": 4}`, "abc"},
	} {
		if got := filterSuite().Results(t, filtered(t), `{"kind": "Matching", "node": `+c.node+`}`); got != c.want {
			t.Errorf("%s: got %v, want %s", c.of, got, c.want)
		}
	}
	if _, err := filterSuite().Run(t, filtered(t), `{"kind": "Matching", "node": {"kind": "ActionsNode", "id": 9}}`, port.Options{}); err == nil || !strings.Contains(err.Error(), "Action 9 does not exist") {
		t.Errorf("an unknown action: got %v, want an error", err)
	}
}

// Each fault of a filter has the code and the place of insights.md §1.7 and §3.2.
func TestFilter_Faults(t *testing.T) {
	nested := func(depth int) string {
		return strings.Repeat(`{"type": "AND", "values": [`, depth) + strings.Repeat(`]}`, depth)
	}
	many := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"key": "a", "value": 1},`, n), ",") + "]"
	}
	one := func(members string) string { return `[{"key": "a", ` + members + `}]` }
	rows := []querytest.Fault{
		{Of: "filters that are a text", Query: `"a"`, Code: document.InvalidInput, Attr: "properties", Detail: `not "a"`},
		{Of: "a filter that is a number", Query: `[5]`, Code: document.InvalidInput, Attr: "properties__0"},
		{Of: "a tree of another type", Query: `{"type": "XOR", "values": []}`, Code: document.InvalidChoice, Attr: "properties__type"},
		{Of: "10 levels", Query: nested(10)},
		{Of: "11 levels", Query: nested(11), Code: document.TooLarge, Attr: "properties" + strings.Repeat("__values__0", 10) + "__values"},
		{Of: "200 filters", Query: many(200)},
		{Of: "201 filters", Query: many(201), Code: document.TooLarge, Attr: "properties"},
		{Of: "a type that is not supported", Query: one(`"type": "behavioral", "value": 1`), Code: document.NotSupported, Attr: "properties__0__type", Detail: "behavioral"},
		{Of: "flags", Query: one(`"type": "flag", "value": 1`), Code: document.NotSupported, Attr: "properties__0__type", Detail: "flag"},
		{Of: "a type that is a number", Query: one(`"type": 5, "value": 1`), Code: document.InvalidInput, Attr: "properties__0__type"},
		{Of: "an unknown operator", Query: one(`"operator": "near", "value": 1`), Code: document.InvalidChoice, Attr: "properties__0__operator", Detail: "near"},
		{Of: "no value", Query: one(`"operator": "exact"`), Code: document.Required, Attr: "properties__0__value"},
		{Of: "is_set needs no value", Query: one(`"operator": "is_set"`)},
		{Of: "a range of one number", Query: one(`"operator": "between", "value": [1]`), Code: document.InvalidInput, Attr: "properties__0__value"},
		{Of: "a range that ends before it begins", Query: one(`"operator": "between", "value": [2, 1]`), Code: document.InvalidInput, Attr: "properties__0__value"},
		{Of: "a range of one point", Query: one(`"operator": "between", "value": [1, 1]`)},
		{Of: "two numbers to compare with", Query: one(`"operator": "gt", "value": [1, 2]`), Code: document.InvalidInput, Attr: "properties__0__value"},
		{Of: "one number in a list", Query: one(`"operator": "gt", "value": [1]`)},
		{Of: "a pattern that is none", Query: one(`"operator": "regex", "value": "("`), Code: document.InvalidInput, Attr: "properties__0__value"},
		{Of: "a pattern of 1,000 bytes", Query: one(`"operator": "regex", "value": "` + strings.Repeat("a", 1000) + `"`)},
		{Of: "a pattern of 1,001 bytes", Query: one(`"operator": "regex", "value": "` + strings.Repeat("a", 1001) + `"`), Code: document.TooLarge, Attr: "properties__0__value"},
		{Of: "a date that is none", Query: one(`"operator": "is_date_before", "value": "soon"`), Code: document.InvalidInput, Attr: "properties__0__value"},
		{Of: "a group without an index", Query: one(`"type": "group", "value": 1`), Code: document.Required, Attr: "properties__0__group_type_index"},
		{Of: "an index beyond", Query: one(`"type": "group", "group_type_index": 5, "value": 1`), Code: document.InvalidInput, Attr: "properties__0__group_type_index"},
		{Of: "an unknown cohort", Query: `[{"type": "cohort", "key": "id", "value": 7}]`, Code: document.InvalidInput, Attr: "properties__0__value", Detail: "7"},
		{Of: "an unknown column", Query: `[{"type": "event_metadata", "key": "secret", "value": 1}]`, Code: document.InvalidInput, Attr: "properties__0__key", Detail: "secret"},
		{Of: "an unknown member of a session", Query: `[{"type": "session", "key": "$channel_type", "value": 1}]`, Code: document.NotSupported, Attr: "properties__0__key", Detail: "$channel_type"},
		{Of: "an expression with an aggregate", Query: `[{"type": "hogql", "key": "count() > 1"}]`, Code: "type_error", Attr: "properties__0__key", Detail: "column 1"},
		{Of: "an expression of an unknown field", Query: `[{"type": "hogql", "key": "1 = secret"}]`, Code: "unknown_field", Attr: "properties__0__key", Detail: "column 5"},
	}
	for i := range rows {
		rows[i].Query = `{"kind": "Matching", "properties": ` + rows[i].Query + `}`
	}
	filterSuite().CheckFaults(t, rows)
}
