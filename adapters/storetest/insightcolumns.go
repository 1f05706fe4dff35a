package storetest

import (
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// neededScan returns a scan with only the columns that are needed of the events with a name.
func neededScan(s port.Scan, name string) port.Scan {
	if s.Detailed != nil && !slices.Contains(s.Detailed, name) {
		s.Columns &^= port.Elements | port.Properties | port.PersonProperties
	}
	return s
}

// neededOf returns a batch without the long columns if a scan does not need those of an event: they may
// have any value.
func neededOf(s port.Scan, b *port.Batch, i int) *port.Batch {
	if s.Detailed == nil || neededScan(s, b.Name[i]).Columns == s.Columns {
		return b
	}
	e := *b
	e.Elements, e.Properties, e.PersonProperties, e.EventProperties = nil, nil, nil, nil
	return &e
}
