package insights

import (
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
)

var _ interface { // the interfaces of queries about actors
	ActorFinder(node) actorFinder
	Options(*run) (map[string]any, error)
} = (*lifecycle)(nil)

// ActorFinder finds the persons with a status in a bucket.
func (l *lifecycle) ActorFinder(n node) actorFinder {
	status := slices.Index(lifecycleStatuses, n.get("status").choice("new", lifecycleStatuses...))
	if n.get("day").isAbsent() {
		n.get("day").fail(required, "Actors of a LifecycleQuery need a day.")
	}
	when := readDate(n.get("day"), false)
	return func(r *run) (*actorSet, error) {
		p, err := r.period(l.dates, l.interval)
		if err != nil {
			return nil, err
		}
		stays, err := l.stays(r, p)
		if err != nil {
			return nil, err
		}
		bucket := p.find(r.calendar().resolve(when, r.now).UnixMicro())
		out := &actorSet{groupType: -1}
		for _, s := range stays {
			if s.bucket == bucket && s.status == status {
				out.members = append(out.members, member{person: r.personID(s.person)})
			}
		}
		return out, nil
	}
}

var _ interface { // the interfaces of queries about actors
	ActorFinder(node) actorFinder
	Options(*run) (map[string]any, error)
} = (*stickiness)(nil)

// ActorFinder finds the actors that are active in a number of intervals: exactly, at least or at
// most as many.
func (s *stickiness) ActorFinder(n node) actorFinder {
	days := n.get("day").intInRange(1, maxBuckets, 1)
	series := int(n.get("series").intInRange(0, int64(max(0, len(s.series)-1)), 0))
	// In a cumulative result, a column includes all larger numbers of intervals.
	fallback := "exact"
	if s.cumulative {
		fallback = "gte"
	}
	operator := n.get("operator").choice(fallback, "exact", "gte", "lte")
	attr := fmt.Sprintf("%s__series__%d__math_hogql", n.get("source").attr, series)
	return func(r *run) (*actorSet, error) {
		p, err := r.period(s.dates, s.interval)
		if err != nil {
			return nil, err
		}
		active, keys, err := s.activeIn(&binder{run: r}, p, series)
		if err != nil {
			return nil, err
		}
		out := &actorSet{groupType: s.series[series].math.group}
		for who, n := range active {
			// Skip the actor unless the number is equal, or the operator permits a larger or
			// smaller number.
			if n := int64(n); n != days && (operator != "gte" || n < days) && (operator != "lte" || n > days) {
				continue
			}
			m := member{}
			switch {
			case keys == nil:
				m.person = r.personID(who)
			case out.groupType >= 0:
				m.group = keys.all[who]
			default: // the value of an expression
				id, ok := wire.ParseUUID(keys.all[who])
				if !ok {
					return nil, newError(notSupported, attr, "Actors of a series whose math is an expression are only available if the expression is a person id, such as person_id, not %s.", describe(keys.all[who]))
				}
				m.person = id
			}
			out.members = append(out.members, m)
		}
		return out, nil
	}
}
