package hogql

import "fmt"

// group has the rows with the same keys. For SELECT DISTINCT the keys are the selected items.
type group struct {
	keys []Value
	// states are the states of the aggregates. They are nil for SELECT DISTINCT without
	// groups.
	states   []state
	time, id int64 // of the earliest row
	// first is the earliest row. It is only set for SELECT DISTINCT without groups.
	first *output
}

// addRow adds a row, or the group in env.results if r is nil, to the result if it is among
// the first in the order.
func (q *Query) addRow(r *Row, time, id int64) {
	row := output{time: time, id: id, order: evaluate(q.scratch(), q.order, r)}
	q.rows.terms, q.rows.newest = q.terms, q.statement.NewestFirst
	if q.env.err != nil || !q.rows.canEnter(&row) {
		return
	}
	// The values may share memory with the row and must be copied. Only rows that enter the
	// result are copied, and the buffer of a dropped row is reused.
	cloned := q.spare[:0]
	q.spare = nil
	for _, v := range row.order {
		cloned = append(cloned, v.clone())
	}
	row.order = cloned
	// Many rows enter the result and are dropped later, so the caller may delay the
	// evaluation of the items.
	if r != nil && r.Deferred {
		row.index, row.deferred = r.Index, true
	} else {
		row.items = cloneAll(evaluate(nil, q.items, r))
	}
	q.env.reserveLater(row.size())
	if dropped, ok := q.rows.add(row); ok {
		q.env.reserveLater(-dropped.size())
		q.spare = dropped.order
	}
}

// EvaluateDeferred evaluates the items of the deferred rows that are still part of the
// result. row must return the row with an index.
//
// The caller uses it with Row.Deferred if the items need fields that are expensive to read:
// these are then only read for rows that are returned.
func (q *Query) EvaluateDeferred(row func(index int) *Row) error {
	for i := range q.rows.all {
		o := &q.rows.all[i]
		if !o.deferred {
			continue
		}
		q.env.next()
		before := o.size()
		o.items, o.deferred = cloneAll(evaluate(nil, q.items, row(o.index))), false
		q.env.reserveLater(o.size() - before)
	}
	return q.env.err
}

// scratch returns an empty buffer for the values of ORDER BY.
func (q *Query) scratch() []Value {
	if q.values == nil {
		q.values = make([]Value, 0, len(q.order))
	}
	return q.values[:0]
}

// group returns the group with the keys of a row, and creates it if needed. isNew reports
// whether it was created.
//
// It returns nil if there are too many groups, which is an error of the query.
func (q *Query) group(keys []compiled, r *Row) (g *group, isNew bool) {
	q.buf = q.buf[:0]
	q.keyValues = evaluate(q.keyValues[:0], keys, r)
	for _, v := range q.keyValues {
		q.buf = appendKey(q.buf, v)
	}
	g = q.byKey[string(q.buf)]
	if g == nil {
		if len(q.byKey) >= maxGroups {
			q.env.fail(&Error{Code: TooLarge, Text: fmt.Sprintf("A query may have %d groups: narrow the time or filter more.", maxGroups)})
			return nil, false
		}
		g = &group{keys: cloneAll(q.keyValues), time: r.Time, id: r.ID}
		q.byKey[string(q.buf)] = g
		q.inOrder = append(q.inOrder, g)
		q.env.reserveLater(int64(len(q.buf)) + 160)
		for _, v := range g.keys {
			q.env.reserveLater(v.size())
		}
		return g, true
	}
	// Equal keys may have different kinds, for example a number and a string with its digits.
	// The group then has a string.
	for i, v := range q.keyValues {
		if stored := &g.keys[i]; stored.kind != v.kind && v.kind != Null && !(stored.isNumber() && v.isNumber()) { // numbers are only returned as such if all are (§2.9.7)
			*stored = Value{kind: Text, json: true, s: q.env.text(stored.clone())}
		}
	}
	return g, false
}

// addToGroup adds a row to the aggregates of its group.
func (q *Query) addToGroup(r *Row) {
	g, isNew := q.group(q.keys, r)
	if g == nil {
		return
	}
	if isNew {
		g.states = q.groups.newStates()
	} else if r.before(g.time, g.id) {
		g.time, g.id = r.Time, r.ID
	}
	for i, a := range q.groups.all {
		a.add(g.states[i], r)
	}
}

// addDistinct adds a row to SELECT DISTINCT. Of equal rows only the earliest is stored, with
// its values of ORDER BY.
func (q *Query) addDistinct(r *Row) {
	g, isNew := q.group(q.items, r)
	if g == nil || !isNew && !r.before(g.time, g.id) {
		return
	}
	if g.first != nil {
		q.env.reserveLater(-g.first.size())
	}
	g.time, g.id = r.Time, r.ID
	g.first = &output{time: r.Time, id: r.ID, order: cloneAll(evaluate(q.scratch(), q.order, r))}
	q.env.reserveLater(g.first.size())
}

// finish adds the groups to the result.
func (q *Query) finish() {
	if q.groups == nil && !q.statement.distinct {
		return
	}
	if q.groups != nil && len(q.keys) == 0 && len(q.inOrder) == 0 { // aggregates over no rows have one group
		q.inOrder = append(q.inOrder, &group{states: q.groups.newStates()})
	}
	q.rows.terms, q.rows.newest = q.terms, q.statement.NewestFirst
	// seen has the items of the groups so far, for SELECT DISTINCT with groups.
	var seen map[string]*group
	if q.groups != nil && q.statement.distinct {
		seen = map[string]*group{}
	}
	for _, g := range q.inOrder {
		if !q.env.tick() {
			return
		}
		if q.groups == nil {
			g.first.items = g.keys
			if q.rows.canEnter(g.first) {
				q.rows.add(*g.first)
			}
			continue
		}
		q.finishGroup(g, seen)
	}
}

// finishGroup computes the results of a group, and adds the group if it meets HAVING and
// DISTINCT.
func (q *Query) finishGroup(g *group, seen map[string]*group) {
	q.env.next()
	// Items, HAVING and ORDER BY read the keys and aggregates from these slots.
	n := copy(q.env.results, g.keys)
	for i, a := range q.groups.all {
		q.env.results[n+i] = g.states[i].result(a)
	}
	for i := range q.having {
		if !q.having[i].eval(nil).IsTrue() {
			return
		}
	}
	if seen != nil {
		q.buf = q.buf[:0]
		for _, v := range evaluate(nil, q.items, nil) {
			q.buf = appendKey(q.buf, v)
		}
		if seen[string(q.buf)] != nil {
			return
		}
		seen[string(q.buf)] = g
		q.env.reserveLater(int64(len(q.buf)) + keySize)
	}
	q.addRow(nil, g.time, g.id)
}
