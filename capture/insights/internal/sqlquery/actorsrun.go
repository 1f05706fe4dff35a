package sqlquery

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// actorsRun is one run of an ActorsQuery.
type actorsRun struct {
	*actorsQuery
	*scan.Run
	// selects are the expressions for the kind of actors of this run.
	selects []selectItem
	query   *hogql.Query
	columns []filter.ActorColumn // of the fields that the query reads
	// row and actor are reused for all rows.
	row   hogql.Row
	actor filter.ActorRow
	// holds are the filters on persons.
	holds []func(*capture.StoredPerson) bool
}

// Run finds the actors, feeds each as a row to a HogQL query over the table persons, and encodes
// the result.
func (q *actorsQuery) Run(r *scan.Run) (*port.Result, error) {
	actors := &scan.ActorSet{GroupType: scan.AnyPeople}
	if q.source != nil {
		var err error
		if actors, err = q.source(r); err != nil {
			return nil, err
		}
	}
	// The columns depend on the kind of the actors, so they are compiled after the actors are
	// found.
	f := &actorsRun{actorsQuery: q, Run: r}
	if err := f.prepare(actors.GroupType); err != nil {
		return nil, err
	}
	missing, err := f.rows(actors)
	if err != nil {
		return nil, err
	}
	found, err := f.query.Result()
	if err != nil {
		return nil, withAttrOf(err, f.texts, "query__select")
	}
	rows, err := encodeRows(f.Run, f.query, found.Rows, nil)
	if err != nil {
		return nil, err
	}
	return &port.Result{
		Results: rows, HasMore: &found.More, Limit: &found.Limit, Offset: &found.Offset, Columns: found.Columns, Types: found.Types,
		Extra: map[string]any{"missing_actors_count": missing},
	}, nil
}

// prepare binds the filters and compiles the select list and the order.
func (f *actorsRun) prepare(groupType int) error {
	b := &scan.Binder{Run: f.Run}
	for _, c := range f.filters {
		f.holds = append(f.holds, filter.BindPersons(b, c))
	}
	if b.Err != nil {
		return b.Err
	}
	f.actor = filter.ActorRow{GroupType: groupType, Zone: f.Zone, Display: filter.DisplayNames(f.Project)}
	f.selects = f.actorsQuery.selects
	if f.groupSelects != nil && groupType != scan.AnyPeople {
		f.selects = f.groupSelects
	}
	items := make([]hogql.Item, len(f.selects))
	for i, s := range f.selects {
		items[i] = s.item
	}
	order := f.order
	if !f.hasOrder {
		term, err := hogql.ParseOrder(defaultOrder(f.selects, "created_at", "created_at"))
		if err != nil {
			return filter.AtPlace(err, "query__orderBy")
		}
		order = []hogql.Order{term}
	}
	scope := filter.ActorScope()
	var err error
	f.query, err = hogql.Select("persons", items, nil, order, f.limit, f.offset).Compile(scope, filter.ExpressionContext(f.Run))
	if err != nil {
		return withAttrOf(err, f.texts, "query__select")
	}
	f.columns = filter.ColumnsOf(scope)
	f.row.Fields = make([]hogql.Value, len(f.columns))
	return nil
}

// defaultOrder returns the order of rows if the query has none: by count() or another aggregate
// descending, else by column descending if one of the columns in newest is selected, else by the
// first column.
func defaultOrder(selects []selectItem, column string, newest ...string) string {
	// aggregate is the index of the first aggregate; dated is true if a column of newest is
	// selected.
	aggregate, dated := -1, false
	for i, s := range selects {
		switch text := strings.TrimSpace(s.text); {
		case text == "count()":
			return position(i) + " DESC"
		case aggregate < 0 && s.item.HasAggregate():
			aggregate = i
		case slices.Contains(newest, text):
			dated = true
		}
	}
	switch {
	case aggregate >= 0:
		return position(aggregate) + " DESC"
	case dated:
		return column + " DESC"
	}
	return position(0)
}

// position returns the 1-based position of a column, which HogQL accepts in ORDER BY.
func position(i int) string { return strconv.Itoa(i + 1) }

// rows adds the actors to the query. missing is the number of actors that no longer exist; they
// still have a row.
func (f *actorsRun) rows(actors *scan.ActorSet) (missing int, err error) {
	if f.source == nil {
		return 0, f.Reader.Profiles(f.Context, nil, func(p *capture.StoredPerson) error {
			return f.add(&scan.Member{Person: p.UUID}, p, nil)
		})
	}
	if actors.GroupType >= 0 {
		return f.groupRows(actors)
	}
	// members are the actors for which the reader has not returned data.
	members := make(map[capture.UUID]*scan.Member, len(actors.Members))
	ids := make([]capture.UUID, len(actors.Members))
	if err := f.Reserve(64 * int64(len(ids))); err != nil {
		return 0, err
	}
	for i := range actors.Members {
		ids[i] = actors.Members[i].Person
		members[ids[i]] = &actors.Members[i]
	}
	if len(ids) > 0 {
		err = f.Reader.Profiles(f.Context, ids, func(p *capture.StoredPerson) error {
			m := members[p.UUID]
			delete(members, p.UUID)
			if m == nil {
				return nil
			}
			return f.add(m, p, nil)
		})
	}
	// The actors that remain no longer exist.
	for _, m := range members {
		if err == nil {
			err = f.add(m, nil, nil)
		}
	}
	return len(members), err
}

// groupRows is rows for actors that are groups.
func (f *actorsRun) groupRows(actors *scan.ActorSet) (missing int, err error) {
	if err := f.Reserve(64 * int64(len(actors.Members))); err != nil {
		return 0, err
	}
	members := make(map[string]*scan.Member, len(actors.Members))
	keys := make([]string, len(actors.Members))
	for i := range actors.Members {
		keys[i] = actors.Members[i].Group
		members[keys[i]] = &actors.Members[i]
	}
	if len(keys) > 0 {
		err = f.Reader.Groups(f.Context, actors.GroupType, keys, func(g *capture.Group) error {
			m := members[g.Key]
			delete(members, g.Key)
			if m == nil {
				return nil
			}
			return f.add(m, nil, g)
		})
	}
	for _, m := range members {
		if err == nil {
			err = f.add(m, nil, nil)
		}
	}
	return len(members), err
}

// add adds a row for an actor if the actor matches the search and the filters. p is nil for groups,
// g for persons; both are nil for an actor that no longer exists.
func (f *actorsRun) add(m *scan.Member, p *capture.StoredPerson, g *capture.Group) error {
	if err := f.Context.Err(); err != nil {
		return err
	}
	f.actor.Member, f.actor.Stored, f.actor.Group = m, p, g
	if f.search != "" && !f.actor.MatchesSearch(f.search) {
		return nil
	}
	// For the filters, a group or a person that no longer exists is a person without properties.
	person := p
	if person == nil {
		person = &capture.StoredPerson{Person: capture.Person{UUID: m.Person}}
	}
	fails := slices.ContainsFunc(f.holds, func(holds func(*capture.StoredPerson) bool) bool { return !holds(person) })
	if fails || f.Fault != nil {
		return f.Fault
	}
	f.actor.Fill(f.columns, f.row.Fields)
	// Rows that compare equal are sorted by these two fields. The UUID is split into two integers;
	// flipping the sign bit preserves its unsigned order.
	f.row.Time = int64(binary.BigEndian.Uint64(m.Person[:8]) ^ 1<<63)
	f.row.ID = int64(binary.BigEndian.Uint64(m.Person[8:]) ^ 1<<63)
	return withAttrOf(f.query.Add(&f.row), f.texts, "query__select")
}
