package insights

// needs are the columns and properties of events that a query reads. Binding conditions and values
// collects them, so needs are complete only when everything is bound.
type needs struct {
	columns       Columns
	event, person keys
}

// row is the current event of a scan. Its properties are extracted from JSON when the first of them
// is read.
type row struct {
	needs *needs
	b     *Batch
	i     int
	// event and person are the values of the needed properties as JSON text, by slot.
	event, person []string
	// eventRead and personRead report whether event and person are set for the current event.
	eventRead, personRead bool
}

// newRow returns a row for the properties that are needed. All conditions must be bound.
func newRow(n *needs) *row {
	return &row{needs: n, event: make([]string, len(n.event.names)), person: make([]string, len(n.person.names))}
}

// moveTo makes event i of a batch the current event.
func (r *row) moveTo(b *Batch, i int) {
	r.b, r.i = b, i
	r.eventRead, r.personRead = false, false
}

// property returns the event's property in a slot as JSON text, "" if it is absent.
func (r *row) property(slot int) string {
	if !r.eventRead {
		r.needs.event.extract(r.b.Properties[r.i], r.event)
		r.eventRead = true
	}
	return r.event[slot]
}

// personProperty returns the person's property in a slot, as it was after the event.
func (r *row) personProperty(slot int) string {
	if !r.personRead {
		r.needs.person.extract(r.b.PersonProperties[r.i], r.person)
		r.personRead = true
	}
	return r.person[slot]
}

// getter returns a value of an event as JSON text, "" if it is absent. The string may refer to
// memory of the batch.
type getter func(*row) string
