package sqlquery

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// actorsQuery is an ActorsQuery (§2.9.2): persons or groups, optionally the actors of another
// query, as rows of selected columns.
type actorsQuery struct {
	source        scan.ActorFinder // nil: all persons of the project
	selects       []selectItem
	groupSelects  []selectItem // replaces selects if the actors are groups; nil: selects applies to groups too
	order         []hogql.Order
	hasOrder      bool
	texts         []sourceText
	filters       []filter.AllOf
	search        string
	limit, offset int
}

// parseActors parses an ActorsQuery.
func (s Sources) parseActors(n document.Node, p *port.Project) scan.Plan {
	q := &actorsQuery{}
	source := n.Get("source")
	if !source.IsAbsent() {
		q.source = s.actorsSource(document.Unwrap(source.Object()), p)
	}
	return q.read(n, source, p)
}

// read reads the members that define columns, order, filters and paging of the rows.
func (q *actorsQuery) read(n, source document.Node, p *port.Project) *actorsQuery {
	selects := n.Get("select").List(scan.MaxSelect)
	defaults := []string{"person", "id", "person.$delete"}
	if document.Unwrap(source.Get("source")).Get("kind").Text("") == "TrendsQuery" {
		defaults = append(defaults, "event_distinct_ids")
	}
	for _, s := range selects {
		q.selects = append(q.selects, parseSelectItem(s, s.Text("")))
		q.texts = append(q.texts, sourceText{s.Text(""), s.Attr})
	}
	if len(selects) == 0 {
		for _, text := range defaults {
			q.selects = append(q.selects, parseSelectItem(n.Get("select"), text))
		}
		q.groupSelects = []selectItem{parseSelectItem(n.Get("select"), "group")}
	}
	for _, o := range n.Get("orderBy").List(scan.MaxSelect) {
		term, err := hogql.ParseOrder(orderByDisplay(o.Text("")))
		filter.Fail(o, err)
		q.order, q.hasOrder = append(q.order, term), true
		q.texts = append(q.texts, sourceText{orderByDisplay(o.Text("")), o.Attr})
	}
	q.filters = []filter.AllOf{filter.ReadForPersons(n.Get("properties"), p), filter.ReadForPersons(n.Get("fixedProperties"), p)}
	q.search = strings.ToLower(n.Get("search").Text(""))
	q.limit = int(n.Get("limit").IntInRange(1, hogql.MaxLimit, scan.DefaultRows))
	q.offset = int(n.Get("offset").IntInRange(0, scan.MaxOffset, 0))
	return q
}

// parsePersons parses a PersonsNode, which is an ActorsQuery of all persons.
func (s Sources) parsePersons(n document.Node, p *port.Project) scan.Plan {
	members := map[string]any{"select": []any{"person"}}
	for _, name := range []string{"search", "properties", "fixedProperties", "limit", "offset"} {
		members[name] = n.Get(name).Value
	}
	q := s.parseActors(document.Node{Value: members, Attr: n.Attr, Fault: n.Fault}, p).(*actorsQuery)
	if cohort := n.Get("cohort"); !cohort.IsAbsent() {
		q.filters = append(q.filters, filter.AllOf{&filter.CohortCondition{IDs: []int64{filter.ReadCohort(cohort, p)}}})
	}
	return q
}

// parseActorsSource parses a query such as InsightActorsQuery that is sent without an ActorsQuery
// around it.
func (s Sources) parseActorsSource(n document.Node, p *port.Project) scan.Plan {
	q := &actorsQuery{source: s.ActorFinder(n, p)}
	return q.read(document.Node{Attr: n.Attr, Fault: n.Fault}, n, p)
}

// orderByPerson matches an order by person or actor, with an optional direction.
var orderByPerson = regexp.MustCompile(`(?i)^\s*(?:person|actor)(\s+(?:asc|desc))?\s*$`)

// orderByDisplay replaces an order by person or actor with the order by display name.
func orderByDisplay(order string) string {
	return orderByPerson.ReplaceAllString(order, filter.DisplayName+"$1")
}

// actorsSource reads the source of an ActorsQuery, which defines its actors.
func (s Sources) actorsSource(n document.Node, p *port.Project) scan.ActorFinder {
	name := n.Get("kind").Text("")
	if slices.Contains(ActorsKinds, name) {
		return s.ActorFinder(n, p)
	}
	kind, ok := s.Find(name)
	if name != "HogQLQuery" || !ok {
		n.Get("kind").Fail(document.InvalidInput, "The source of an ActorsQuery must be %s or HogQLQuery, not %s.", strings.Join(ActorsKinds, ", "), document.Describe(name))
		return nil
	}
	return actorsOfRows(kind.Parse(n, p), n.Attr)
}

// decodedSize is the approximate number of bytes that one byte of JSON needs after decoding.
const decodedSize = 5

// actorsOfRows returns the persons that the rows of a HogQL query name. Their UUIDs are in the
// first column with "id" in its name; values that are not UUIDs are skipped.
func actorsOfRows(source scan.Plan, attr string) scan.ActorFinder {
	return func(r *scan.Run) (*scan.ActorSet, error) {
		result, err := source.Run(r)
		if err != nil {
			return nil, err
		}
		column := slices.IndexFunc(result.Columns, func(name string) bool { return strings.Contains(strings.ToLower(name), "id") })
		if column < 0 {
			return nil, document.NewFault(document.InvalidInput, attr, `The source must have a column with person ids and "id" in its name.`)
		}
		text := wire.MustEncode(result.Results)
		if err := r.Reserve(decodedSize * int64(len(text))); err != nil {
			return nil, err
		}
		var rows [][]any
		if err := wire.Decode(text, &rows); err != nil {
			return nil, err
		}
		// Several rows may name the same person.
		out := &scan.ActorSet{GroupType: scan.AnyPeople}
		seen := map[capture.UUID]bool{}
		for _, row := range rows {
			text, _ := row[column].(string)
			id, ok := wire.ParseUUID(text)
			if !ok || seen[id] {
				continue
			}
			seen[id] = true
			out.Members = append(out.Members, scan.Member{Person: id})
		}
		return out, r.Reserve(scan.MemberSize * int64(len(out.Members)))
	}
}
