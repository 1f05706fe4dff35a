package insights

import "slices"

// attribution says to which breakdown values an actor's events count (§2.5.3).
type attribution int

const (
	firstTouch attribution = iota
	lastTouch
	allEvents
	ofStep // attributionStep
)

// views gives the events of an actor as each of its breakdown values has them.
type views struct {
	attribution attribution
	step        int // of ofStep, from 0
	anyOrder    bool
	scratch     []occurrence
	values      []uint32
}

// each calls see for each value of an actor, whose events are in chronological order;
// see may not keep what it is given.
func (v *views) each(events []occurrence, see func(value uint32, events []occurrence) error) error {
	switch v.attribution {
	case firstTouch:
		return see(firstValue(events), events)
	case lastTouch:
		value := uint32(0)
		for i := len(events) - 1; i >= 0 && value == 0; i-- {
			value = events[i].value
		}
		return see(value, events)
	}
	v.values = v.values[:0]
	for i := range events {
		if (v.attribution == allEvents || v.is(&events[i])) && !slices.Contains(v.values, events[i].value) {
			v.values = append(v.values, events[i].value)
		}
	}
	for _, value := range v.values {
		v.scratch = v.scratch[:0]
		for _, e := range events {
			if e.value == value {
				v.scratch = append(v.scratch, e)
			} else if v.attribution == ofStep {
				v.scratch = append(v.scratch, v.without(e))
			}
		}
		if err := see(value, v.scratch); err != nil {
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

// is says whether an event can be the step that values are attributed to: in any
// order every step can be the first.
func (v *views) is(e *occurrence) bool {
	if v.anyOrder {
		return e.match&stepBits != 0
	}
	return e.match>>v.step&1 != 0
}

// without is an event of another value.
func (v *views) without(e occurrence) occurrence {
	if v.anyOrder {
		e.match |= mayNotBegin
	} else {
		e.match &^= 1 << v.step
	}
	return e
}
