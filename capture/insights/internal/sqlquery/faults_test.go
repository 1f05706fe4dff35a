package sqlquery

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
)

// Each fault of a query for rows has the code and the place of insights.md §1.7; bounds are those of
// §2.9.1 and §5.4.
func TestRows_Faults(t *testing.T) {
	t.Parallel()
	list := func(one string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]"
	}
	events := func(members string) string { return `{"kind": "EventsQuery"` + members + `}` }
	actors := func(members string) string { return `{"kind": "ActorsQuery"` + members + `}` }
	metadata := func(members string) string { return `{"kind": "HogQLMetadata"` + members + `}` }
	const trend = `{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "view"}]}`
	rowsSuite().CheckFaults(t, []querytest.Fault{
		{"50 columns", events(`, "select": ` + list(`"event"`, 50)), "", "", ""},
		{"51 columns", events(`, "select": ` + list(`"event"`, 51)), document.TooLarge, "select", "51"},
		{"a column that is no text", events(`, "select": ["event", 1]`), document.InvalidInput, "select__1", ""},
		{"a column of a table", events(`, "select": ["event", "frob"]`), "unknown_field", "select__1", `"frob"`},
		{"an unknown function", events(`, "select": ["frob()"]`), "unknown_function", "select__0", "column 1"},
		{"half an expression", events(`, "select": ["event", "1 +"]`), "syntax_error", "select__1", "end of query"},
		{"a special column in an expression", events(`, "where": ["person_display_name = 1"]`), "type_error", "where__0", ""},
		{"51 conditions", events(`, "where": ` + list(`"true"`, 51)), document.TooLarge, "where", ""},
		{"the second condition", events(`, "where": ["true", "frob"]`), "unknown_field", "where__1", ""},
		{"an order", events(`, "orderBy": ["timestamp", "frob DESC"]`), "unknown_field", "orderBy__1", ""},
		{"a direction", events(`, "orderBy": ["timestamp SIDEWAYS"]`), "syntax_error", "orderBy__0", ""},
		{"a place in a list of columns that it has not", events(`, "select": ["event"], "orderBy": ["2"]`), "type_error", "orderBy__0", ""},
		{"no rows", events(`, "limit": 0`), document.InvalidInput, "limit", ""},
		{"50,000 rows", events(`, "limit": 50000`), "", "", ""},
		{"50,001 rows", events(`, "limit": 50001`), document.InvalidInput, "limit", "50000"},
		{"half a row", events(`, "limit": 1.5`), document.InvalidInput, "limit", ""},
		{"a negative offset", events(`, "offset": -1`), document.InvalidInput, "offset", ""},
		{"after", events(`, "after": "soon"`), document.InvalidInput, "after", "soon"},
		{"before of all time", events(`, "before": "all"`), document.InvalidInput, "before", ""},
		{"a filter", events(`, "properties": [{"key": "a", "value": 1, "operator": "near"}]`), document.InvalidChoice, "properties__0__operator", ""},
		{"a fixed filter", events(`, "fixedProperties": [{"key": "a", "value": 1, "operator": "near"}]`), document.InvalidChoice, "fixedProperties__0__operator", ""},
		{"a name that is a number", events(`, "event": 5`), document.InvalidInput, "event", ""},
		{"names that are a text", events(`, "events": "view"`), document.InvalidInput, "events", ""},
		{"a person that is a list", events(`, "personId": []`), document.InvalidInput, "personId", ""},
		{"a trend without a point", events(`, "source": ` + trend), document.NotSupported, "source", "InsightActorsQuery over a TrendsQuery"},
		{"the point of a trend has no day", events(`, "source": {"kind": "InsightActorsQuery", "source": ` + trend + `}`), document.Required, "source__day", ""},

		{"no query", `{"kind": "HogQLQuery"}`, document.Required, "query", ""},
		{"a query that is a number", `{"kind": "HogQLQuery", "query": 1}`, document.InvalidInput, "query", ""},
		{"no value of a placeholder", hogqlOf("SELECT {x}", ""), "unknown_field", "query", "x"},
		{"a value that is an object", hogqlOf("SELECT {x}", `, "values": {"x": {}}`), "type_error", "query", "x"},
		{"no variable", hogqlOf("SELECT {variables.x}", `, "variables": {}`), "unknown_field", "query", "x"},
		{"the id of a variable is not its name", hogqlOf("SELECT {variables.x}", `, "variables": {"x": {"code_name": "y", "value": 1}}`), "unknown_field", "query", "x"},
		{"values that are a list", hogqlOf("SELECT 1", `, "values": []`), document.InvalidInput, "values", ""},
		{"a variable that is a number", hogqlOf("SELECT 1", `, "variables": {"x": 1}`), document.InvalidInput, "variables__x", ""},
		{"an unknown table", hogqlOf("SELECT 1 FROM sessions", ""), "unknown_table", "query", `"sessions"`},
		{"two queries", hogqlOf("SELECT 1 UNION ALL SELECT 2", ""), "not_supported", "query", "UNION"},
		{"50,000 rows of HogQL", hogqlOf("SELECT 1 FROM events LIMIT 50000", ""), "", "", ""},
		{"filters that are a list", hogqlOf("SELECT 1", `, "filters": []`), document.InvalidInput, "filters", ""},
		{"a date of filters", hogqlOf("SELECT 1", `, "filters": {"dateRange": {"date_to": "soon"}}`), document.InvalidInput, "filters__dateRange__date_to", ""},
		{"a filter of events on persons", hogqlOf("SELECT 1 FROM persons", `, "filters": {"properties": [{"key": "a", "value": 1}]}`), document.NotSupported, "filters__properties", ""},
		{"a filter of persons on groups", hogqlOf("SELECT 1 FROM groups", `, "filters": {"properties": [{"type": "person", "key": "a", "value": 1}]}`), document.NotSupported, "filters__properties", ""},
		{"the fields of another table", hogqlOf("SELECT event FROM persons", ""), "unknown_field", "query", `"event"`},

		{"metadata without a query", metadata(""), document.Required, "query", ""},
		{"another language", metadata(`, "query": "1", "language": "hogTemplate"`), document.NotSupported, "language", "hogTemplate"},
		{"another member of metadata", metadata(`, "query": "SELECT frob", "values": []`), document.InvalidInput, "values", ""},

		{"51 columns of actors", actors(`, "select": ` + list(`"id"`, 51)), document.TooLarge, "select", ""},
		{"half an expression of actors", actors(`, "select": ["id", "1 +"]`), "syntax_error", "select__1", ""},
		{"half an order of actors", actors(`, "orderBy": ["1 +"]`), "syntax_error", "orderBy__0", ""},
		{"50,001 actors", actors(`, "limit": 50001`), document.InvalidInput, "limit", ""},
		{"a filter of events on actors", actors(`, "properties": [{"key": "a", "value": 1}]`), document.NotSupported, "properties", ""},
		{"a search for a number", actors(`, "search": 5`), document.InvalidInput, "search", ""},
		{"a source that is no query", actors(`, "source": "x"`), document.InvalidInput, "source", ""},
		{"a source of another kind", actors(`, "source": ` + trend), document.InvalidInput, "source__kind", "InsightActorsQuery"},
		{"a source without a source", actors(`, "source": {"kind": "InsightActorsQuery"}`), document.Required, "source__source", ""},
		{"a source of an unknown kind", actors(`, "source": {"kind": "InsightActorsQuery", "source": {"kind": "PathsQuery"}}`), document.InvalidInput, "source__source__kind", "PathsQuery"},
		{"a source that has no actors", actors(`, "source": {"kind": "InsightActorsQuery", "source": {"kind": "EventsQuery"}}`), document.NotSupported, "source__source__kind", "EventsQuery"},
		{"a fault of the HogQL of a source", actors(`, "source": {"kind": "HogQLQuery", "query": "SELECT frob"}`), "unknown_field", "source__query", ""},
		{"an unknown cohort", `{"kind": "PersonsNode", "cohort": 9}`, document.InvalidInput, "cohort", "9"},
		{"options without a source", `{"kind": "InsightActorsQueryOptions"}`, document.Required, "source", ""},
		{"options of rows", `{"kind": "InsightActorsQueryOptions", "source": {"kind": "EventsQuery"}}`, document.NotSupported, "source__kind", "EventsQuery"},
		{"options of an actors query of rows", `{"kind": "InsightActorsQueryOptions", "source": {"kind": "InsightActorsQuery", "source": {"kind": "EventsQuery"}}}`, document.NotSupported, "source__source__kind", "EventsQuery"},
	})
}
