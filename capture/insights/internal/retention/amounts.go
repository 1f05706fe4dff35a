package retention

import (
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// This file sums a property of the events that retention counts, if aggregationType requests it.

// retentionAmount defines the property that is summed. Missing values and values that are not
// numbers count as 0.
type retentionAmount struct {
	bindValue func(b *scan.Binder) scan.Getter
	// average divides the sum of a cell by its number of actors.
	average bool
	// within also counts returning events in the interval of the row, if they are after the first
	// target event. It is false if both entities are the same event.
	within bool
}

// readRetentionAmount parses aggregationType and the members that belong to it. It returns nil if
// only actors are counted.
func readRetentionAmount(f document.Node) *retentionAmount {
	kind := f.Get("aggregationType").Choice("count", "count", "sum", "avg")
	property := f.Get("aggregationProperty").Text("")
	isPerson := f.Get("aggregationPropertyType").Choice("event", "event", "person") == "person"
	if kind == "count" || property == "" {
		return nil
	}
	if f.Get("cumulative").Boolean() {
		f.Get("aggregationType").Fail(document.NotSupported, "The %s of a property is not supported in cumulative retention.", kind)
	}
	target, returning := f.Get("targetEntity"), f.Get("returningEntity")
	return &retentionAmount{
		bindValue: func(b *scan.Binder) scan.Getter {
			if isPerson {
				return b.PersonProperty(property)
			}
			return b.EventProperty(property)
		},
		average: kind == "avg",
		within:  target.Get("id").Value != returning.Get("id").Value || target.Get("type").Text("events") != returning.Get("type").Text("events"),
	}
}

// amountKey identifies an interval, counted from 1, of an actor with a breakdown value.
type amountKey struct {
	actor, value uint32
	interval     uint16
}

// eventAmount is the value of the property for one event.
type eventAmount struct {
	// at is the time of the event in microseconds since 1970.
	at              int64
	value           float64
	target, returns bool
}

// eventAmountSize is the approximate size of an eventAmount in a list, in bytes.
const eventAmountSize = 32

// amounts are the values of the property that a run has read.
type amounts struct {
	*retentionAmount
	value scan.Getter
	byKey map[amountKey][]eventAmount
}

// add stores the value of an event.
func (a *amounts) add(f *retentionRun, w *scan.Row, actor uint32, p presence) error {
	// Events before the first row have no cell.
	if p.interval == 0 {
		return nil
	}
	key := amountKey{actor, p.value, p.interval}
	size := int64(eventAmountSize)
	// A new key needs memory for its entry in the map.
	if a.byKey[key] == nil {
		size += 64
	}
	if err := f.Reserve(size); err != nil {
		return err
	}
	n, _ := document.NumberOf(a.value(w))
	a.byKey[key] = append(a.byKey[key], eventAmount{w.Batch.Time[w.Index], n, p.target, p.returns > 0})
	return nil
}

// cells calls yield with the values of an actor's events in a row, for each with its column. The
// caller sums them.
func (a *amounts) cells(f *retentionRun, actor, value uint32, row int, yield func(column int, sum float64)) {
	first := int64(-1)
	start := a.byKey[amountKey{actor, value, uint16(row + 1)}]
	// Column 0 has the target events, and with within the returning events after the first of them.
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
	// The later columns have the returning events of intervals with at least the minimum number of
	// them.
	for interval := row + 1; interval < f.Len(); interval++ {
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
