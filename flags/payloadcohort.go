package flags

import (
	"cmp"
	"slices"
	"strconv"
)

// This file selects the cohorts of the payload.

// recursion is the result of the search for cycles from a cohort.
type recursion uint8

const (
	recursionUnknown  recursion = iota
	recursionVisiting           // search in progress
	recursionFinite
	recursionEndless
)

// reachFlag records the cohorts that a flag refers to, directly or through other cohorts.
func (p *payloadBuilder) reachFlag(f *Flag) {
	for i := range f.Pins {
		p.reachPin(f.Pins[i].Cohort)
	}
	for _, c := range f.Conditions {
		for i := range c.Properties {
			if id, ok := c.Properties[i].cohortID(); ok {
				p.reachCohort(id)
			}
		}
	}
}

// reachCohort records a cohort and the cohorts that it refers to.
func (p *payloadBuilder) reachCohort(id int64) {
	if p.reached[id] || p.nesting == maxCohortNesting {
		return
	}
	p.nesting++
	defer func() { p.nesting-- }()
	p.reached[id] = true
	c, ok := p.d.Cohorts[id]
	if ok && c.Tree != nil {
		p.reachTree(c.Tree)
	}
	if ok && c.Static && !c.Deleted || !ok && p.staticCohorts[id] {
		p.statics = append(p.statics, id)
	}
}

// reachPin is reachCohort for the cohort of a pin: the store has its members even if the
// definitions do not contain it.
func (p *payloadBuilder) reachPin(id int64) {
	if _, ok := p.d.Cohorts[id]; !ok && id != 0 && !p.staticCohorts[id] && !p.reached[id] {
		p.reached[id], p.statics = true, append(p.statics, id)
	} else if id != 0 {
		p.reachCohort(id)
	}
}

// reachTree records the cohorts in a tree.
func (p *payloadBuilder) reachTree(n *CohortNode) {
	if n.Leaf != nil {
		if id, ok := n.Leaf.cohortID(); ok {
			p.reachCohort(id)
		}
	}
	for i := range n.Children {
		p.reachTree(&n.Children[i])
	}
}

// cohorts returns the trees of the recorded cohorts by id. Cohorts that SDKs would misread
// are left out, so that SDKs call the server: cohorts on a cycle, on which an SDK would not
// terminate, and cohorts that are computed elsewhere or have no definition.
func (p *payloadBuilder) cohorts() map[string]any {
	slices.Sort(p.statics)
	out := map[string]any{}
	for id := range p.reached {
		c, ok := p.d.Cohorts[id]
		if !ok || c.Static || c.Deleted || c.fault != nil || c.Unsupported || c.Tree == nil || p.isEndless(id) {
			continue
		}
		out[strconv.FormatInt(id, 10)] = c.Tree.record()
	}
	return out
}

// unservedCohorts returns the ids of recorded cohorts of one kind that have no tree to serve,
// sorted.
func (p *payloadBuilder) unservedCohorts(kind func(*Cohort) bool) []int64 {
	ids := []int64{}
	for id := range p.reached {
		c, ok := p.d.Cohorts[id]
		if ok && !c.Static && !c.Deleted && c.fault == nil && (c.Unsupported || c.Tree == nil) && kind(&c) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// failedCohort is a cohort that fails all flags that depend on it.
type failedCohort struct {
	ID   int64  `json:"id"`
	Code string `json:"code"`
}

// failedCohorts returns the recorded cohorts that the server cannot evaluate, sorted by id.
func (p *payloadBuilder) failedCohorts() []failedCohort {
	out := []failedCohort{}
	for i := range p.set.cohorts {
		c := &p.set.cohorts[i]
		in, ok := p.d.Cohorts[c.id]
		served := in.fault == nil && !p.isEndless(c.id) // is served with its tree, which fails in SDKs too
		if ok && !in.Deleted && !in.Static && p.reached[c.id] && c.failure != NoReason && !served {
			out = append(out, failedCohort{c.id, c.failure.String()})
		}
	}
	slices.SortFunc(out, func(a, b failedCohort) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// isEndless reports whether a cohort is on a cycle, refers to one, or is nested deeper than
// the server follows.
func (p *payloadBuilder) isEndless(id int64) bool {
	switch p.ends[id] {
	case recursionFinite:
		return false
	case recursionEndless, recursionVisiting: // the latter is a cycle
		return true
	}
	if p.nesting == maxCohortNesting {
		return true
	}
	p.nesting++
	defer func() { p.nesting-- }()
	p.ends[id] = recursionFinite
	if t := p.d.Cohorts[id].Tree; t != nil {
		p.ends[id] = recursionVisiting
		if p.isEndlessTree(t) {
			p.ends[id] = recursionEndless
			return true
		}
		p.ends[id] = recursionFinite
	}
	return false
}

// isEndlessTree reports whether a cohort in the tree is endless.
func (p *payloadBuilder) isEndlessTree(n *CohortNode) bool {
	if n.Leaf != nil {
		id, ok := n.Leaf.cohortID()
		return ok && p.isEndless(id)
	}
	return slices.ContainsFunc(n.Children, func(c CohortNode) bool { return p.isEndlessTree(&c) })
}
