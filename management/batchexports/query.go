package batchexports

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// maxExportQuery is the greatest length of a query, in characters.
const maxExportQuery = 10_000

// exportQuery is the stored form of a hogql_query. Of HogQL, only the selection of columns and
// properties is supported.
type exportQuery struct {
	// Fields are the selected expressions. Values is always empty, and exists for clients that
	// expect it. Text is the query on one line.
	Fields []exportQueryField  `json:"fields"`
	Values map[string]struct{} `json:"values"`
	Text   string              `json:"hogql_query"`
}

// exportQueryField is a selected expression, which is a column or a property, with its name in the
// rows.
type exportQueryField struct {
	Expression string `json:"expression"`
	Alias      string `json:"alias"`
}

// queryWords finds words that have a message of their own, and queryNames the names in which these
// words are no keywords: members and aliases. queryShape splits a query into the selected
// expressions, the table and the rest. queryField matches an expression with an optional alias.
var (
	queryWords = regexp.MustCompile(`(?i)\b(union|join)\b`)
	queryNames = regexp.MustCompile(`(?i)\.[\w$]+|\bas\s+[\w$]+`)
	queryShape = regexp.MustCompile(`(?is)^\s*select\s+(.+?)\s+from\s+(\S+?)\s*(;|\s.*)?$`)
	queryField = regexp.MustCompile(`(?is)^([a-z_$][\w$]*(?:\.[a-z_$][\w$]*)*)(?:\s+as\s+([a-z_$][\w$]*))?$`)
)

// readExportQuery parses a query, and returns an error for queries that are not supported.
func readExportQuery(text string) (*exportQuery, error) {
	bad := func(format string, args ...any) error { return management.Fault("hogql_query", format, args...) }
	if word := strings.ToUpper(queryWords.FindString(queryNames.ReplaceAllString(text, ""))); word != "" {
		return nil, bad("%ss are not supported", word)
	}
	if first := strings.Fields(text); len(first) < 2 || !strings.EqualFold(first[0], "select") {
		return nil, bad("Failed to parse query")
	}
	parts := queryShape.FindStringSubmatch(text)
	if parts == nil {
		return nil, bad("Query must SELECT FROM events")
	}
	table, rest := strings.TrimSuffix(parts[2], ";"), strings.Trim(parts[3], "; \t\r\n")
	switch {
	case strings.Contains(parts[2], ",") || strings.HasPrefix(rest, ","):
		return nil, bad("Query must only SELECT FROM events")
	case !strings.EqualFold(table, modelEvents):
		return nil, bad("Query must SELECT FROM events")
	case rest != "":
		return nil, bad("Invalid HogQL query: clauses after FROM events are not supported, use filters")
	}
	q := &exportQuery{Values: map[string]struct{}{}, Text: strings.Join(strings.Fields(text), " ")} // on one line (spec/clients.md §16)
	seen := map[string]bool{}
	for item := range strings.SplitSeq(parts[1], ",") {
		item = strings.TrimSpace(item)
		if item == "*" {
			for _, c := range exportColumns[modelEvents] {
				q.Fields = append(q.Fields, exportQueryField{c.Name, c.Name})
			}
			continue
		}
		m := queryField.FindStringSubmatch(item)
		if m == nil {
			return nil, bad("Invalid HogQL query: %q is not supported, only columns and properties are", item)
		}
		f := exportQueryField{m[1], m[2]}
		if _, ok := f.column(); !ok {
			return nil, bad("Invalid HogQL query: there is no column %q", f.Expression)
		}
		if f.Alias == "" {
			f.Alias = strings.ReplaceAll(f.Expression, ".", "_")
		}
		q.Fields = append(q.Fields, f)
	}
	for _, f := range q.Fields {
		if seen[f.Alias] {
			return nil, bad("Invalid HogQL query: two columns have the name %q", f.Alias)
		}
		seen[f.Alias] = true
	}
	return q, nil
}

// The prefixes of expressions that are properties of the event or of its person.
const (
	eventPrefix  = "properties."
	personPrefix = "person.properties."
)

// column returns the type of an expression, and false if the expression is not supported.
// Properties are strings: JSON strings become their value, and other values their JSON.
func (f *exportQueryField) column() (ColumnType, bool) {
	if strings.HasPrefix(f.Expression, eventPrefix) || strings.HasPrefix(f.Expression, personPrefix) {
		return TextColumn, true
	}
	for _, c := range exportColumns[modelEvents] {
		if c.Name == f.Expression {
			return c.Type, true
		}
	}
	return 0, false
}

// query returns the query of an export, or nil if it has none.
func (e *exportRecord) query() *exportQuery {
	var q *exportQuery
	_ = json.Unmarshal(e.Schema, &q) // stored by set
	return q
}

// columns returns the columns that the query selects.
func (q *exportQuery) columns() []Column {
	out := make([]Column, len(q.Fields))
	for i := range q.Fields {
		kind, _ := q.Fields[i].column()
		out[i] = Column{q.Fields[i].Alias, kind}
	}
	return out
}

// keyAliases returns the names with which the query selects the columns of key. Columns that it
// does not select are omitted.
func (q *exportQuery) keyAliases(key []string) (out []string) {
	for _, name := range key {
		if i := slices.IndexFunc(q.Fields, func(f exportQueryField) bool { return f.Expression == name }); i >= 0 {
			out = append(out, q.Fields[i].Alias)
		}
	}
	return out
}

// row appends the selected values of an event to row. Properties are parsed at most once for
// each event.
func (q *exportQuery) row(row []any, team int64, e *Event) ([]any, error) {
	var event, person map[string]json.RawMessage
	property := func(parsed *map[string]json.RawMessage, text, name string) (any, error) {
		if *parsed == nil {
			if err := json.Unmarshal(objectOf(text), parsed); err != nil {
				return nil, fmt.Errorf("the properties of event %s: %w", e.UUID, err)
			}
		}
		raw, present := (*parsed)[name]
		var value string
		if !present || management.JSONKind(raw) == "NoneType" {
			return nil, nil
		}
		if json.Unmarshal(raw, &value) != nil {
			value = string(raw)
		}
		return value, nil
	}
	for i := range q.Fields {
		var value any
		var err error
		x := q.Fields[i].Expression
		if name, ok := strings.CutPrefix(x, personPrefix); ok {
			value, err = property(&person, e.PersonProperties, name)
		} else if name, ok := strings.CutPrefix(x, eventPrefix); ok {
			value, err = property(&event, e.Properties, name)
		} else {
			value, err = eventColumn(x, team, e)
		}
		if err != nil {
			return row, err
		}
		row = append(row, value)
	}
	return row, nil
}

// eventColumn returns the value of a column of an event.
func eventColumn(name string, team int64, e *Event) (any, error) {
	switch name {
	case "uuid":
		return e.UUID, nil
	case "team_id":
		return team, nil
	case "timestamp":
		return e.Timestamp, nil
	case "created_at":
		return e.CreatedAt, nil
	case "event":
		return e.Name, nil
	case "distinct_id":
		return e.DistinctID, nil
	case "properties":
		return objectOf(e.Properties), nil
	case "elements_chain":
		return e.ElementsChain, nil
	case "person_id":
		return e.PersonID, nil
	case "person_properties":
		return objectOf(e.PersonProperties), nil
	}
	set, once, err := setsOf(e.Properties)
	if name == "set_once" {
		return once, err
	}
	return set, err
}
