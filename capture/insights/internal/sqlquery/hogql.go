package sqlquery

import (
	"math"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// maxBody is the maximum size of a result in bytes (§5.4).
const maxBody = 32 << 20

// hogqlQuery is a HogQLQuery (§2.9.5).
type hogqlQuery struct {
	text      string
	statement *hogql.Statement
	// values are the placeholders of the query; variables are its variables by code_name.
	values    map[string]any
	variables map[string]any
	// filters are the conditions of {filters}; from and to are its time range, for events only.
	filters  filter.AllOf
	from, to calendar.Date
}

// parseHogQL parses a HogQLQuery and compiles it to report errors.
func parseHogQL(n document.Node, p *port.Project) scan.Plan {
	q := &hogqlQuery{text: n.Get("query").Text("")}
	if n.Get("query").IsAbsent() {
		n.Get("query").Fail(document.Required, "This field is required.")
	}
	if n.HasFailed() {
		return q
	}
	statement, err := hogql.ParseSelect(q.text)
	if err != nil {
		filter.Fail(n.Get("query"), err)
		return q
	}
	q.statement = statement
	q.read(n, p)
	// The time does not matter, because the compiled query is discarded.
	_, err = statement.Compile(hogqlScope(p, statement.Table), q.context(hogql.Context{Zone: p.Location, WeekStart: p.WeekStart, Now: time.Unix(0, 0)}))
	filter.Fail(n.Get("query"), err)
	return q
}

// read parses the members besides the text of the query.
func (q *hogqlQuery) read(n document.Node, p *port.Project) {
	q.values, _ = n.Get("values").Object().Value.(map[string]any)
	q.variables = map[string]any{}
	// Variables are by id and have their name as a member.
	variables, _ := n.Get("variables").Object().Value.(map[string]any)
	for id := range variables {
		name, value := ReadVariable(n.Get("variables").Get(id))
		q.variables[name] = value
	}
	filters := n.Get("filters").Object()
	properties := filters.Get("properties")
	// Which filters are possible depends on the table.
	switch q.statement.Table {
	case "persons":
		q.filters = filter.ReadForPersons(properties, p)
	case "groups":
		q.filters = filter.ReadTyped(properties, p, "group", func(c filter.Condition) bool {
			_, ok := c.(*filter.GroupPropertyCondition)
			return ok
		})
	default:
		q.filters = append(filter.Read(properties, p), filter.ReadTestAccounts(filters, p))
		dates := filters.Get("dateRange").Object()
		q.from, q.to = calendar.ReadDate(dates.Get("date_from"), true), calendar.ReadLastDate(dates.Get("date_to"))
	}
}

// ReadVariable returns the name and the value of a variable.
func ReadVariable(n document.Node) (string, any) {
	v := n.Object()
	name, value := v.Get("code_name").Text(""), v.Get("value").Value
	if v.Get("isNull").Boolean() {
		value = nil
	}
	return name, value
}

// context adds the placeholders and variables of the query to a context.
func (q *hogqlQuery) context(c hogql.Context) hogql.Context {
	c.Values, c.Variables = q.values, q.variables
	return c
}

// Run feeds the rows of the table to the compiled query and encodes its result.
func (q *hogqlQuery) Run(r *scan.Run) (*port.Result, error) {
	scope := hogqlScope(r.Project, q.statement.Table)
	query, err := q.statement.Compile(scope, q.context(filter.ExpressionContext(r)))
	if err != nil {
		return nil, filter.AtPlace(err, "query__query")
	}
	b := &scan.Binder{Run: r}
	switch q.statement.Table {
	case "events":
		err = q.scanEvents(b, query, scope)
	case "persons":
		err = scanPersons(b, query, scope, filter.BindPersons(b, q.filters))
	case "groups":
		err = scanGroups(b, query, scope, filter.BindGroups(b, q.filters))
	}
	if err != nil {
		return nil, filter.AtPlace(err, "query__query")
	}
	found, err := query.Result()
	if err != nil {
		return nil, filter.AtPlace(err, "query__query")
	}
	rows, err := encodeRows(r, query, found.Rows, nil)
	if err != nil {
		return nil, err
	}
	// For HogQL, types are pairs of column and type.
	types := make([][2]string, len(found.Columns))
	for i, name := range found.Columns {
		types[i] = [2]string{name, found.Types[i]}
	}
	return &port.Result{Results: rows, HasMore: &found.More, Limit: &found.Limit, Offset: &found.Offset, Columns: found.Columns, Types: types, HogQL: q.text}, nil
}

// scanEvents adds the events to a query, restricted to the names and times that the query can
// match.
func (q *hogqlQuery) scanEvents(b *scan.Binder, query *hogql.Query, scope *hogql.Scope) error {
	from, to := int64(math.MinInt64), int64(math.MaxInt64) // the range of {filters}, in microseconds; both bounds are inclusive
	if q.from.Form != calendar.NoDate && q.from.Form != calendar.AllTime {
		from = b.Calendar().Resolve(q.from, b.Now).UnixMicro()
	}
	if q.to.Form != calendar.NoDate {
		to = b.Calendar().Resolve(q.to, b.Now).UnixMicro() - 1
	}
	s := port.Scan{Names: query.Names()}
	s.From, s.To = query.Range()
	// If {filters} must be true for every row, its range restricts the scan too.
	if query.HasFilters() {
		s.From, s.To = max(s.From, from), min(s.To, to)
	}
	setRange(b, s)
	holds := func(*scan.Row) bool { return true }
	if slices.ContainsFunc(scope.Fields(), func(f hogql.Field) bool { return f.Filters }) {
		holds = q.filters.Bind(b)
	}
	fill := filter.EventRow(b, scope, nil, func(r *scan.Row) bool {
		at := r.Batch.Time[r.Index]
		return from <= at && at <= to && holds(r)
	})
	// The conditions of the query exclude every name.
	if s.Names != nil && len(s.Names) == 0 {
		return b.Err
	}
	return scanHogQL(b, s, query, nil, fill)
}

// metadata is a HogQLMetadata: it reports whether a text is a valid query, and the error if it is
// not.
type metadata struct{ fault *port.Error }

// metadataError is an error of the text; the offsets are in characters.
type metadataError struct {
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Message string `json:"message"`
}

// parseMetadata parses a HogQLMetadata. It parses the query as a HogQLQuery, and distinguishes
// errors of the text, which are the result, from errors of other members, which are faults.
func parseMetadata(n document.Node, p *port.Project) scan.Plan {
	if language := n.Get("language").Text("hogQL"); language != "hogQL" {
		n.Get("language").Fail(document.NotSupported, "The language %s is not supported.", document.Describe(language))
	}
	if n.Get("query").IsAbsent() {
		n.Get("query").Fail(document.Required, "This field is required.")
	}
	if n.HasFailed() {
		return nil
	}
	// The fault of the query is separate from that of the other members.
	inner := n
	inner.Fault = new(*port.Error)
	parseHogQL(inner, p)
	if fault := *inner.Fault; fault != nil && fault.Line == 0 { // an error of another member
		*n.Fault = fault
	}
	return &metadata{*inner.Fault}
}

// Run returns the error of the text. It does not read any events.
func (m *metadata) Run(*scan.Run) (*port.Result, error) {
	errors := []metadataError{}
	if m.fault != nil {
		errors = append(errors, metadataError{m.fault.Start, m.fault.End, m.fault.Detail})
	}
	return &port.Result{Extra: map[string]any{"isValid": m.fault == nil, "errors": errors, "warnings": []any{}, "notices": []any{}}}, nil
}

// Kinds returns the kinds of queries whose results are rows. find returns the kind with a name,
// for queries inside of other queries.
func Kinds(find func(name string) (scan.Kind, bool)) []scan.Kind {
	s := Sources{find}
	out := []scan.Kind{
		{Name: "HogQLQuery", Parse: parseHogQL},
		{Name: "HogQLMetadata", Parse: parseMetadata},
		{Name: "EventsQuery", Parse: s.parseEvents},
		{Name: "ActorsQuery", Parse: s.parseActors},
		{Name: "PersonsNode", Parse: s.parsePersons},
		{Name: "InsightActorsQueryOptions", Parse: s.parseOptions},
	}
	for _, name := range ActorsKinds {
		out = append(out, scan.Kind{Name: name, Parse: s.parseActorsSource})
	}
	return out
}
