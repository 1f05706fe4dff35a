package insights

// This file sums a property of the events that retention counts (aggregationType), where
// it is asked for.

// retentionAmount is what is summed of events: a property, missing and what is no number
// as 0.
type retentionAmount struct {
	bindValue func(b *binder) getter
	average   bool // by the people of a cell
	// within: events of return count in the interval of the row as well, those after the
	// first target event. Not so where both entities are the same event.
	within bool
}

// readRetentionAmount reads aggregationType and what belongs to it, nil for a count.
func readRetentionAmount(f node) *retentionAmount {
	kind := f.get("aggregationType").choice("count", "count", "sum", "avg")
	property := f.get("aggregationProperty").text("")
	isPerson := f.get("aggregationPropertyType").choice("event", "event", "person") == "person"
	if kind == "count" || property == "" {
		return nil
	}
	if f.get("cumulative").boolean() {
		f.get("aggregationType").fail(notSupported, "The %s of a property is not supported of cumulative retention.", kind)
	}
	target, returning := f.get("targetEntity"), f.get("returningEntity")
	return &retentionAmount{
		bindValue: func(b *binder) getter {
			if isPerson {
				return b.personProperty(property)
			}
			return b.eventProperty(property)
		},
		average: kind == "avg",
		within:  target.get("id").value != returning.get("id").value || target.get("type").text("events") != returning.get("type").text("events"),
	}
}

// amountKey is an interval, from 1 on, of an actor with a breakdown value.
type amountKey struct {
	actor, value uint32
	interval     uint16
}

// eventAmount is the property of one event.
type eventAmount struct {
	at              int64
	value           float64
	target, returns bool
}

// eventAmountSize is about the bytes of one in a list.
const eventAmountSize = 32

// amounts are those that a run has read.
type amounts struct {
	*retentionAmount
	value getter
	byKey map[amountKey][]eventAmount
}

// add keeps the amount of an event.
func (a *amounts) add(f *retentionRun, w *row, actor uint32, p presence) error {
	if p.interval == 0 {
		return nil
	}
	key := amountKey{actor, p.value, p.interval}
	size := int64(eventAmountSize)
	if a.byKey[key] == nil {
		size += 64
	}
	if err := f.reserve(size); err != nil {
		return err
	}
	n, _ := numberOf(a.value(w))
	a.byKey[key] = append(a.byKey[key], eventAmount{w.b.Time[w.i], n, p.target, p.returns > 0})
	return nil
}

// cells gives the sums of an actor's row by its columns.
func (a *amounts) cells(f *retentionRun, actor, value uint32, row int, yield func(column int, sum float64)) {
	first := int64(-1)
	start := a.byKey[amountKey{actor, value, uint16(row + 1)}]
	for _, e := range start {
		if e.target {
			yield(0, e.value)
			if first < 0 || e.at < first {
				first = e.at
			}
		}
	}
	for _, e := range start {
		if a.within && e.returns && e.at > first {
			yield(0, e.value)
		}
	}
	for interval := row + 1; interval < f.len(); interval++ {
		column := f.rule.column(interval - row)
		if column >= f.rule.columns {
			return
		}
		events := a.byKey[amountKey{actor, value, uint16(interval + 1)}]
		returns := uint32(0)
		for _, e := range events {
			if e.returns {
				returns++
			}
		}
		for _, e := range events {
			if e.returns && returns >= f.rule.minimum {
				yield(column, e.value)
			}
		}
	}
}
