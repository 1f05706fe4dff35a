package insights

import "github.com/bunting-flags/bunting/capture"

// people returns a function that returns the number of an event's person. Numbers begin at 0 and
// are the same in all scans of a run.
func (b *binder) people() func(*row) uint32 {
	if b.mode == modeNoOverride {
		b.needs.columns |= PeopleAtEvent
		return func(r *row) uint32 { return b.numberAtEvent(r.b.PersonAtEvent[r.i]) }
	}
	b.needs.columns |= People
	return func(r *row) uint32 { return r.b.Person[r.i] }
}

// personSet evaluates test for all persons, with their current properties, and returns the result
// for the person of an event. fallback is the result for persons that no longer exist.
func (b *binder) personSet(fallback bool, test func(*capture.StoredPerson) bool) func(*row) bool {
	differing := map[capture.UUID]bool{} // persons whose result is not fallback
	b.readProfiles(func(p *capture.StoredPerson) error {
		if test(p) == fallback {
			return nil
		}
		differing[p.UUID] = true
		return b.reserve(64)
	})
	person := b.people()
	var cached []uint8 // by number: 0 not determined, 1 false, 2 true
	return func(r *row) bool {
		n := person(r)
		for int(n) >= len(cached) {
			_ = b.reserve(int64(len(cached) + 1024)) // checked after the batch
			cached = append(cached, make([]uint8, len(cached)+1024)...)
		}
		if cached[n] == 0 {
			cached[n] = 1
			if differing[b.personID(n)] != fallback {
				cached[n] = 2
			}
		}
		return cached[n] == 2
	}
}

// readProfiles calls yield for all persons of the project, unless binding has failed already.
func (b *binder) readProfiles(yield func(*capture.StoredPerson) error) {
	if b.err == nil {
		b.err = b.reader.Profiles(b.ctx, nil, yield)
	}
}

// readGroups calls yield for all groups of a type, unless binding has failed already.
func (b *binder) readGroups(groupType int, yield func(key, properties string) error) {
	if b.err == nil {
		b.err = b.reader.Groups(b.ctx, groupType, nil, func(g *capture.Group) error { return yield(g.Key, g.Properties.String()) })
	}
}
