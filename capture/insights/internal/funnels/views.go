package funnels

import "slices"

// attribution defines for which breakdown values the events of an actor count (§2.5.3).
type attribution int

// The values of breakdownAttributionType.
const (
	firstTouch attribution = iota
	lastTouch
	allEvents
	stepTouch // the value of a particular step
)

// attributor divides the events of an actor by breakdown value.
type attributor struct {
	attribution attribution
	// step is the step of stepTouch, from 0.
	step     int
	anyOrder bool
	// scratch and values are reused from actor to actor.
	scratch []occurrence
	values  []uint32
}

// each calls yield for each breakdown value of an actor with the events that count for it. The
// events must be in chronological order; yield must not retain the slice.
func (v *attributor) each(events []occurrence, yield func(value uint32, events []occurrence) error) error {
	switch v.attribution {
	case firstTouch:
		return yield(firstValue(events), events)
	case lastTouch:
		value := uint32(0)
		for i := len(events) - 1; i >= 0 && value == 0; i-- {
			value = events[i].value
		}
		return yield(value, events)
	}
	v.values = v.values[:0]
	// allEvents and stepTouch yield each value that an event has, or that an event of the step has.
	for i := range events {
		if (v.attribution == allEvents || v.isStep(&events[i])) && !slices.Contains(v.values, events[i].value) {
			v.values = append(v.values, events[i].value)
		}
	}
	for _, value := range v.values {
		v.scratch = v.scratch[:0]
		for _, e := range events {
			if e.value == value {
				v.scratch = append(v.scratch, e)
			} else if v.attribution == stepTouch {
				v.scratch = append(v.scratch, v.removeStep(e))
			}
		}
		if err := yield(value, v.scratch); err != nil {
			return err
		}
	}
	return nil
}

// firstValue returns the first value that is not empty, 0 if there is none.
func firstValue(events []occurrence) uint32 {
	for i := range events {
		if events[i].value != 0 {
			return events[i].value
		}
	}
	return 0
}

// isStep reports whether an event can be the step whose value counts. In an unordered funnel, every
// step can be the first.
func (v *attributor) isStep(e *occurrence) bool {
	if v.anyOrder {
		return e.match&stepBits != 0
	}
	return e.match>>v.step&1 != 0
}

// removeStep returns an event of another value, which stays in the list but cannot be the step.
func (v *attributor) removeStep(e occurrence) occurrence {
	if v.anyOrder {
		e.match |= cannotBegin
	} else {
		e.match &^= 1 << v.step
	}
	return e
}
