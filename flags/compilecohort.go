package flags

import (
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// cohortFilter compiles a filter on membership of a cohort.
func (c *compiler) cohortFilter(id int64, op *operator, out *filter) {
	*out = filter{kind: filterCohort, target: c.cohort(id), operator: op}
	switch op.name {
	case In:
	case NotIn:
		out.negated = true
	default: // including exact (§5.1)
		out.kind = filterNever
	}
}

// badCohort adds a cohort that fails every flag that refers to it and returns its index.
func (c *compiler) badCohort() int32 {
	c.set.cohorts = append(c.set.cohorts, compiledCohort{failure: CohortFiltersParsingError})
	return int32(len(c.set.cohorts) - 1)
}

// maxCohortNesting limits how deep cohorts may refer to one another. Deeper ones are treated
// as unreadable, since the stack of an evaluation grows with the depth.
const maxCohortNesting = 10_000

// compiling marks a cohort that is being compiled. Reaching such a cohort is a cycle.
const compiling ReasonCode = 255

// cohort compiles a cohort and all cohorts that it refers to, and returns its index. A fault
// of a cohort is a fault of every cohort that contains it (§5.3).
func (c *compiler) cohort(id int64) int32 {
	if i, ok := c.cohortIndex[id]; ok {
		if c.set.cohorts[i].failure == compiling {
			c.cycle(i)
		}
		return i
	}
	if c.nesting++; c.nesting > maxCohortNesting {
		c.nesting--
		return c.badCohort()
	}
	defer func() { c.nesting-- }()
	i := int32(len(c.set.cohorts))
	c.cohortIndex[id] = i
	c.set.cohorts = append(c.set.cohorts, compiledCohort{id: id, failure: compiling, undecided: unknownCohort(id)})

	in, exists := c.d.Cohorts[id]
	out := compiledCohort{id: id, undecided: c.set.cohorts[i].undecided}
	switch {
	case !exists && c.staticCohorts[id]:
		out.static = true
	case !exists || in.Deleted:
		out.failure = CohortNotFound
		out.absent = !exists && c.d.StaticCohorts == nil
	case in.fault != nil:
		out.failure = CohortFiltersParsingError
	case in.Static:
		out.static, out.carried = true, in.Members != nil
		if out.carried {
			out.members = make(map[string]struct{}, len(in.Members))
			for _, id := range in.Members {
				out.members[strings.Clone(values.TruncateID(id))] = struct{}{}
			}
		}
	default:
		out.behavioural = in.Unsupported
		if in.Tree != nil && !in.Unsupported {
			tree := c.node(in.Tree, &out)
			out.tree = &tree
			c.countNodeUses(out.tree, 1)
		}
	}
	if c.set.cohorts[i].failure == CohortCycle && out.failure == NoReason {
		out.failure = CohortCycle
	}
	out.uses = c.set.cohorts[i].uses
	c.set.cohorts[i] = out
	return i
}

// blame makes a cohort fail for the same reason as inner, a cohort that it refers to. Indexes
// are stored plus one, so that zero means that there is no culprit.
func (co *compiledCohort) blame(inner *compiledCohort, index int32) {
	co.failure, co.absent, co.inner, co.culprit = inner.failure, inner.absent, index+1, index+1
	if inner.culprit != 0 {
		co.culprit = inner.culprit
	}
	if co.absent {
		co.undecided = inner.undecided
	}
}

// maxNamedCohorts limits the number of cohorts that a problem lists on the way to the faulty
// one.
const maxNamedCohorts = 5

// unknownCohort returns the undecided fact of a cohort with unknown members. A negative id is
// that of a pinned value with unknown subjects.
func unknownCohort(id int64) *Undecided {
	if id < 0 {
		return &Undecided{Fact: "pinned value", Name: strconv.FormatInt(-id, 10)}
	}
	return &Undecided{Fact: "cohort", Name: strconv.FormatInt(id, 10)}
}

// cycle marks all cohorts on a cycle: from index from on, all that are still being compiled.
func (c *compiler) cycle(from int32) {
	for j := from; int(j) < len(c.set.cohorts); j++ {
		if c.set.cohorts[j].failure == compiling {
			c.set.cohorts[j].failure = CohortCycle
		}
	}
}

// node compiles a cohort's tree and collects in owner what the leaves contribute: behavioural
// cohorts, failures and the depth of nested cohorts.
func (c *compiler) node(in *CohortNode, owner *compiledCohort) compiledNode {
	if in.Unsupported {
		owner.behavioural = true
		negated := in.Leaf != nil && in.Leaf.Negated
		return compiledNode{unsupported: true, leaf: &filter{leaf: negated}}
	}
	if in.Leaf != nil {
		leaf := c.leaf(in.Leaf, owner)
		return compiledNode{leaf: &leaf}
	}
	out := compiledNode{any: in.Any, children: make([]compiledNode, len(in.Children))}
	for i := range in.Children {
		out.children[i] = c.node(&in.Children[i], owner)
	}
	return out
}

// leaf compiles one requirement of a cohort. Leaves are about persons, or about another
// cohort.
func (c *compiler) leaf(p *Property, owner *compiledCohort) filter {
	var out filter
	op := operators[p.Operator.orDefault(p.Type)]
	id, isID := p.cohortID()
	switch {
	case op == nil, p.Type == CohortProperty && (!isID || op.only != CohortProperty): // only cohorts built by hand
		owner.failure = CohortFiltersParsingError
		out = filter{kind: filterNever}
	case p.Type == CohortProperty:
		c.cohortFilter(id, op, &out)
		inner := &c.set.cohorts[out.target]
		owner.behavioural = owner.behavioural || inner.behavioural
		owner.height = max(owner.height, inner.height+1)
		switch {
		case owner.failure != NoReason || inner.failure == compiling:
		case owner.height >= maxCohortNesting:
			owner.failure = CohortFiltersParsingError
		case inner.failure != NoReason:
			owner.blame(inner, out.target)
		}
	default:
		kind := PersonProperty // cohorts are about persons, whatever the leaf's type is (§4.1)
		if p.Type == PersonMetadata {
			kind = PersonMetadata
		}
		if c.property(p, kind, "", op, true, &out) != "" {
			if _, never := p.neverMatches(); never != "" { // the same check as in parsing, independent of the project's zone
				owner.failure = CohortFiltersParsingError
			}
		}
	}
	out.operator, out.leaf = op, p.Negated
	return out
}
