package storetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// propertiesOf returns the properties of an event that a scan reads.
func propertiesOf(s port.Scan, object string) string {
	if s.EventProperties == nil {
		return object
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		return err.Error()
	}
	values := make([]string, len(s.EventProperties))
	for i, name := range s.EventProperties {
		values[i] = string(members[name])
	}
	return fmt.Sprintf("%q", values)
}

// line returns the text of an event with the requested columns.
func (p *plainStore) line(s port.Scan, e *capture.Record) string {
	var out strings.Builder
	c := s.Columns
	fmt.Fprint(&out, e.Timestamp.UnixMicro())
	owner, exists := p.owner[e.DistinctID]
	if !exists {
		owner = e.PersonID
	}
	person := fmt.Sprint(owner)
	if c&port.PeopleCreated != 0 {
		person += fmt.Sprint(" ", exists)
	}
	for _, column := range []struct {
		column port.Columns
		value  any
	}{
		{port.Names, e.Name}, {port.DistinctIDs, e.DistinctID}, {port.UUIDs, e.UUID}, {port.CreatedAt, e.CreatedAt.UnixMicro()},
		{port.People, person}, {port.PeopleAtEvent, e.PersonID}, {port.Modes, e.PersonMode},
		{port.Elements, e.ElementsChain}, {port.Properties, propertiesOf(s, e.Properties)}, {port.PersonProperties, e.PersonProperties},
	} {
		if c&column.column != 0 {
			fmt.Fprint(&out, " ", column.value)
		} else {
			out.WriteString(" -")
		}
	}
	return out.String()
}

// lineOf is like line for an event of a batch.
func lineOf(s port.Scan, r port.Reader, b *port.Batch, i int) string {
	var out strings.Builder
	c := s.Columns
	fmt.Fprint(&out, b.Time[i])
	add(&out, b.Name, i)
	add(&out, b.DistinctID, i)
	add(&out, b.UUID, i)
	add(&out, b.CreatedAt, i)
	if b.Person == nil {
		out.WriteString(" -")
	} else {
		p := r.Person(b.Person[i])
		fmt.Fprint(&out, " ", p.UUID)
		if c&port.PeopleCreated != 0 {
			if fmt.Fprint(&out, " ", p.Exists); p.Exists && p.CreatedAt != epoch.UnixMicro() {
				return fmt.Sprint("created at ", p.CreatedAt)
			}
		}
	}
	add(&out, b.PersonAtEvent, i)
	add(&out, b.Mode, i)
	add(&out, b.Elements, i)
	if b.EventProperties != nil {
		values := make([]string, len(b.EventProperties))
		for k, column := range b.EventProperties {
			values[k] = column[b.EventPropertyOf[k][i]]
		}
		fmt.Fprintf(&out, " %q", values)
	} else if b.Properties != nil {
		fmt.Fprint(&out, " ", propertiesOf(s, b.Properties[i]))
	} else {
		out.WriteString(" -")
	}
	add(&out, b.PersonProperties, i)
	return out.String()
}

func add[T any](out *strings.Builder, column []T, i int) {
	if column == nil {
		out.WriteString(" -")
		return
	}
	fmt.Fprint(out, " ", column[i])
}
