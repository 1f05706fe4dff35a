package scan

import "github.com/bunting-flags/bunting/capture/insights/port"

// needs are the columns and properties of events that a query reads. Binding conditions and values
// collects them, so needs are complete only when everything is bound.
type needs struct {
	Columns       port.Columns
	event, Person Keys
}

// Row is the current event of a scan. Its properties are extracted from JSON when the first of them
// is read.
type Row struct {
	needs *needs
	Batch *port.Batch
	Index int
	// event and person are the values of the needed properties as JSON text, by slot.
	event, person []string
	// eventRead and personRead report whether event and person are set for the current event.
	eventRead, personRead bool
}

// NewRow returns a row for the properties that are needed. All conditions must be bound.
func NewRow(n *needs) *Row {
	return &Row{needs: n, event: make([]string, len(n.event.Names)), person: make([]string, len(n.Person.Names))}
}

// MoveTo makes event i of a batch the current event.
func (r *Row) MoveTo(b *port.Batch, i int) {
	r.Batch, r.Index = b, i
	r.eventRead, r.personRead = false, false
}

// property returns the event's property in a slot as JSON text, "" if it is absent.
func (r *Row) property(slot int) string {
	if !r.eventRead {
		r.needs.event.Extract(r.Batch.Properties[r.Index], r.event)
		r.eventRead = true
	}
	return r.event[slot]
}

// PersonProperty returns the person's property in a slot, as it was after the event.
func (r *Row) PersonProperty(slot int) string {
	if !r.personRead {
		r.needs.Person.Extract(r.Batch.PersonProperties[r.Index], r.person)
		r.personRead = true
	}
	return r.person[slot]
}

// Getter returns a value of an event as JSON text, "" if it is absent. The string may refer to
// memory of the batch.
type Getter func(*Row) string
