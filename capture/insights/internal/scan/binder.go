package scan

import (
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Binder binds the conditions and values of a query for one run.
type Binder struct {
	*Run
	Needs needs
	// Err is the first error of binding. It is also set by functions that are called during a scan
	// and cannot return an error.
	Err error
	// From and To are the range of the query in microseconds, around which sessions are read.
	From, To int64
	// sessionsByID is nil until sessions have been read.
	sessionsByID map[string]*Session
	// GroupsOf are the numbers of groups by type; nil for types that are not counted.
	GroupsOf [MaxGroupTypes]*Interner
}

// EventProperty returns the getter of a property of the event.
func (b *Binder) EventProperty(name string) Getter {
	b.Needs.Columns |= port.Properties
	slot := b.Needs.event.Slot(name)
	return func(r *Row) string { return r.property(slot) }
}

// AllProperties requests Batch.Properties, all properties of the event.
func (b *Binder) AllProperties() {
	b.Needs.Columns |= port.Properties
	b.Needs.allProperties = true
}

// SetErr records an error of binding or evaluating, unless an earlier one is recorded.
func (b *Binder) SetErr(err error) {
	if b.Err == nil {
		b.Err = err
	}
}

// ScanBound scans the columns that the binder needs, in addition to those of s, and calls yield for
// each event. It ends with the first error of the binder, also if it occurs during the scan.
func (b *Binder) ScanBound(s port.Scan, yield func(r *Row) error) error {
	if b.Err != nil {
		return b.Err
	}
	return b.Scan(b.Needs.Scan(s), b.each(yield))
}

// each returns a function that calls yield for each event of a batch. It fails with the first error of
// the binder.
func (b *Binder) each(yield func(r *Row) error) func(*port.Batch) error {
	r := NewRow(&b.Needs)
	return func(batch *port.Batch) error {
		for i := range batch.Len() {
			r.MoveTo(batch, i)
			if err := yield(r); err != nil {
				return err
			}
		}
		return b.Err
	}
}

// MaxGroupTypes is the number of group types that a project may have.
const MaxGroupTypes = 5

// ColumnGetters are the columns of events that filters and breakdowns can use, as JSON text.
var ColumnGetters = map[string]func(b *Binder) Getter{
	"event": func(b *Binder) Getter {
		return b.column(port.Names, func(r *Row) string { return wire.Quote(r.Batch.Name[r.Index]) })
	},
	"distinct_id": func(b *Binder) Getter {
		return b.column(port.DistinctIDs, func(r *Row) string { return wire.Quote(r.Batch.DistinctID[r.Index]) })
	},
	"uuid": func(b *Binder) Getter {
		return b.column(port.UUIDs, func(r *Row) string { return `"` + r.Batch.UUID[r.Index].String() + `"` })
	},
	"person_id": func(b *Binder) Getter {
		actor := b.People()
		return func(r *Row) string { return `"` + b.PersonID(actor(r)).String() + `"` }
	},
	"timestamp": func(b *Binder) Getter {
		return b.column(0, func(r *Row) string {
			return `"` + time.UnixMicro(r.Batch.Time[r.Index]).UTC().Format(time.RFC3339Nano) + `"`
		})
	},
	"elements_chain": func(b *Binder) Getter { return b.ElementsChain() },
	"$session_id":    func(b *Binder) Getter { return b.EventProperty("$session_id") },
	"$window_id":     func(b *Binder) Getter { return b.EventProperty("$window_id") },
	"$group_0":       func(b *Binder) Getter { return b.GroupKey(0) },
	"$group_1":       func(b *Binder) Getter { return b.GroupKey(1) },
	"$group_2":       func(b *Binder) Getter { return b.GroupKey(2) },
	"$group_3":       func(b *Binder) Getter { return b.GroupKey(3) },
	"$group_4":       func(b *Binder) Getter { return b.GroupKey(4) },
}

// column requests a column for the scan and returns g.
func (b *Binder) column(c port.Columns, g Getter) Getter {
	b.Needs.Columns |= c
	return g
}

// ElementsChain returns the elements chain as JSON text, "" if the event has no chain.
func (b *Binder) ElementsChain() Getter {
	return b.column(port.Elements, func(r *Row) string {
		if chain := r.Batch.Elements[r.Index]; chain != "" {
			return wire.Quote(chain)
		}
		return ""
	})
}

// GroupKey returns the key of the event's group of a type as JSON text, "" if there is no such
// group.
func (b *Binder) GroupKey(groupType int) Getter {
	value := b.EventProperty("$group_" + strconv.Itoa(groupType))
	return func(r *Row) string {
		if key, _ := Text(value(r)); key == "" {
			return ""
		}
		return value(r)
	}
}
