package capture

import (
	"cmp"
	"slices"
)

// commit is what one transaction does: the batches of a group, project by
// project.
type commit struct {
	cache  *personCache // nil: nothing is remembered
	groups []projectGroup
	moves  []Move

	changes Changes
	plans   []*plan

	recorded, duplicates, persons, merges int
}

// projectGroup is a project's batches in the order in which they came.
type projectGroup struct {
	id      int64
	batches []*Batch
}

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
	// In one order for all, so that two servers never wait for one another.
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

// work runs inside the transaction. It may run again after a failure.
func (c *commit) work(tx Tx) error {
	c.changes, c.plans = Changes{Moves: c.moves}, nil
	c.recorded, c.duplicates = 0, 0
	isNew, err := tx.Claim(c.keys())
	if err != nil {
		return err
	}
	c.changes.Events = make([]Record, 0, len(isNew))
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

// mergesRejected counts the merges that were asked for and not done.
func (c *commit) countRejectedMerges() (n uint64) {
	for i := range c.changes.Warnings {
		switch w := &c.changes.Warnings[i]; w.Type {
		case warnAlreadyIdentified, warnIllegalDistinctID:
			n += uint64(w.Count)
		}
	}
	return n
}

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

// filterEvents returns the fresh ones of the events.
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

// planProject works out what a project's events change: first everything that they ask
// for is looked up at once, then they are applied one by one.
func (c *commit) planProject(tx Tx, project int64, batches [][]Event) error {
	types, err := c.loadGroupTypes(tx, project, batches)
	if err != nil {
		return err
	}
	p := newPlan(project, types)
	c.plans = append(c.plans, p)
	var ids []string
	var groups []GroupID
	for _, events := range batches {
		ids = p.ids(events, ids)
		groups = p.groups(events, groups)
	}
	if err := c.loadPeople(tx, project, p, ids); err != nil {
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

func (c *commit) loadPeople(tx Tx, project int64, p *plan, ids []string) error {
	missing := ids
	if c.cache != nil {
		missing = missing[:0]
		for _, id := range ids {
			if k, text, ok := c.cache.get(project, id); ok {
				p.loadPerson(id, k)
				p.markCached(id, text)
			} else {
				missing = append(missing, id)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	identities, err := tx.People(project, missing)
	if err != nil {
		return err
	}
	for i, id := range missing {
		p.loadPerson(id, identities[i])
	}
	return nil
}

// loadGroupTypes asks for them only where an event names groups.
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

// updateCache keeps what is known now, once it is durable.
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
