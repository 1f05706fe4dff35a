package flags

import (
	"cmp"
	"slices"
	"strconv"
)

// This file chooses the cohorts of the payload.

// recursion is what is known of a cohort's references.
type recursion uint8

const (
	recursionUnknown  recursion = iota
	recursionVisiting           // being looked at
	recursionFinite
	recursionEndless
)

// reachFlag notes the cohorts that a flag needs, and those they need.
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

// reachPin is reachCohort of a pin: the store has its members whether or not the
// definitions name it.
func (p *payloadBuilder) reachPin(id int64) {
	if _, ok := p.d.Cohorts[id]; !ok && id != 0 && !p.staticCohorts[id] && !p.reached[id] {
		p.reached[id], p.statics = true, append(p.statics, id)
	} else if id != 0 {
		p.reachCohort(id)
	}
}

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

// cohorts are the trees that are reachable, by id. Those that SDKs could only
// misread are left out, so that they ask the server: cohorts on a cycle (which
// would never end), computed elsewhere, or described by nothing.
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

// unservedCohorts are the reachable cohorts without a tree that can be served, of one
// kind, sorted.
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

// failedCohort is a cohort that fails every flag that needs it.
type failedCohort struct {
	ID   int64  `json:"id"`
	Code string `json:"code"`
}

// failedCohorts are the reachable cohorts that the server cannot evaluate, sorted.
func (p *payloadBuilder) failedCohorts() []failedCohort {
	out := []failedCohort{}
	for i := range p.set.cohorts {
		c := &p.set.cohorts[i]
		in, ok := p.d.Cohorts[c.id]
		served := in.fault == nil && !p.isEndless(c.id) // with a tree, which fails by itself
		if ok && !in.Deleted && !in.Static && p.reached[c.id] && c.failure != NoReason && !served {
			out = append(out, failedCohort{c.id, c.failure.String()})
		}
	}
	slices.SortFunc(out, func(a, b failedCohort) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// isEndless reports whether a cohort leads back to itself, into a cycle, or deeper
// than the server follows.
func (p *payloadBuilder) isEndless(id int64) bool {
	switch p.ends[id] {
	case recursionFinite:
		return false
	case recursionEndless, recursionVisiting: // known, or met again on the way down
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

func (p *payloadBuilder) isEndlessTree(n *CohortNode) bool {
	if n.Leaf != nil {
		id, ok := n.Leaf.cohortID()
		return ok && p.isEndless(id)
	}
	return slices.ContainsFunc(n.Children, func(c CohortNode) bool { return p.isEndlessTree(&c) })
}
