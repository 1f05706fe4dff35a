package capture

import (
	"cmp"
	"slices"
)

// commit is the work of one transaction: the batches of a group of callers, by project.
type commit struct {
	cache  *personCache // nil if people are not cached
	groups []projectGroup
	moves  []Move

	changes Changes
	plans   []*plan

	recorded, duplicates, persons, merges int
}

// projectGroup has the batches of one project in their order of arrival.
type projectGroup struct {
	id      int64
	batches []*Batch
}

// newCommit groups the batches of all pending calls by project. Projects are sorted by ID.
func newCommit(cache *personCache, group []*pending) *commit {
	c := &commit{cache: cache}
	for _, p := range group {
		for _, b := range p.batches {
			i, found := slices.BinarySearchFunc(c.groups, b.ProjectID, func(g projectGroup, id int64) int { return cmp.Compare(g.id, id) })
			if !found {
				c.groups = slices.Insert(c.groups, i, projectGroup{id: b.ProjectID})
			}
			c.groups[i].batches = append(c.groups[i].batches, b)
		}
		if p.move != nil {
			c.moves = append(c.moves, *p.move)
		}
	}
	// All processes use the same order of partitions, so that two servers cannot deadlock.
	slices.SortStableFunc(c.moves, func(a, b Move) int { return cmp.Compare(a.From.Partition, b.From.Partition) })
	return c
}

func (c *commit) projects() []int64 {
	ids := make([]int64, len(c.groups))
	for i, g := range c.groups {
		ids[i] = g.id
	}
	return ids
}

// work runs inside the transaction. The Ledger may call it more than once if the transaction
// fails, so it resets all results first.
func (c *commit) work(tx Tx) error {
	c.changes, c.plans = Changes{Moves: c.moves}, nil
	c.recorded, c.duplicates = 0, 0
	isNew, err := tx.Claim(c.keys())
	if err != nil {
		return err
	}
	for i := range c.groups {
		g := &c.groups[i]
		var events [][]Event
		for _, b := range g.batches {
			events = append(events, filterEvents(b.Events, isNew[:len(b.Events)]))
			isNew = isNew[len(b.Events):]
			c.changes.Seen = append(c.changes.Seen, b.Seen...)
			c.changes.Warnings = append(c.changes.Warnings, b.Warnings...)
			c.changes.Usage = append(c.changes.Usage, b.Usage...)
			c.duplicates += len(b.Events) - len(events[len(events)-1])
		}
		if err := c.planProject(tx, g.id, events); err != nil {
			return err
		}
	}
	c.recorded = len(c.changes.Events)
	c.merges = len(c.changes.Merges)
	c.persons = 0
	for _, p := range c.changes.Persons {
		if p.IsNew {
			c.persons++
		}
	}
	return tx.Save(&c.changes)
}

// countRejectedMerges counts the merges that events requested and that were rejected.
func (c *commit) countRejectedMerges() (n uint64) {
	for i := range c.changes.Warnings {
		switch w := &c.changes.Warnings[i]; w.Type {
		case warnAlreadyIdentified, warnIllegalDistinctID:
			n += uint64(w.Count)
		}
	}
	return n
}

// keys returns the keys of all events, in the order in which work reads the result of
// Tx.Claim.
func (c *commit) keys() []EventKey {
	n := 0
	for _, g := range c.groups {
		for _, b := range g.batches {
			n += len(b.Events)
		}
	}
	keys := make([]EventKey, 0, n)
	for _, g := range c.groups {
		for _, b := range g.batches {
			for i := range b.Events {
				e := &b.Events[i]
				keys = append(keys, EventKey{g.id, e.UUID, e.Name, e.DistinctID})
			}
		}
	}
	return keys
}

// filterEvents returns the events that are not duplicates.
func filterEvents(events []Event, isNew []bool) []Event {
	if !slices.Contains(isNew, false) {
		return events
	}
	var out []Event
	for i := range events {
		if isNew[i] {
			out = append(out, events[i])
		}
	}
	return out
}

// planProject computes the changes that a project's events cause. It first loads all persons
// and groups that the events need with one query each, then applies the events one after
// another.
func (c *commit) planProject(tx Tx, project int64, batches [][]Event) error {
	types, err := c.loadGroupTypes(tx, project, batches)
	if err != nil {
		return err
	}
	p := newPlan(project, types)
	c.plans = append(c.plans, p)
	var groups []GroupID
	n := 0
	for _, events := range batches {
		n += len(events)
		p.ids(events)
		groups = p.groups(events, groups)
	}
	p.events = make([]Record, 0, n)
	if err := c.loadPeople(tx, project, p); err != nil {
		return err
	}
	if len(groups) > 0 {
		stored, err := tx.Groups(project, groups)
		if err != nil {
			return err
		}
		for i, id := range groups {
			p.loadGroup(id, stored[i])
		}
	}
	for _, events := range batches {
		for i := range events {
			p.apply(&events[i])
		}
	}
	p.finish(&c.changes)
	return nil
}

// loadPeople loads the persons of the plan's distinct ids: from the cache where possible, and the
// rest from the transaction.
func (c *commit) loadPeople(tx Tx, project int64, p *plan) error {
	var missing []*distinctID
	var ids []string // those of missing
	for _, i := range p.order {
		if c.cache != nil {
			if k, text, ok := c.cache.get(project, i.id); ok {
				p.loadPerson(i, k)
				i.markCached(text)
				continue
			}
		}
		missing, ids = append(missing, i), append(ids, i.id)
	}
	if len(missing) == 0 {
		return nil
	}
	identities, err := tx.People(project, ids)
	if err != nil {
		return err
	}
	for n, i := range missing {
		p.loadPerson(i, identities[n])
	}
	return nil
}

// loadGroupTypes loads the project's group types, but only if an event has groups.
func (c *commit) loadGroupTypes(tx Tx, project int64, batches [][]Event) ([]string, error) {
	for _, events := range batches {
		for i := range events {
			if len(events[i].Groups) > 0 || events[i].Group != nil {
				return tx.GroupTypes(project)
			}
		}
	}
	return nil, nil
}

// updateCache stores the result of a successful commit in the cache. It must only be called
// after the commit is durable.
func (c *commit) updateCache() {
	if c.cache == nil {
		return
	}
	for _, m := range c.changes.Merges {
		c.cache.removePerson(m.ProjectID, m.From)
	}
	for i, p := range c.plans {
		p.each(func(id string, k Identity, text string) { c.cache.put(c.groups[i].id, id, k, text) })
	}
}
