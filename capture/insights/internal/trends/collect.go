package trends

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// collector is a tally that collects the actors of one bucket instead of numbers. It wraps the
// tally of the series.
type collector struct {
	// c is the counting of the series, inner its own tally.
	c     *counting
	inner tally
	// bucket is the bucket whose actors are collected.
	bucket int
	actor  func(*scan.Row) (uint32, bool)
	// accept reports whether an event counts for the bucket.
	accept func(w *scan.Row, bucket int) bool
	found  map[scan.Cell]*scan.Member // by breakdown value and actor
	groups *scan.Interner             // nil for persons
}

// prepare sets accept according to the kind of the inner tally. Tallies ignore some events, for
// example those without the property that is summed, and collector must ignore the same.
func (k *collector) prepare(b *scan.Binder, m *Measure) {
	if m.Group >= 0 {
		k.groups = b.GroupsOf[m.Group]
	}
	k.accept = func(_ *scan.Row, bucket int) bool { return bucket == k.bucket }
	switch t := k.inner.(type) {
	case *window:
		// A window counts an event in several buckets.
		k.accept = func(w *scan.Row, _ int) bool {
			unit := t.units.Find(w.Batch.Time[w.Index])
			return t.first[k.bucket] <= unit && unit <= t.last[k.bucket]
		}
	case *values:
		// Events without a number are ignored.
		k.accept = func(w *scan.Row, bucket int) bool {
			_, ok := t.number(w)
			return ok && bucket == k.bucket
		}
	case *durations:
		// Events without a session are ignored.
		k.accept = func(w *scan.Row, bucket int) bool { return bucket == k.bucket && t.sessions[t.id(w)] != nil }
	case *distinctCounts:
		if m.Basis == "sessions" {
			k.accept = func(w *scan.Row, bucket int) bool {
				_, ok := t.actor(w)
				return ok && bucket == k.bucket
			}
		}
	}
}

// add adds the actor of an event.
func (k *collector) add(w *scan.Row, value, bucket int) error {
	who, ok := k.actor(w)
	if !ok || !k.accept(w, bucket) {
		return nil
	}
	key := scan.Cell{Value: uint32(value), Actor: who}
	// The ids of events are needed only to list these events.
	if err := k.addEvent(key, w.Batch.DistinctID[w.Index]); err != nil || !k.c.WantIDs {
		return err
	}
	k.found[key].IDs = append(k.found[key].IDs, w.Batch.ID[w.Index])
	return k.c.Reserve(16)
}

// maxActorDistinctIDs is the maximum number of distinct ids that are returned for each actor.
const maxActorDistinctIDs = 100

// addEvent counts an event of an actor and adds its distinct id.
func (k *collector) addEvent(key scan.Cell, distinctID string) error {
	m := k.found[key]
	if m == nil {
		if err := k.c.Reserve(scan.MemberSize); err != nil {
			return err
		}
		m = &scan.Member{}
		k.found[key] = m
	}
	m.Events++
	if len(m.DistinctIDs) < maxActorDistinctIDs && !slices.Contains(m.DistinctIDs, distinctID) {
		m.DistinctIDs = append(m.DistinctIDs, strings.Clone(distinctID))
		return k.c.Reserve(int64(len(distinctID)) + 16)
	}
	return nil
}

// seeFirst forwards events to a tally of first-time maths; its actors are determined in actorSet,
// when all events have been read. For other tallies it does what counting.see would do.
func (k *collector) seeFirst(w *scan.Row, passes func() bool) error {
	if f, ok := k.inner.(*firstTime); ok {
		return f.seeFirst(w, passes)
	}
	if !passes() {
		return nil
	}
	if k.c.measuring {
		k.c.measure(w)
		return nil
	}
	return k.c.eachValue(w, func(value int) error { return k.add(w, value, k.c.bucketOf(w)) })
}

// points is not used: a collector has actors, not numbers.
func (k *collector) points(int) ([][]float64, error) { return nil, nil }

// actorSet returns the actors of the breakdown values for which matches is true, each actor once
// and sorted by id.
func (k *collector) actorSet(r *scan.Run, group int, matches func(value int) bool) *scan.ActorSet {
	// A tally of first-time maths has its actors in a map of its own.
	if f, ok := k.inner.(*firstTime); ok {
		for who, first := range f.firsts {
			if !first.counts || k.c.display != total && k.c.period.Find(first.at) != k.bucket {
				continue
			}
			for _, value := range first.values {
				_ = k.c.Reserve(scan.MemberSize) // an error is found by the next reserve
				k.found[scan.Cell{Value: uint32(value), Actor: who}] = &scan.Member{Events: 1, IDs: []int64{first.id}}
			}
		}
	}
	// Merge the entries of an actor with several breakdown values.
	byActor := map[uint32]*scan.Member{}
	for key, m := range k.found {
		if !matches(int(key.Value)) {
			continue
		}
		if existing := byActor[key.Actor]; existing != nil {
			existing.Events += m.Events
			existing.IDs = append(existing.IDs, m.IDs...)
			continue
		}
		byActor[key.Actor] = m
	}
	out := &scan.ActorSet{GroupType: group}
	_ = k.c.Reserve(scan.MemberSize * int64(len(byActor))) // an error is found by the next reserve
	for who, m := range byActor {
		if group >= 0 {
			m.Group = k.groups.All[who]
		} else {
			m.Person = r.PersonID(who)
		}
		out.Members = append(out.Members, *m)
	}
	slices.SortFunc(out.Members, func(a, b scan.Member) int {
		if c := slices.Compare(a.Person[:], b.Person[:]); c != 0 {
			return c
		}
		return strings.Compare(a.Group, b.Group)
	})
	return out
}
