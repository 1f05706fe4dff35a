package insights

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Values of modifiers.personsOnEventsMode (§3.3). They determine to which person an event belongs,
// and which of the person's properties are used.
const (
	// The default: the current person, with the properties at the time of the event.
	modeOverrideOnEvents = "person_id_override_properties_on_events"
	// The current person with its current properties.
	modeOverrideJoined = "person_id_override_properties_joined"
	modeDisabled       = "disabled" // the same as modeOverrideJoined
	// The person and the properties at the time of the event.
	modeNoOverride = "person_id_no_override_properties_on_events"
)

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

// personNumbers numbers persons as they were at the time of their events, for modeNoOverride.
type personNumbers struct {
	byUUID map[capture.UUID]uint32
	uuids  []capture.UUID
}

// numberAtEvent returns the number of a person at the time of an event.
func (r *run) numberAtEvent(id capture.UUID) uint32 {
	n, ok := r.eventPersons.byUUID[id]
	if !ok {
		if r.eventPersons.byUUID == nil {
			r.eventPersons.byUUID = map[capture.UUID]uint32{}
		}
		n = uint32(len(r.eventPersons.uuids))
		r.eventPersons.byUUID[id] = n
		r.eventPersons.uuids = append(r.eventPersons.uuids, id)
		_ = r.reserveRetained(64) // checked after the batch
	}
	return n
}

// personID returns the UUID of the person with a number.
func (r *run) personID(number uint32) capture.UUID {
	if r.mode == modeNoOverride {
		return r.eventPersons.uuids[number]
	}
	return r.reader.Person(number).UUID
}

// personFilter parses a filter on a property of the person.
func personFilter(n node, p *Project) condition {
	return &personPropertyCondition{readComparison(n, p, flags.FilterSettings{}), readKey(n)}
}

// personPropertyCondition compares a property of the person, or its distinct ids if the key is
// distinct_id.
type personPropertyCondition struct {
	comparison
	key string
}

// bind uses the properties at the time of the event or the current ones, according to the mode of
// the run.
func (c *personPropertyCondition) bind(b *binder) func(*row) bool {
	test := c.bindTest(b.run)
	if c.key == "distinct_id" || b.mode == modeOverrideJoined || b.mode == modeDisabled {
		return b.personSet(test(""), c.bindPerson(b))
	}
	b.needs.columns |= PersonProperties
	slot := b.needs.person.slot(c.key)
	return func(r *row) bool { return test(r.personProperty(slot)) }
}

// bindPerson returns the condition for stored persons, with their current properties.
func (c *personPropertyCondition) bindPerson(b *binder) func(*capture.StoredPerson) bool {
	test := c.bindTest(b.run)
	if c.key == "distinct_id" {
		negative := c.isNegative()
		return func(p *capture.StoredPerson) bool { // for a positive operator one id must match; for a negative one, every id
			return slices.ContainsFunc(p.DistinctIDs, func(id string) bool { return test(wire.Quote(id)) != negative }) != negative
		}
	}
	return func(p *capture.StoredPerson) bool {
		value, _ := p.Properties.Get(c.key)
		return test(value)
	}
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

// cohortFilter parses a filter on current membership of the person in one of several cohorts.
func cohortFilter(n node, p *Project) condition {
	c := &cohortCondition{}
	ids := n.get("value")
	list := []node{ids}
	if _, ok := ids.value.([]any); ok {
		list = ids.list(maxFilters)
	}
	for _, id := range list {
		c.ids = append(c.ids, readCohort(id, p))
	}
	operator := n.get("operator").choice("in", "in", "exact", "not_in", "is_not")
	c.negated = operator == "not_in" || operator == "is_not" || n.get("negation").boolean()
	return c
}

// readCohort returns the id of a cohort, which must exist and be supported.
func readCohort(n node, p *Project) int64 {
	if text, ok := n.value.(string); ok {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			n.fail(invalidInput, "Cohort %s does not exist.", describe(text))
		}
		return checkCohort(n, p, id)
	}
	if n.isAbsent() {
		n.fail(required, "A filter of type cohort needs a value, the id of a cohort.")
	}
	return checkCohort(n, p, n.intInRange(0, 1<<53, 0))
}

// checkCohort records a fault if the cohort does not exist or is not supported.
func checkCohort(n node, p *Project, id int64) int64 {
	if !hasCohort(p, id) {
		n.fail(invalidInput, "Cohort %d does not exist.", id)
	} else if why := unsupportedReason(p, id, map[int64]bool{}); why != "" {
		n.fail(notSupported, "%s", why)
	}
	return id
}

// unsupportedReason returns why the members of a cohort cannot be computed: it, or a cohort that it
// refers to, has a condition about events (§3.2.4). It returns "" if they can. seen has the cohorts
// that were visited, which ends cycles.
func unsupportedReason(p *Project, id int64, seen map[int64]bool) string {
	c := p.Definitions.Cohorts[id]
	switch {
	case seen[id] || c.Static || c.Deleted:
		return ""
	case c.Unsupported:
		return fmt.Sprintf("Cohort %d (%s) is computed from events, which is not supported.", id, describe(c.Name))
	case c.Tree == nil:
		return ""
	}
	seen[id] = true
	why := ""
	leavesOf(c.Tree, func(n *flags.CohortNode) {
		switch {
		case why != "":
		case n.Unsupported:
			why = fmt.Sprintf("Cohort %d (%s) has a condition of type %s, which is about events and not supported.", id, describe(c.Name), describe(string(n.Leaf.Type)))
		case n.Leaf.Type == flags.CohortProperty:
			inner, _ := n.Leaf.Value.(int64)
			why = unsupportedReason(p, inner, seen)
		}
	})
	return why
}

// leavesOf calls yield for each leaf of a cohort's tree of conditions.
func leavesOf(tree *flags.CohortNode, yield func(*flags.CohortNode)) {
	for open := []*flags.CohortNode{tree}; len(open) > 0; {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		for i := range n.Children {
			open = append(open, &n.Children[i])
		}
		if n.Leaf != nil {
			yield(n)
		}
	}
}

// collectCohorts adds a cohort, and all cohorts that it refers to, to a set.
func collectCohorts(p *Project, id int64, to map[int64]bool) {
	if to[id] {
		return
	}
	to[id] = true
	if c := p.Definitions.Cohorts[id]; c.Tree != nil {
		leavesOf(c.Tree, func(n *flags.CohortNode) {
			if inner, ok := n.Leaf.Value.(int64); ok && n.Leaf.Type == flags.CohortProperty {
				collectCohorts(p, inner, to)
			}
		})
	}
}

// hasCohort reports whether a cohort exists, static or dynamic.
func hasCohort(p *Project, id int64) bool {
	if p.Definitions == nil {
		return false
	}
	_, dynamic := p.Definitions.Cohorts[id]
	return dynamic || slices.Contains(p.Definitions.StaticCohorts, id)
}

// cohortCondition is membership in one of the cohorts, or in no cohort of them if negated.
type cohortCondition struct {
	ids     []int64
	negated bool
}

// bind returns the condition for events: it evaluates all persons when it is bound.
func (c *cohortCondition) bind(b *binder) func(*row) bool {
	return b.personSet(c.negated, c.bindPerson(b))
}

// bindPerson returns the condition for stored persons.
func (c *cohortCondition) bindPerson(b *binder) func(*capture.StoredPerson) bool {
	tests := make([]func(*capture.StoredPerson) bool, len(c.ids))
	for i, id := range c.ids {
		tests[i] = bindCohort(b, id)
	}
	return func(p *capture.StoredPerson) bool {
		return slices.ContainsFunc(tests, func(in func(*capture.StoredPerson) bool) bool { return in(p) }) != c.negated
	}
}

// membershipSize is the approximate size in bytes of a member of a static cohort, in the list of
// members and in the map by person.
const membershipSize = 144

// bindCohort returns a function that reports whether a person is in a cohort. It uses the evaluation of
// flags, so that a cohort has the same members for flags and for queries.
func bindCohort(b *binder, id int64) func(*capture.StoredPerson) bool {
	// The cohort may refer to static cohorts, the members of which are read now.
	static, selected := map[capture.UUID][]int64{}, map[int64]bool{}
	collectCohorts(b.project, id, selected)
	for _, cohort := range b.project.Definitions.StaticCohorts {
		if !selected[cohort] {
			continue
		}
		members, err := b.reader.Members(b.ctx, cohort)
		b.err = errors.Join(b.err, err, b.reserve(membershipSize*int64(len(members))))
		if b.err != nil {
			break
		}
		for _, person := range members {
			static[person] = append(static[person], cohort)
		}
	}
	in := evaluateAsFlag(*b.project.Definitions, flags.Property{Key: "id", Type: flags.CohortProperty, Operator: flags.In, Value: id, HasValue: true})
	// The subject is reused for all persons.
	sub := &flags.Subject{Stored: &flags.Stored{}}
	return func(p *capture.StoredPerson) bool {
		sub.DistinctID = "x"
		if len(p.DistinctIDs) > 0 {
			sub.DistinctID = p.DistinctIDs[0]
		}
		properties, _ := wire.Value([]byte(p.Properties.String())).(map[string]any)
		*sub.Stored = flags.Stored{Person: properties, CreatedAt: p.CreatedAt, Cohorts: static[p.UUID], Overrides: map[string]string{}}
		return in(sub, b.now)
	}
}
