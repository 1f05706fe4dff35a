package insights

import "slices"

// attribution says to which breakdown values an actor's events count (§2.5.3).
type attribution int

const (
	firstTouch attribution = iota
	lastTouch
	allEvents
	stepTouch // attributionStep
)

// attributor gives the events of an actor as each of its breakdown values has them.
type attributor struct {
	attribution attribution
	step        int // of stepTouch, from 0
	anyOrder    bool
	scratch     []occurrence
	values      []uint32
}

// each calls see for each value of an actor, whose events are in chronological order;
// see may not keep what it is given.
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

func firstValue(events []occurrence) uint32 {
	for i := range events {
		if events[i].value != 0 {
			return events[i].value
		}
	}
	return 0
}

// isStep says whether an event can be the step that values are attributed to: in any
// order every step can be the first.
func (v *attributor) isStep(e *occurrence) bool {
	if v.anyOrder {
		return e.match&stepBits != 0
	}
	return e.match>>v.step&1 != 0
}

// removeStep is an event of another value.
func (v *attributor) removeStep(e occurrence) occurrence {
	if v.anyOrder {
		e.match |= cannotBegin
	} else {
		e.match &^= 1 << v.step
	}
	return e
}
