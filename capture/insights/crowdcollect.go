package insights

import (
	"slices"
	"strings"
)

// collector keeps the actors of a bucket in place of a tally's numbers.
type collector struct {
	c      *counting
	inner  tally
	bucket int
	actor  func(*row) (uint32, bool)
	// accept says whether an event belongs to the bucket.
	accept func(w *row, bucket int) bool
	found  map[cell]*member // by value and actor
	groups *interner        // nil for people
}

// prepare says which events belong to the bucket of a measure.
func (k *collector) prepare(b *binder, m *measure) {
	if m.group >= 0 {
		k.groups = b.groupsOf[m.group]
	}
	k.accept = func(_ *row, bucket int) bool { return bucket == k.bucket }
	switch t := k.inner.(type) {
	case *window:
		k.accept = func(w *row, _ int) bool {
			unit := t.units.find(w.b.Time[w.i])
			return t.first[k.bucket] <= unit && unit <= t.last[k.bucket]
		}
	case *values:
		k.accept = func(w *row, bucket int) bool {
			_, ok := t.number(w)
			return ok && bucket == k.bucket
		}
	case *durations:
		k.accept = func(w *row, bucket int) bool { return bucket == k.bucket && t.sessions[t.id(w)] != nil }
	case *distinctCounts:
		if m.basis == "sessions" {
			k.accept = func(w *row, bucket int) bool {
				_, ok := t.actor(w)
				return ok && bucket == k.bucket
			}
		}
	}
}

func (k *collector) add(w *row, value, bucket int) error {
	who, ok := k.actor(w)
	if !ok || !k.accept(w, bucket) {
		return nil
	}
	key := cell{value: uint32(value), actor: who}
	if err := k.addEvent(key, w.b.DistinctID[w.i]); err != nil || !k.c.wantIDs {
		return err
	}
	k.found[key].ids = append(k.found[key].ids, w.b.ID[w.i])
	return k.c.reserve(16)
}

// maxActorDistinctIDs is how many distinct ids of each actor are kept.
const maxActorDistinctIDs = 100

func (k *collector) addEvent(key cell, distinctID string) error {
	m := k.found[key]
	if m == nil {
		if err := k.c.reserve(memberSize); err != nil {
			return err
		}
		m = &member{}
		k.found[key] = m
	}
	m.events++
	if len(m.distinctIDs) < maxActorDistinctIDs && !slices.Contains(m.distinctIDs, distinctID) {
		m.distinctIDs = append(m.distinctIDs, strings.Clone(distinctID))
		return k.c.reserve(int64(len(distinctID)) + 16)
	}
	return nil
}

// seeFirst lets first-time maths find the first events; who they are of is asked
// at the end.
func (k *collector) seeFirst(w *row, passes func() bool) error {
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

func (k *collector) points(int) ([][]float64, error) { return nil, nil }

// actorSet are the actors of the values that are meant, each once.
func (k *collector) actorSet(r *run, group int, matches func(value int) bool) *actorSet {
	if f, ok := k.inner.(*firstTime); ok {
		for who, first := range f.firsts {
			if !first.counts || k.c.display != total && k.c.period.find(first.at) != k.bucket {
				continue
			}
			for _, value := range first.values {
				_ = k.c.reserve(memberSize) // looked at with the next
				k.found[cell{value: uint32(value), actor: who}] = &member{events: 1, ids: []int64{first.id}}
			}
		}
	}
	byActor := map[uint32]*member{}
	for key, m := range k.found {
		if !matches(int(key.value)) {
			continue
		}
		if existing := byActor[key.actor]; existing != nil {
			existing.events += m.events
			existing.ids = append(existing.ids, m.ids...)
			continue
		}
		byActor[key.actor] = m
	}
	out := &actorSet{groupType: group}
	_ = k.c.reserve(memberSize * int64(len(byActor))) // looked at with the next
	for who, m := range byActor {
		if group >= 0 {
			m.group = k.groups.all[who]
		} else {
			m.person = r.personID(who)
		}
		out.members = append(out.members, *m)
	}
	slices.SortFunc(out.members, func(a, b member) int {
		if c := slices.Compare(a.person[:], b.person[:]); c != 0 {
			return c
		}
		return strings.Compare(a.group, b.group)
	})
	return out
}
