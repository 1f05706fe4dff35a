package insights

// needs are what a query looks at of events; binding conditions collects them.
type needs struct {
	columns       Columns
	event, person keys
}

// row is one event of a batch. Its properties are taken apart when the first one
// is asked for.
type row struct {
	needs *needs
	b     *Batch
	i     int
	// event and person are the values of the needed properties as JSON text.
	event, person         []string
	eventRead, personRead bool
}

func newRow(n *needs) *row {
	return &row{needs: n, event: make([]string, len(n.event.names)), person: make([]string, len(n.person.names))}
}

// moveTo moves to an event.
func (r *row) moveTo(b *Batch, i int) {
	r.b, r.i = b, i
	r.eventRead, r.personRead = false, false
}

// property is the JSON text of the event's property in a slot, "" for none.
func (r *row) property(slot int) string {
	if !r.eventRead {
		r.needs.event.extract(r.b.Properties[r.i], r.event)
		r.eventRead = true
	}
	return r.event[slot]
}

// personProperty is that of the person as it was after the event.
func (r *row) personProperty(slot int) string {
	if !r.personRead {
		r.needs.person.extract(r.b.PersonProperties[r.i], r.person)
		r.personRead = true
	}
	return r.person[slot]
}

// getter gives a value of an event as JSON text, "" for none.
type getter func(*row) string

// binder makes conditions ready for one run.
type binder struct {
	*run
	needs needs
	err   error
	// from and to are the query's range in microseconds, for the sessions around it.
	from, to     int64
	sessionsByID map[string]*session
	groupsOf     [maxGroupTypes]*interner // the numbers of groups, by type
}

// eventProperty looks at a property of the event.
func (b *binder) eventProperty(name string) getter {
	b.needs.columns |= Properties
	slot := b.needs.event.slot(name)
	return func(r *row) string { return r.property(slot) }
}
