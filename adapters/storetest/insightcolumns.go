package storetest

import (
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// columnsOf returns the columns that a scan needs of the events with a name.
func columnsOf(s port.Scan, name string) port.Columns {
	if s.Detailed == nil || slices.Contains(s.Detailed, name) {
		return s.Columns
	}
	return s.Columns &^ (port.Elements | port.Properties | port.PersonProperties)
}

// neededOf returns a batch without the long columns if a scan does not need those of an event: they may
// have any value.
func neededOf(s port.Scan, b *port.Batch, i int) *port.Batch {
	if s.Detailed == nil || columnsOf(s, b.Name[i]) == s.Columns {
		return b
	}
	e := *b
	e.Elements, e.Properties, e.PersonProperties = nil, nil, nil
	return &e
}
