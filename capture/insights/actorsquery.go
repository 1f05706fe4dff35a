package insights

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
)

func init() {
	kinds = append(kinds, kind{"ActorsQuery", parseActors}, kind{"PersonsNode", parsePersons})
	for _, name := range crowdKinds {
		kinds = append(kinds, kind{name, parseCrowd})
	}
}

// Bounds of lists of rows (§5.4).
const (
	maxSelect  = 50
	maxOffset  = 1 << 31
	rowsAtOnce = 100 // without a limit
)

// actorsQuery is an ActorsQuery (§2.9.2).
type actorsQuery struct {
	source        crowdFinder // nil: all people
	selects       []selected
	ofGroups      []selected // in place of selects if actors are groups; nil: no others
	order         []hogql.Order
	ordered       bool
	texts         []placedText
	filters       []all
	search        string
	limit, offset int
}

// selected is an expression of select.
type selected struct {
	text string
	item hogql.Item
}

// parseActors reads an ActorsQuery.
func parseActors(n node, p *Project) plan {
	q := &actorsQuery{}
	source := n.get("source")
	if !source.absent() {
		q.source = actorsSource(unwrap(source.object()), p)
	}
	return q.read(n, source, p)
}

// read reads the members that say what is given of the actors of a source.
func (q *actorsQuery) read(n, source node, p *Project) *actorsQuery {
	selects := n.get("select").list(maxSelect)
	defaults := []string{"person", "id", "person.$delete"}
	if unwrap(source.get("source")).get("kind").text("") == "TrendsQuery" {
		defaults = append(defaults, "event_distinct_ids")
	}
	for _, s := range selects {
		q.selects = append(q.selects, s.selected(s.text("")))
		q.texts = append(q.texts, placedText{s.text(""), s.place})
	}
	if len(selects) == 0 {
		for _, text := range defaults {
			q.selects = append(q.selects, n.get("select").selected(text))
		}
		q.ofGroups = []selected{n.get("select").selected("group")}
	}
	for _, o := range n.get("orderBy").list(maxSelect) {
		term, err := hogql.ParseOrder(byDisplay(o.text("")))
		o.failIn(err)
		q.order, q.ordered = append(q.order, term), true
		q.texts = append(q.texts, placedText{byDisplay(o.text("")), o.place})
	}
	q.filters = []all{n.get("properties").peopleFilters(p), n.get("fixedProperties").peopleFilters(p)}
	q.search = strings.ToLower(n.get("search").text(""))
	q.limit = int(n.get("limit").whole(1, hogql.MaxLimit, rowsAtOnce))
	q.offset = int(n.get("offset").whole(0, maxOffset, 0))
	return q
}

// parsePersons reads a PersonsNode: an ActorsQuery of all people.
func parsePersons(n node, p *Project) plan {
	asked := map[string]any{"select": []any{"person"}}
	for _, name := range []string{"search", "properties", "fixedProperties", "limit", "offset"} {
		asked[name] = n.get(name).value
	}
	q := parseActors(node{value: asked, place: n.place, fault: n.fault}, p).(*actorsQuery)
	if cohort := n.get("cohort"); !cohort.absent() {
		q.filters = append(q.filters, all{&inCohorts{ids: []int64{cohort.cohort(p)}}})
	}
	return q
}

// parseCrowd reads a query that names a point of an insight, alone.
func parseCrowd(n node, p *Project) plan {
	q := &actorsQuery{source: n.crowd(p)}
	return q.read(node{place: n.place, fault: n.fault}, n, p)
}

func (n node) selected(text string) selected {
	expression := text
	if strings.TrimSpace(text) == "group" { // a word of the language
		expression = "`group`"
	}
	item, err := hogql.ParseItem(expression)
	n.failIn(err)
	item.Column = text
	return selected{text, item}
}

// failIn notes what is wrong with an expression.
func (n node) failIn(err error) {
	var e *Error
	if errors.As(placed(err, n.place), &e) && *n.fault == nil {
		*n.fault = e
	}
}

// placed makes an error of an expression that stands at a place of the query; others
// stay as they are.
func placed(err error, place string) error {
	var e *hogql.Error
	if !errors.As(err, &e) {
		return err
	}
	return &Error{Code: e.Code, Attr: place, Detail: e.Text, Line: e.Line, Column: e.Column, Start: e.Start, End: e.End}
}

// placedText is an expression as written and where it stands.
type placedText struct{ text, place string }

// placedAmong is placed for one of some expressions.
func placedAmong(err error, texts []placedText, otherwise string) error {
	var e *hogql.Error
	if errors.As(err, &e) {
		for _, t := range texts {
			if t.text == e.In {
				return placed(err, t.place)
			}
		}
	}
	return placed(err, otherwise)
}

var orderByPerson = regexp.MustCompile(`(?i)^\s*(?:person|actor)(\s+(?:asc|desc))?\s*$`)

// byDisplay orders people by what names them.
func byDisplay(order string) string { return orderByPerson.ReplaceAllString(order, displayName+"$1") }

// actorsSource reads whom an ActorsQuery is about.
func actorsSource(n node, p *Project) crowdFinder {
	name := n.get("kind").text("")
	if slices.Contains(crowdKinds, name) {
		return n.crowd(p)
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if name != "HogQLQuery" || i < 0 {
		n.get("kind").fail(invalidInput, "The source of an ActorsQuery is %s or HogQLQuery, not %s.", strings.Join(crowdKinds, ", "), describe(name))
		return nil
	}
	return crowdOfRows(kinds[i].parse(n, p), n.place)
}

// personCondition is a condition that people without events can be asked.
type personCondition interface {
	ofPerson(b *binder) func(*capture.StoredPerson) bool
}

// peopleFilters reads filters of people without events.
func (n node) peopleFilters(p *Project) all {
	return n.filtersOf(p, "person and cohort", func(c condition) bool {
		_, ok := c.(personCondition)
		return ok
	})
}

// filtersOf reads filters that are all of some kinds.
func (n node) filtersOf(p *Project, kinds string, one func(condition) bool) all {
	filters := n.filters(p)
	if !n.failed() && !every(filters, one) {
		n.fail(notSupported, "Only filters of type %s are possible here.", kinds)
	}
	return filters
}

func every(c condition, one func(condition) bool) bool {
	var list []condition
	switch c := c.(type) {
	case all:
		list = c
	case anyOf:
		list = c
	default:
		return one(c)
	}
	return !slices.ContainsFunc(list, func(c condition) bool { return !every(c, one) })
}

// ofPerson makes filters that are of people ready.
func ofPerson(b *binder, c condition) func(*capture.StoredPerson) bool {
	return over(c, func(c condition) func(*capture.StoredPerson) bool { return c.(personCondition).ofPerson(b) })
}

// over makes filters of something ready.
func over[T any](c condition, one func(condition) func(T) bool) func(T) bool {
	var tests []func(T) bool
	switch c := c.(type) {
	case all:
		for _, c := range c {
			tests = append(tests, over(c, one))
		}
		return func(of T) bool {
			return !slices.ContainsFunc(tests, func(holds func(T) bool) bool { return !holds(of) })
		}
	case anyOf:
		for _, c := range c {
			tests = append(tests, over(c, one))
		}
		return func(of T) bool {
			return len(tests) == 0 || slices.ContainsFunc(tests, func(holds func(T) bool) bool { return holds(of) })
		}
	}
	return one(c)
}
