package scan

import "github.com/bunting-flags/bunting/capture/insights/port"

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
	s.Columns |= b.Needs.Columns
	r := NewRow(&b.Needs)
	return b.Scan(s, func(batch *port.Batch) error {
		for i := range batch.Len() {
			r.MoveTo(batch, i)
			if err := yield(r); err != nil {
				return err
			}
		}
		return b.Err
	})
}

// MaxGroupTypes is the number of group types that a project may have.
const MaxGroupTypes = 5
