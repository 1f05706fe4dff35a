package scan

import "github.com/bunting-flags/bunting/capture/insights/port"

// needs are the columns and properties of events that a query reads. Binding conditions and values
// collects them, so needs are complete only when everything is bound.
type needs struct {
	Columns       port.Columns
	event, Person Keys
	// allProperties is true if Batch.Properties is read, not only some properties.
	allProperties bool
}

// Scan returns a scan of s that also has what is needed.
func (n *needs) Scan(s port.Scan) port.Scan {
	if !n.allProperties && s.Columns&port.Properties == 0 && n.Columns&port.Properties != 0 {
		s.EventProperties = n.event.Names
	}
	s.Columns |= n.Columns
	return s
}

// Row is the current event of a scan. Its properties are extracted from JSON when the first of them
// is read.
type Row struct {
	Batch *port.Batch
	Index int
	// event and person are the values of the needed properties as JSON text.
	event, person members
}

// NewRow returns a row for the properties that are needed. All conditions must be bound.
func NewRow(n *needs) *Row {
	return &Row{event: newMembers(&n.event), person: newMembers(&n.Person)}
}

// MoveTo makes event i of a batch the current event.
func (r *Row) MoveTo(b *port.Batch, i int) {
	r.Batch, r.Index = b, i
	r.event.reset()
	r.person.reset()
}

// property returns the event's property in a slot as JSON text, "" if it is absent.
func (r *Row) property(slot int) string {
	if columns := r.Batch.EventProperties; columns != nil {
		return columns[slot][r.Batch.EventPropertyOf[slot][r.Index]]
	}
	return r.event.get(r.Batch.Properties[r.Index], slot)
}

// PersonProperty returns the person's property in a slot, as it was after the event.
func (r *Row) PersonProperty(slot int) string {
	return r.person.get(r.Batch.PersonProperties[r.Index], slot)
}

// Getter returns a value of an event as JSON text, "" if it is absent. The string may refer to
// memory of the batch.
type Getter func(*Row) string
