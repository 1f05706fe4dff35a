package insights

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/flags/wire"
)

func init() { kinds = append(kinds, kind{"EventsQuery", parseEvents}) }

// soon is how far ahead of now events are listed: clocks of clients differ (§2.9.1).
const soon = 5 * time.Second

// eventsQuery is an EventsQuery (§2.9.1).
type eventsQuery struct {
	selects       []selected
	where         []*hogql.Expr
	order         []hogql.Order
	conditions    all
	names         []string // nil: any
	action        *entity
	person        string // a uuid or number, empty for everyone
	after, before date
	limit, offset int
}

func parseEvents(n node, p *Project) plan {
	q := &eventsQuery{conditions: queryConditions(n, p)}
	q.conditions = append(q.conditions, n.get("fixedProperties").filters(p))
	for _, s := range n.get("select").list(maxSelect) {
		q.selects = append(q.selects, s.selected(s.text("")))
	}
	if len(q.selects) == 0 {
		q.selects = []selected{n.get("select").selected("*")}
	}
	for _, w := range n.get("where").list(maxSelect) {
		expr, err := hogql.ParseExpr(w.text(""))
		w.failIn(err)
		q.where = append(q.where, expr)
	}
	for _, o := range n.get("orderBy").list(maxSelect) {
		term, err := hogql.ParseOrder(o.text(""))
		o.failIn(err)
		q.order = append(q.order, term)
	}
	if len(q.order) == 0 && !n.failed() {
		term, err := hogql.ParseOrder(usualOrder(q.selects, "timestamp", "timestamp", "*"))
		n.get("orderBy").failIn(err)
		q.order = []hogql.Order{term}
	}
	q.readEvents(n, p)
	q.after, q.before = n.get("after").date(true), n.get("before").date(false)
	q.limit = int(n.get("limit").whole(1, hogql.MaxLimit, rowsAtOnce))
	q.offset = int(n.get("offset").whole(0, maxOffset, 0))
	n.refuse("source")
	if !n.failed() {
		_, err := q.compile(p.eventScope(eventColumns), hogql.Context{Zone: p.Location, WeekStart: p.WeekStart, Now: time.Unix(0, 0)})
		n.get("select").failIn(err)
	}
	return q
}

// readEvents reads which events are listed, and whose.
func (q *eventsQuery) readEvents(n node, p *Project) {
	for _, name := range n.get("events").list(maxFilters) {
		q.names = append(q.names, name.text(""))
	}
	if event := n.get("event"); event.text("") != "" {
		if q.names == nil || slices.Contains(q.names, event.text("")) {
			q.names = []string{event.text("")}
		} else {
			q.names = []string{}
		}
	}
	if id := n.get("actionId"); !id.absent() {
		action := node{value: map[string]any{"kind": "ActionsNode", "id": id.value}, place: n.place, fault: n.fault}.entity(p)
		q.action = &action
	}
	switch id := n.get("personId"); v := id.value.(type) {
	case nil:
	case json.Number:
		q.person = v.String()
	default:
		q.person = id.text("")
	}
}

// compile makes the query of the rows. An error is placed at the whole select, its
// line and column are those of the expression at fault.
func (q *eventsQuery) compile(scope *hogql.Scope, c hogql.Context) (*hogql.Query, error) {
	items := make([]hogql.Item, len(q.selects))
	for i, s := range q.selects {
		items[i] = s.item
	}
	s := hogql.Select("events", items, q.where, q.order, q.limit, q.offset)
	s.NewestFirst = true
	return s.Compile(scope, c)
}

func (q *eventsQuery) run(r *run) (*Result, error) {
	scope := r.project.eventScope(eventColumns)
	query, err := q.compile(scope, r.hogqlContext())
	if err != nil {
		return nil, placed(err, "query__select")
	}
	b := &binder{run: r}
	s, holds, err := q.bind(b, query)
	if err != nil {
		return nil, err
	}
	fill := b.hogqlRow(scope, eventColumns, nil)
	if b.err == nil && (s.Names == nil || len(s.Names) > 0) && (s.DistinctIDs == nil || len(s.DistinctIDs) > 0) {
		err = placed(b.scanHogQL(s, query, holds, fill), "query__select")
	}
	if err == nil {
		err = b.err
	}
	if err != nil {
		return nil, err
	}
	found, err := query.Result()
	if err != nil {
		return nil, placed(err, "query__select")
	}
	rows, err := q.encode(r, query, found)
	if err != nil {
		return nil, err
	}
	return &Result{Results: rows, HasMore: &found.More, Limit: &found.Limit, Offset: &found.Offset, Columns: found.Columns, Types: found.Types}, nil
}

// bind makes the scan and the conditions ready.
func (q *eventsQuery) bind(b *binder, query *hogql.Query) (Scan, func(*row) bool, error) {
	s := Scan{}
	s.From, s.To = query.Range()
	after := b.now.Add(-24 * time.Hour)
	if q.after.form != noDate && q.after.form != allTime {
		after = b.calendar().resolve(q.after, b.now)
	}
	if q.after.form != allTime {
		s.From = max(s.From, after.UnixMicro()+1)
	}
	before := b.now.Add(soon)
	if q.before.form != noDate {
		before = b.calendar().resolve(q.before, b.now)
	}
	s.To = min(s.To, before.UnixMicro()-1)
	b.around(s)
	conditions := []func(*row) bool{q.conditions.bind(b)}
	s.Names = both(q.names, query.Names())
	if q.action != nil {
		m := q.action.bind(b)
		s.Names = both(s.Names, m.names)
		conditions = append(conditions, m.holds)
	}
	if q.person != "" {
		of, ids, err := b.eventsOf(q.person)
		if err != nil {
			return s, nil, err
		}
		s.DistinctIDs = ids
		conditions = append(conditions, of)
	}
	return s, func(r *row) bool {
		return !slices.ContainsFunc(conditions, func(holds func(*row) bool) bool { return !holds(r) })
	}, b.err
}

// around tells the binder the range of a scan, for the sessions in it.
func (b *binder) around(s Scan) {
	const far = math.MaxInt64 / 4
	b.from, b.to = max(s.From, -far), min(s.To, far)
}

// both are the names that are in two lists, of which nil has all.
func both(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return !slices.Contains(b, name) })
}

// eventsOf says which events are of a person, by the uuid or number. ids are all the
// distinct ids, nil when there are too many to look for; none: nobody.
func (b *binder) eventsOf(person string) (of func(*row) bool, ids []string, err error) {
	id, ok := wire.ParseUUID(person)
	var ask []capture.UUID
	if ok {
		ask, ids = []capture.UUID{id}, nil
	} else {
		ids = []string{}
	}
	number, _ := strconv.ParseInt(person, 10, 64)
	err = b.reader.Profiles(b.ctx, ask, func(p *capture.StoredPerson) error {
		if !ok && p.ID != number {
			return nil
		}
		if id, ids = p.UUID, slices.Clone(p.DistinctIDs); len(ids) >= capture.MaxShownIDs {
			ids = nil
		}
		return nil
	})
	known := b.people()
	return func(r *row) bool { return b.personID(known(r)) == id }, ids, err
}

// eventColumns are the columns of EventsQuery that are more than a field. Those of
// people are looked up when the rows are known.
var eventColumns = map[string]hogqlField{
	"*":                   alone(hogql.ObjectType, (*binder).wholeEvent),
	"person":              alone(hogql.ObjectType, (*binder).whose),
	"person_display_name": alone(hogql.ObjectType, (*binder).whose),
}

// wholeEvent is an event as an object.
func (b *binder) wholeEvent() cellOf {
	b.needs.columns |= UUIDs | Names | Properties | DistinctIDs | Elements | CreatedAt | Modes
	at := func(micros int64) string { return b.instantText(time.UnixMicro(micros)) }
	return func(r *row) hogql.Value {
		out := append(make([]byte, 0, len(r.b.Properties[r.i])+400), `{"uuid":"`+r.b.UUID[r.i].String()+`","event":`...)
		out = wire.AppendQuoted(out, r.b.Name[r.i])
		out = append(out, `,"properties":`+compact(r.b.Properties[r.i])+`,"timestamp":"`+at(r.b.Time[r.i])+`","team_id":`...)
		out = append(strconv.AppendInt(out, b.project.ID, 10), `,"distinct_id":`...)
		out = wire.AppendQuoted(out, r.b.DistinctID[r.i])
		out = wire.AppendQuoted(append(out, `,"elements_chain":`...), r.b.Elements[r.i])
		if chain := r.b.Elements[r.i]; chain != "" {
			out = append(append(out, `,"elements":`...), elementsJSON(chain)...)
		}
		return hogql.ObjectOf(string(append(out, `,"created_at":"`+at(r.b.CreatedAt[r.i])+`","person_mode":"`+r.b.Mode[r.i].String()+`"}`...)))
	}
}

// instantText is an instant as answers show it.
func (r *run) instantText(t time.Time) string {
	return t.In(r.zone).Format("2006-01-02T15:04:05.999999Z07:00")
}

// owner is whose an event is.
type owner struct {
	UUID       string `json:"uuid"`
	DistinctID string `json:"distinct_id"`
}

func (b *binder) whose() cellOf {
	b.needs.columns |= DistinctIDs
	person := b.personText()
	return func(r *row) hogql.Value {
		return hogql.ObjectOf(string(wire.MustEncode(owner{person(r).Text(), r.b.DistinctID[r.i]})))
	}
}

// encode writes the rows; people in them as they are now.
func (q *eventsQuery) encode(r *run, query *hogql.Query, found *hogql.Result) (json.RawMessage, error) {
	show := map[int]func(hogql.Value) (json.RawMessage, error){}
	var ids []capture.UUID
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
		return encodeRows(query, found.Rows, nil)
	}
	slices.SortFunc(ids, func(a, b capture.UUID) int { return strings.Compare(string(a[:]), string(b[:])) })
	people := map[string]*capture.StoredPerson{}
	err := r.reader.Profiles(r.ctx, slices.Compact(ids), func(p *capture.StoredPerson) error {
		own := *p
		people[p.UUID.String()] = &own
		return r.reserve(int64(len(p.Properties.String())) + 500)
	})
	if err != nil {
		return nil, err
	}
	for i, s := range q.selects {
		switch s.item.Field() {
		case "person":
			show[i] = func(v hogql.Value) (json.RawMessage, error) { return r.personOf(v, people) }
		case "person_display_name":
			show[i] = func(v hogql.Value) (json.RawMessage, error) { return r.displayOf(v, people) }
		}
	}
	return encodeRows(query, found.Rows, show)
}

func (r *run) personOf(v hogql.Value, people map[string]*capture.StoredPerson) (json.RawMessage, error) {
	var o owner
	if err := json.Unmarshal([]byte(v.Text()), &o); err != nil {
		return nil, err
	}
	p := people[o.UUID]
	if p == nil {
		return wire.Encode(map[string]string{"distinct_id": o.DistinctID})
	}
	return wire.Encode(map[string]any{"uuid": o.UUID, "created_at": r.instantText(p.CreatedAt), "properties": p.Properties, "distinct_id": o.DistinctID})
}

func (r *run) displayOf(v hogql.Value, people map[string]*capture.StoredPerson) (json.RawMessage, error) {
	var o owner
	if err := json.Unmarshal([]byte(v.Text()), &o); err != nil {
		return nil, err
	}
	name := o.DistinctID
	if p := people[o.UUID]; p != nil {
		shown := actorRow{groupType: anyPeople, stored: p, display: r.project.displayNames()}
		if own := shown.named(); own != "" {
			name = own
		}
	}
	return wire.Encode(map[string]string{"display_name": name, "id": o.UUID, "distinct_id": o.DistinctID})
}

// shownElement is an element of a chain as answers show it.
type shownElement struct {
	Text       *string           `json:"text"`
	Tag        string            `json:"tag_name"`
	Classes    []string          `json:"attr_class"`
	Href       *string           `json:"href"`
	ID         *string           `json:"attr_id"`
	NthChild   *int              `json:"nth_child"`
	NthOfType  *int              `json:"nth_of_type"`
	Attributes map[string]string `json:"attributes"`
	Order      int               `json:"order"`
}

func elementsJSON(chain string) json.RawMessage {
	shown := []shownElement{}
	for i, e := range parseChain(chain) {
		s := shownElement{Tag: e.tag, Classes: e.classes, Attributes: map[string]string{}, Order: i}
		for name, value := range e.attributes {
			number, err := strconv.Atoi(value)
			switch {
			case name == "text":
				s.Text = &value
			case name == "href":
				s.Href = &value
			case name == "attr_id":
				s.ID = &value
			case name == "nth-child" && err == nil:
				s.NthChild = &number
			case name == "nth-of-type" && err == nil:
				s.NthOfType = &number
			default:
				s.Attributes[name] = value
			}
		}
		shown = append(shown, s)
	}
	return wire.MustEncode(shown)
}
