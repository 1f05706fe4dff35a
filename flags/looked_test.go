package flags

import (
	"fmt"
	"time"
)

// ReadFacts returns the facts that the evaluation of one flag uses: properties, and cohorts
// with their membership.
func ReadFacts(s *Set, key string, sub *Subject, now time.Time, sel Selection, explained bool) (seen []string) {
	var t *tracer
	if explained {
		t = &tracer{set: s, trace: &Trace{}, slots: map[int32]bool{}}
	}
	var out Decisions
	sel.Keys = []string{key}
	s.selectTraced(sub, now, &sel, &out, t)
	for i := range s.slots {
		if out.work.facts[i].epoch == out.work.epoch {
			seen = append(seen, fmt.Sprint("property ", s.slots[i].groupType, " ", s.slots[i].key))
		}
	}
	for i := range s.cohorts {
		if out.work.members[i].epoch == out.work.epoch {
			seen = append(seen, fmt.Sprint("cohort ", s.cohorts[i].id))
		}
	}
	return seen
}
