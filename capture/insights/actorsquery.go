package insights

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
)

// Limits of lists of rows (§5.4).
const (
	maxSelect   = 50
	maxOffset   = 1 << 31
	defaultRows = 100 // rows of a query without a limit
)

// actorsQuery is an ActorsQuery (§2.9.2): persons or groups, optionally the actors of another
// query, as rows of selected columns.
type actorsQuery struct {
	source        actorFinder // nil: all persons of the project
	selects       []selectItem
	groupSelects  []selectItem // replaces selects if the actors are groups; nil: selects applies to groups too
	order         []hogql.Order
	hasOrder      bool
	texts         []sourceText
	filters       []allOf
	search        string
	limit, offset int
}

// selectItem is an expression of the select list and the text that it was parsed from.
type selectItem struct {
	text string
	item hogql.Item
}

// parseActors parses an ActorsQuery.
func (s sources) parseActors(n node, p *Project) plan {
	q := &actorsQuery{}
	source := n.get("source")
	if !source.isAbsent() {
		q.source = s.actorsSource(unwrap(source.object()), p)
	}
	return q.read(n, source, p)
}

// read reads the members that define columns, order, filters and paging of the rows.
func (q *actorsQuery) read(n, source node, p *Project) *actorsQuery {
	selects := n.get("select").list(maxSelect)
	defaults := []string{"person", "id", "person.$delete"}
	if unwrap(source.get("source")).get("kind").text("") == "TrendsQuery" {
		defaults = append(defaults, "event_distinct_ids")
	}
	for _, s := range selects {
		q.selects = append(q.selects, parseSelectItem(s, s.text("")))
		q.texts = append(q.texts, sourceText{s.text(""), s.attr})
	}
	if len(selects) == 0 {
		for _, text := range defaults {
			q.selects = append(q.selects, parseSelectItem(n.get("select"), text))
		}
		q.groupSelects = []selectItem{parseSelectItem(n.get("select"), "group")}
	}
	for _, o := range n.get("orderBy").list(maxSelect) {
		term, err := hogql.ParseOrder(orderByDisplay(o.text("")))
		failWith(o, err)
		q.order, q.hasOrder = append(q.order, term), true
		q.texts = append(q.texts, sourceText{orderByDisplay(o.text("")), o.attr})
	}
	q.filters = []allOf{readPersonFilters(n.get("properties"), p), readPersonFilters(n.get("fixedProperties"), p)}
	q.search = strings.ToLower(n.get("search").text(""))
	q.limit = int(n.get("limit").intInRange(1, hogql.MaxLimit, defaultRows))
	q.offset = int(n.get("offset").intInRange(0, maxOffset, 0))
	return q
}

// parsePersons parses a PersonsNode, which is an ActorsQuery of all persons.
func (s sources) parsePersons(n node, p *Project) plan {
	members := map[string]any{"select": []any{"person"}}
	for _, name := range []string{"search", "properties", "fixedProperties", "limit", "offset"} {
		members[name] = n.get(name).value
	}
	q := s.parseActors(node{value: members, attr: n.attr, fault: n.fault}, p).(*actorsQuery)
	if cohort := n.get("cohort"); !cohort.isAbsent() {
		q.filters = append(q.filters, allOf{&cohortCondition{ids: []int64{readCohort(cohort, p)}}})
	}
	return q
}

// parseActorsSource parses a query such as InsightActorsQuery that is sent without an ActorsQuery
// around it.
func (s sources) parseActorsSource(n node, p *Project) plan {
	q := &actorsQuery{source: s.actorFinder(n, p)}
	return q.read(node{attr: n.attr, fault: n.fault}, n, p)
}

// parseSelectItem parses an expression of the select list.
func parseSelectItem(n node, text string) selectItem {
	expression := text
	if strings.TrimSpace(text) == "group" { // a keyword of HogQL
		expression = "`group`"
	}
	item, err := hogql.ParseItem(expression)
	failWith(n, err)
	item.Column = text
	return selectItem{text, item}
}

// failWith records err as the fault of the query, at this node, unless a fault is recorded.
func failWith(n node, err error) {
	var e *Error
	if errors.As(withAttr(err, n.attr), &e) && *n.fault == nil {
		*n.fault = e
	}
}

// withAttr converts an error of HogQL to an [*Error] at the place attr of the query. It returns
// other errors unchanged.
func withAttr(err error, attr string) error {
	var e *hogql.Error
	if !errors.As(err, &e) {
		return err
	}
	return &Error{Code: e.Code, Attr: attr, Detail: e.Text, Line: e.Line, Column: e.Column, Start: e.Start, End: e.End}
}

// sourceText is an expression as it was written, and its place in the query.
type sourceText struct{ text, attr string }

// withAttrOf is like withAttr for an error of one of several expressions: it finds the place by the
// text of the expression, and uses fallback if there is no match.
func withAttrOf(err error, texts []sourceText, fallback string) error {
	var e *hogql.Error
	if errors.As(err, &e) {
		for _, t := range texts {
			if t.text == e.In {
				return withAttr(err, t.attr)
			}
		}
	}
	return withAttr(err, fallback)
}

// orderByPerson matches an order by person or actor, with an optional direction.
var orderByPerson = regexp.MustCompile(`(?i)^\s*(?:person|actor)(\s+(?:asc|desc))?\s*$`)

// orderByDisplay replaces an order by person or actor with the order by display name.
func orderByDisplay(order string) string {
	return orderByPerson.ReplaceAllString(order, displayName+"$1")
}

// actorsSource reads the source of an ActorsQuery, which defines its actors.
func (s sources) actorsSource(n node, p *Project) actorFinder {
	name := n.get("kind").text("")
	if slices.Contains(actorsQueryKinds, name) {
		return s.actorFinder(n, p)
	}
	kind, ok := s.find(name)
	if name != "HogQLQuery" || !ok {
		n.get("kind").fail(invalidInput, "The source of an ActorsQuery must be %s or HogQLQuery, not %s.", strings.Join(actorsQueryKinds, ", "), describe(name))
		return nil
	}
	return actorsOfRows(kind.parse(n, p), n.attr)
}

// personCondition is a condition that can be evaluated for a stored person without an event.
type personCondition interface {
	bindPerson(b *binder) func(*capture.StoredPerson) bool
}

// readPersonFilters reads filters that must be evaluable without events.
func readPersonFilters(n node, p *Project) allOf {
	return readTypedFilters(n, p, "person and cohort", func(c condition) bool {
		_, ok := c.(personCondition)
		return ok
	})
}

// readTypedFilters reads filters for each of which the function one must be true; kinds names the
// permitted types in the error.
func readTypedFilters(n node, p *Project, kinds string, one func(condition) bool) allOf {
	filters := readFilters(n, p)
	if !n.hasFailed() && !everyCondition(filters, one) {
		n.fail(notSupported, "Only filters of type %s are possible here.", kinds)
	}
	return filters
}

// everyCondition reports whether a function is true for all leaves of a tree of conditions.
func everyCondition(c condition, one func(condition) bool) bool {
	var list []condition
	switch c := c.(type) {
	case allOf:
		list = c
	case anyOf:
		list = c
	default:
		return one(c)
	}
	return !slices.ContainsFunc(list, func(c condition) bool { return !everyCondition(c, one) })
}

// bindPersonConditions returns a tree of conditions, all of which are personConditions, as a test
// of stored persons.
func bindPersonConditions(b *binder, c condition) func(*capture.StoredPerson) bool {
	return combineConditions(c, func(c condition) func(*capture.StoredPerson) bool { return c.(personCondition).bindPerson(b) })
}

// combineConditions converts a tree of conditions to a test of values of type T; one converts each
// leaf.
func combineConditions[T any](c condition, one func(condition) func(T) bool) func(T) bool {
	var tests []func(T) bool
	switch c := c.(type) {
	case allOf:
		for _, c := range c {
			tests = append(tests, combineConditions(c, one))
		}
		return func(value T) bool {
			return !slices.ContainsFunc(tests, func(holds func(T) bool) bool { return !holds(value) })
		}
	case anyOf:
		for _, c := range c {
			tests = append(tests, combineConditions(c, one))
		}
		return func(value T) bool {
			return len(tests) == 0 || slices.ContainsFunc(tests, func(holds func(T) bool) bool { return holds(value) })
		}
	}
	return one(c)
}
