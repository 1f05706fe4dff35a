package insights

// binder binds the conditions and values of a query for one run.
type binder struct {
	*run
	needs needs
	// err is the first error of binding. It is also set by functions that are called during a scan
	// and cannot return an error.
	err error
	// from and to are the range of the query in microseconds, around which sessions are read.
	from, to int64
	// sessionsByID is nil until sessions have been read.
	sessionsByID map[string]*session
	// groupsOf are the numbers of groups by type; nil for types that are not counted.
	groupsOf [maxGroupTypes]*interner
}

// eventProperty returns the getter of a property of the event.
func (b *binder) eventProperty(name string) getter {
	b.needs.columns |= Properties
	slot := b.needs.event.slot(name)
	return func(r *row) string { return r.property(slot) }
}

// setErr records an error of binding or evaluating, unless an earlier one is recorded.
func (b *binder) setErr(err error) {
	if b.err == nil {
		b.err = err
	}
}

// scanBound scans the columns that the binder needs, in addition to those of s, and calls yield for
// each event. It ends with the first error of the binder, also if it occurs during the scan.
func (b *binder) scanBound(s Scan, yield func(r *row) error) error {
	if b.err != nil {
		return b.err
	}
	s.Columns |= b.needs.columns
	r := newRow(&b.needs)
	return b.scan(s, func(batch *Batch) error {
		for i := range batch.Len() {
			r.moveTo(batch, i)
			if err := yield(r); err != nil {
				return err
			}
		}
		return b.err
	})
}

// maxGroupTypes is the number of group types that a project may have.
const maxGroupTypes = 5
