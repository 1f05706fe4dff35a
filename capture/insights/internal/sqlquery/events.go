package sqlquery

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// clockTolerance is how far after the current time events are listed, because the clocks of clients
// differ (§2.9.1).
const clockTolerance = 5 * time.Second

// eventsQuery is an EventsQuery (§2.9.1): a list of events as rows of selected columns.
type eventsQuery struct {
	selects []selectItem
	where   []*hogql.Expr
	// texts are all expressions, to find the place of an error.
	texts      []sourceText
	order      []hogql.Order
	conditions filter.AllOf
	// names are the permitted event names; nil: any.
	names []string
	// action is the action that events must belong to; nil: any event.
	action *filter.Entity
	// person is the UUID or the number of the person; empty: all persons.
	person string
	// actors finds a point of a trend, whose events are listed; nil: all events.
	actors scan.ActorFinder
	// after and before are exclusive.
	after, before calendar.Date
	limit, offset int
}

// parseEvents parses an EventsQuery. The expressions are also compiled, to report errors before the
// query runs.
func (s Sources) parseEvents(n document.Node, p *port.Project) scan.Plan {
	q := &eventsQuery{conditions: filter.ReadAll(n, p)}
	q.conditions = append(q.conditions, filter.Read(n.Get("fixedProperties"), p))
	for _, item := range n.Get("select").List(scan.MaxSelect) {
		q.selects = append(q.selects, parseSelectItem(item, item.Text("")))
		q.texts = append(q.texts, sourceText{item.Text(""), item.Attr})
	}
	if len(q.selects) == 0 {
		q.selects = []selectItem{parseSelectItem(n.Get("select"), "*")}
	}
	for _, w := range n.Get("where").List(scan.MaxSelect) {
		expr, err := hogql.ParseExpr(w.Text(""))
		filter.Fail(w, err)
		q.texts = append(q.texts, sourceText{w.Text(""), w.Attr})
		q.where = append(q.where, expr)
	}
	for _, o := range n.Get("orderBy").List(scan.MaxSelect) {
		term, err := hogql.ParseOrder(o.Text(""))
		filter.Fail(o, err)
		q.texts = append(q.texts, sourceText{o.Text(""), o.Attr})
		q.order = append(q.order, term)
	}
	if len(q.order) == 0 && !n.HasFailed() {
		term, err := hogql.ParseOrder(defaultOrder(q.selects, "timestamp", "timestamp", "*"))
		filter.Fail(n.Get("orderBy"), err)
		q.order = []hogql.Order{term}
	}
	q.readEvents(n, p)
	q.after, q.before = calendar.ReadDate(n.Get("after"), true), calendar.ReadDate(n.Get("before"), false)
	q.limit = int(n.Get("limit").IntInRange(1, hogql.MaxLimit, scan.DefaultRows))
	q.offset = int(n.Get("offset").IntInRange(0, scan.MaxOffset, 0))
	if source := n.Get("source"); !source.IsAbsent() {
		q.actors = s.actorsOfTrend(source, p)
	}
	// The program is discarded: a run compiles again with its own time and limits.
	if !n.HasFailed() {
		_, err := q.compile(filter.EventScope(p, eventColumns), hogql.Context{Zone: p.Location, WeekStart: p.WeekStart, Now: time.Unix(0, 0)})
		filter.Fail(n, withAttrOf(err, q.texts, n.Get("select").Attr))
	}
	return q
}

// readEvents reads the members that restrict the list to names, an action or a person.
func (q *eventsQuery) readEvents(n document.Node, p *port.Project) {
	for _, name := range n.Get("events").List(filter.MaxFilters) {
		q.names = append(q.names, name.Text(""))
	}
	if event := n.Get("event"); event.Text("") != "" {
		if q.names == nil || slices.Contains(q.names, event.Text("")) {
			q.names = []string{event.Text("")}
		} else {
			// The single event is not among the names: no event can match.
			q.names = []string{}
		}
	}
	if id := n.Get("actionId"); !id.IsAbsent() {
		action := filter.ReadEntity(document.Node{Value: map[string]any{"kind": "ActionsNode", "id": id.Value}, Attr: n.Attr, Fault: n.Fault}, p)
		q.action = &action
	}
	switch id := n.Get("personId"); v := id.Value.(type) {
	case nil:
	case json.Number:
		q.person = v.String()
	default:
		q.person = id.Text("")
	}
}

// compile compiles the select list, the conditions and the order to a HogQL query over events.
func (q *eventsQuery) compile(scope *hogql.Scope, c hogql.Context) (*hogql.Query, error) {
	items := make([]hogql.Item, len(q.selects))
	for i, s := range q.selects {
		items[i] = s.item
	}
	s := hogql.Select("events", items, q.where, q.order, q.limit, q.offset)
	s.NewestFirst = true
	return s.Compile(scope, c)
}

// Run scans the events, adds the matching rows to the HogQL query, and encodes its result.
func (q *eventsQuery) Run(r *scan.Run) (*port.Result, error) {
	scope := filter.EventScope(r.Project, eventColumns)
	query, err := q.compile(scope, filter.ExpressionContext(r))
	if err != nil {
		return nil, withAttrOf(err, q.texts, "query__select")
	}
	b := &scan.Binder{Run: r}
	s, holds, err := q.bind(b, query)
	if err != nil {
		return nil, err
	}
	fill := filter.EventRow(b, scope, eventColumns, nil)
	// An empty list of names or distinct ids matches no event, so there is no need to scan.
	if b.Err == nil && (s.Names == nil || len(s.Names) > 0) && (s.DistinctIDs == nil || len(s.DistinctIDs) > 0) {
		err = withAttrOf(scanHogQL(b, s, query, holds, fill), q.texts, "query__select")
	}
	if err == nil {
		err = b.Err
	}
	if err != nil {
		return nil, err
	}
	found, err := query.Result()
	if err != nil {
		return nil, withAttrOf(err, q.texts, "query__select")
	}
	rows, err := q.encode(r, query, found)
	if err != nil {
		return nil, err
	}
	return &port.Result{Results: rows, HasMore: &found.More, Limit: &found.Limit, Offset: &found.Offset, Columns: found.Columns, Types: found.Types}, nil
}

// bind returns the scan and a function that reports whether an event is listed.
func (q *eventsQuery) bind(b *scan.Binder, query *hogql.Query) (port.Scan, func(*scan.Row) bool, error) {
	s := port.Scan{}
	s.From, s.To = query.Range()
	// By default the events of the last 24 hours are listed; for the actors of a trend, all of its
	// events.
	after := b.Now.Add(-24 * time.Hour)
	if q.actors != nil && q.after.Form == calendar.NoDate {
		after = time.Unix(0, 0)
	}
	if q.after.Form != calendar.NoDate && q.after.Form != calendar.AllTime {
		after = b.Calendar().Resolve(q.after, b.Now)
	}
	// Both bounds are exclusive, those of a scan are inclusive.
	if q.after.Form != calendar.AllTime {
		s.From = max(s.From, after.UnixMicro()+1)
	}
	before := b.Now.Add(clockTolerance)
	if q.before.Form != calendar.NoDate {
		before = b.Calendar().Resolve(q.before, b.Now)
	}
	s.To = min(s.To, before.UnixMicro()-1)
	setRange(b, s)
	conditions := []func(*scan.Row) bool{q.conditions.Bind(b)}
	// The conditions of the query may permit only some names as well.
	s.Names = intersectNames(q.names, query.Names())
	if q.action != nil {
		m := q.action.Bind(b)
		s.Names = intersectNames(s.Names, m.Names)
		conditions = append(conditions, m.Holds)
	}
	if q.person != "" {
		isPersonEvent, ids, err := bindPersonEvents(b, q.person)
		if err != nil {
			return s, nil, err
		}
		s.DistinctIDs = ids
		conditions = append(conditions, isPersonEvent)
	}
	if q.actors != nil {
		isActorEvent, err := bindActorEvents(b, q.actors)
		if err != nil {
			return s, nil, err
		}
		conditions = append(conditions, isActorEvent)
	}
	return s, func(r *scan.Row) bool {
		return !slices.ContainsFunc(conditions, func(holds func(*scan.Row) bool) bool { return !holds(r) })
	}, b.Err
}

// actorsOfTrend parses the point of a trend whose events are listed.
func (s Sources) actorsOfTrend(n document.Node, p *port.Project) scan.ActorFinder {
	point := document.Unwrap(n)
	if kind := document.Unwrap(point.Get("source")).Get("kind"); point.Get("kind").Text("") != "InsightActorsQuery" || kind.Text("") != "TrendsQuery" {
		n.Fail(document.NotSupported, "The source of an EventsQuery must be an InsightActorsQuery over a TrendsQuery.")
		return nil
	}
	return s.ActorFinder(point, p)
}

// bindActorEvents returns a function that reports whether an event is one of those behind a point.
// It runs the query of the point to find the ids of these events.
func bindActorEvents(b *scan.Binder, find scan.ActorFinder) (func(*scan.Row) bool, error) {
	b.WantIDs = true
	b.Needs.Columns |= port.IDs
	found, err := find(b.Run)
	if err != nil {
		return nil, err
	}
	ids := map[int64]bool{}
	for _, m := range found.Members {
		if err := b.Reserve(16 * int64(len(m.IDs))); err != nil {
			return nil, err
		}
		for _, id := range m.IDs {
			ids[id] = true
		}
	}
	return func(r *scan.Row) bool { return ids[r.Batch.ID[r.Index]] }, nil
}

// intersectNames returns the names that are in both lists. A nil list contains all names.
func intersectNames(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return !slices.Contains(b, name) })
}

// bindPersonEvents returns a function that reports whether an event belongs to a person, specified
// by UUID or number. ids are the distinct ids of the person, with which the scan can be restricted:
// nil if there may be more than could be returned, empty if there is no such person.
func bindPersonEvents(b *scan.Binder, person string) (matches func(*scan.Row) bool, ids []string, err error) {
	id, ok := wire.ParseUUID(person)
	var uuids []capture.UUID
	if ok {
		uuids, ids = []capture.UUID{id}, nil
	} else {
		ids = []string{} // no person: no event
	}
	// A number that cannot be parsed is 0, which is not the number of any person.
	number, _ := strconv.ParseInt(person, 10, 64)
	err = b.Reader.Profiles(b.Context, uuids, func(p *capture.StoredPerson) error {
		if !ok && p.ID != number {
			return nil
		}
		if id, ids = p.UUID, slices.Clone(p.DistinctIDs); len(ids) >= capture.MaxReturnedIDs {
			ids = nil
		}
		return nil
	})
	personNumber := b.People()
	return func(r *scan.Row) bool { return b.PersonID(personNumber(r)) == id }, ids, err
}

// encode encodes the rows as JSON. It reads the current data of the persons in them and replaces
// each owner by it.
func (q *eventsQuery) encode(r *scan.Run, query *hogql.Query, found *hogql.Result) (json.RawMessage, error) {
	// show are the encoders of the columns about persons, by column.
	show := map[int]func(hogql.Value) (json.RawMessage, error){}
	var ids []capture.UUID
	// Find the persons in the rows.
	for i, s := range q.selects {
		name := s.item.Field()
		if name != "person" && name != "person_display_name" {
			continue
		}
		for _, row := range found.Rows {
			var o owner
			if json.Unmarshal([]byte(row[i].Text()), &o) == nil {
				id, _ := wire.ParseUUID(o.UUID)
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return encodeRows(r, query, found.Rows, nil)
	}
	slices.SortFunc(ids, func(a, b capture.UUID) int { return strings.Compare(string(a[:]), string(b[:])) }) // sorted for Compact
	people := map[string]*capture.StoredPerson{}
	err := r.Reader.Profiles(r.Context, slices.Compact(ids), func(p *capture.StoredPerson) error {
		stored := *p // the person is valid only during the call
		people[p.UUID.String()] = &stored
		return r.Reserve(int64(len(p.Properties.String())) + 500)
	})
	if err != nil {
		return nil, err
	}
	// Replace the owners in the columns about persons.
	for i, s := range q.selects {
		switch s.item.Field() {
		case "person":
			show[i] = func(v hogql.Value) (json.RawMessage, error) { return personOf(r, v, people) }
		case "person_display_name":
			show[i] = func(v hogql.Value) (json.RawMessage, error) { return displayOf(r, v, people) }
		}
	}
	return encodeRows(r, query, found.Rows, show)
}

// personOf encodes an owner as the column person. A person that no longer exists has only the
// distinct id.
func personOf(r *scan.Run, v hogql.Value, people map[string]*capture.StoredPerson) (json.RawMessage, error) {
	var o owner
	if err := json.Unmarshal([]byte(v.Text()), &o); err != nil {
		return nil, err
	}
	p := people[o.UUID]
	if p == nil {
		return wire.Encode(map[string]string{"distinct_id": o.DistinctID})
	}
	return wire.Encode(map[string]any{"uuid": o.UUID, "created_at": instantText(r, p.CreatedAt), "properties": p.Properties, "distinct_id": o.DistinctID})
}

// displayOf encodes an owner as the column person_display_name.
func displayOf(r *scan.Run, v hogql.Value, people map[string]*capture.StoredPerson) (json.RawMessage, error) {
	var o owner
	if err := json.Unmarshal([]byte(v.Text()), &o); err != nil {
		return nil, err
	}
	// Without a display property, the distinct id of the event is the name.
	name := o.DistinctID
	if p := people[o.UUID]; p != nil {
		actor := filter.ActorRow{GroupType: scan.AnyPeople, Stored: p, Display: filter.DisplayNames(r.Project)}
		if display := actor.DisplayProperty(); display != "" {
			name = display
		}
	}
	return wire.Encode(map[string]string{"display_name": name, "id": o.UUID, "distinct_id": o.DistinctID})
}
