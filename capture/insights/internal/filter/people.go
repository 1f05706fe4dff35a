package filter

import (
	"slices"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// personFilter parses a filter on a property of the person.
func personFilter(n document.Node, p *port.Project) Condition {
	return &personPropertyCondition{readComparison(n, p, flags.FilterSettings{}), readKey(n)}
}

// personPropertyCondition compares a property of the person, or its distinct ids if the key is
// distinct_id.
type personPropertyCondition struct {
	comparison
	key string
}

// Bind uses the properties at the time of the event or the current ones, according to the mode of
// the run.
func (c *personPropertyCondition) Bind(b *scan.Binder) func(*scan.Row) bool {
	test := c.bindTest(b.Run)
	if c.key == "distinct_id" || b.Mode == scan.ModeOverrideJoined || b.Mode == scan.ModeDisabled {
		return b.PersonSet(test(""), c.bindPerson(b))
	}
	b.Needs.Columns |= port.PersonProperties
	slot := b.Needs.Person.Slot(c.key)
	return func(r *scan.Row) bool { return test(r.PersonProperty(slot)) }
}

// bindPerson returns the condition for stored persons, with their current properties.
func (c *personPropertyCondition) bindPerson(b *scan.Binder) func(*capture.StoredPerson) bool {
	test := c.bindTest(b.Run)
	if c.key == "distinct_id" {
		negative := c.isNegative()
		return func(p *capture.StoredPerson) bool { // for a positive operator one id must match; for a negative one, every id
			return slices.ContainsFunc(p.DistinctIDs, func(id string) bool { return test(wire.Quote(id)) != negative }) != negative
		}
	}
	return func(p *capture.StoredPerson) bool {
		value, _ := p.Properties.Get(c.key)
		return test(value)
	}
}

// sessionFilter parses a filter on a value of the event's session.
func sessionFilter(n document.Node, p *port.Project) Condition {
	key := scan.ReadSessionName(n.Get("key"), readKey(n))
	return &valueCondition{comparison: readComparison(n, p, eventFilterSettings(key)), bindValue: func(b *scan.Binder) scan.Getter { return b.SessionValue(key) }}
}
