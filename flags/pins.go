package flags

import "github.com/bunting-flags/bunting/flags/internal/values"

// This file implements pinned values: a person or group has a fixed value, which has
// precedence over early access, the holdout and the conditions.

// pins compiles the pins of a flag. A pin that cannot be used is reported and ignored.
func (c *compiler) pins(f *Flag, out *compiledFlag) {
	for i := range f.Pins {
		in := &f.Pins[i]
		p := compiledPin{isOfGroup: in.Cohort == 0, on: in.Enabled || in.Variant != "", variant: noVariant, until: in.Until}
		if in.Variant != "" {
			variant, declared := c.variant[in.Variant]
			if !declared {
				c.report(NoReason, ".pins", "the flag has no variant "+values.Quote(in.Variant)+", the pin is ignored")
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
			out.For = "the group " + p.group + " " + values.Quote(p.groupKey)
		}
	}
	t.flag.Pin = out
}
