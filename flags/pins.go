package flags

import (
	"time"

	"github.com/bunting-flags/bunting/flags/internal/tape"
)

// This file implements pinned values: a person or group has a fixed value, which has
// precedence over early access, the holdout and the conditions.

// Pin is a value for one person or one group.
type Pin struct {
	// Cohort is the id of a static cohort. All of its members have the value; normally it is
	// one person. The store uses ids below zero for the cohorts of pins, which no other
	// cohort has. Zero means that the pin is for a group.
	Cohort int64
	// GroupType and GroupKey identify the group if Cohort is zero.
	GroupType, GroupKey string
	// Enabled and Variant are the value. If Variant is set, the flag is on. A pin with a
	// variant that the flag does not have is reported and ignored.
	Enabled bool
	Variant string
	// Until is when the pin ends. If zero, it does not end.
	Until time.Time
}

// PinTrace describes the pinned value that decides a flag, or that no pin applies.
type PinTrace struct {
	// Result is "yes", "no" (the pins are for other subjects) or "unknown".
	Result string `json:"result"`
	// For describes the subject of the pin: "the person", or "the group" with its type and
	// key. It is empty if Result is "no".
	For string `json:"for,omitempty"`
	// Until is when the pin ends, zero if it does not end.
	Until time.Time `json:"until,omitzero"`
}

// String returns the result as text.
func (t *PinTrace) String() string {
	text := t.Result
	if t.For != "" {
		text += ", for " + t.For
	}
	if !t.Until.IsZero() {
		text += ", until " + t.Until.UTC().Format(time.RFC3339)
	}
	return text
}

// parsePins parses the pins of a flag's record.
func parsePins(n node) (out []Pin) {
	for list := n.list(); list.next(); {
		p := Pin{Cohort: list.at(nCohort).intOrZero(), GroupType: list.at(nGroupType).textOrEmpty(), GroupKey: list.at(nGroupKey).textOrEmpty()}
		if p.Cohort == 0 && p.GroupType == "" {
			list.fail("a pin must name a cohort or a group_type")
		}
		value := list.at(nValue)
		switch value.kind() {
		case tape.True, tape.False:
			p.Enabled = value.bool()
		default:
			p.Enabled, p.Variant = true, value.text()
		}
		if until := list.at(nExpires); !until.null() {
			at, err := time.Parse(time.RFC3339, until.text())
			if err != nil {
				until.fail("must be a time such as 2026-01-31T12:00:00Z")
			}
			p.Until = at
		}
		out = append(out, p)
	}
	return out
}

// pinRecords returns pins in the form of records.
func pinRecords(pins []Pin) []any {
	out := make([]any, len(pins))
	for i := range pins {
		p := &pins[i]
		record := map[string]any{"value": p.Enabled}
		if p.Variant != "" {
			record["value"] = p.Variant
		}
		if p.Cohort != 0 {
			record["cohort"] = p.Cohort
		} else {
			record["group_type"], record["group_key"] = p.GroupType, p.GroupKey
		}
		if !p.Until.IsZero() {
			record["expires_at"] = p.Until.UTC().Format(time.RFC3339Nano)
		}
		out[i] = record
	}
	return out
}

// pins adds pins to the sum of a flag.
func (s *sums) pins(pins []Pin) {
	s.number(uint64(len(pins)))
	for i := range pins {
		p := &pins[i]
		s.number(uint64(p.Cohort))
		s.text(p.GroupType)
		s.text(p.GroupKey)
		s.text(p.Variant)
		s.bools(p.Enabled, p.Until.IsZero())
		s.number(uint64(p.Until.UnixNano()))
	}
}

// compiledPin is a pin for the members of a cohort or for a group.
type compiledPin struct {
	member          filter
	isOfGroup       bool
	group, groupKey string
	on              bool
	variant         int32
	until           time.Time
}

// pins compiles the pins of a flag. A pin that cannot be used is reported and ignored.
func (c *compiler) pins(f *Flag, out *compiledFlag) {
	for i := range f.Pins {
		in := &f.Pins[i]
		p := compiledPin{isOfGroup: in.Cohort == 0, on: in.Enabled || in.Variant != "", variant: noVariant, until: in.Until}
		if in.Variant != "" {
			variant, declared := c.variant[in.Variant]
			if !declared {
				c.report(NoReason, ".pins", "the flag has no variant "+quote(in.Variant)+", the pin is ignored")
				continue
			}
			p.variant = variant
		}
		if p.isOfGroup {
			p.group, p.groupKey = c.intern(in.GroupType), c.intern(in.GroupKey)
		} else if !c.compilePinCohort(in.Cohort, &p.member) {
			c.report(NoReason, ".pins", "the cohort cannot be evaluated, the pin is ignored")
			continue
		}
		out.pins = append(out.pins, p)
	}
	if len(out.pins) > 0 {
		out.bits |= bitPinned
	}
}

// compilePinCohort compiles the cohort of a pin. It returns false if the cohort cannot be
// evaluated. A cohort that the definitions do not contain is in the store.
func (c *compiler) compilePinCohort(id int64, out *filter) bool {
	if _, exists := c.d.Cohorts[id]; !exists {
		c.staticCohorts[id] = true
	}
	c.cohortFilter(id, operators[In], out)
	return c.set.cohorts[out.target].failure == NoReason
}

// countUses counts the slots and cohorts that a pin uses, see [compiler.countUses].
func (p *compiledPin) countUses(c *compiler, delta int32) {
	c.countFilterUses(&p.member, delta)
	if !p.until.IsZero() {
		c.set.dated += delta
	}
}

// decidePin evaluates the flag's pins. It returns true if a pin applies to the subject, which
// decides the flag.
func (e *evaluation) decidePin(f *compiledFlag, d *Decision) bool {
	result := no
	for i := range f.pins {
		p := &f.pins[i]
		if !p.until.IsZero() && !e.at.Before(p.until) {
			continue
		}
		if p.isOfGroup {
			key, named := e.subject.Groups[p.group]
			result = verdictOf(named && key == p.groupKey)
		} else {
			result = e.membership(&p.member)
		}
		e.trace.pin(p, result)
		switch result {
		case unknown:
			e.setUndecided(d)
			return true
		case yes:
			if d.Reason = (Reason{Code: Pinned, Condition: NoCondition}); p.on {
				f.enable(d, p.variant)
			}
			return true
		}
	}
	return false
}

// pin records the last pin that was checked.
func (t *tracer) pin(p *compiledPin, in verdict) {
	if t == nil {
		return
	}
	out := &PinTrace{Result: in.String()}
	if in != no {
		out.For, out.Until = "the person", p.until
		if p.isOfGroup {
			out.For = "the group " + p.group + " " + quote(p.groupKey)
		}
	}
	t.flag.Pin = out
}
