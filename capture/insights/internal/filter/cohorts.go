package filter

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// cohortFilter parses a filter on current membership of the person in one of several cohorts.
func cohortFilter(n document.Node, p *port.Project) Condition {
	c := &CohortCondition{}
	ids := n.Get("value")
	list := []document.Node{ids}
	if _, ok := ids.Value.([]any); ok {
		list = ids.List(MaxFilters)
	}
	for _, id := range list {
		c.IDs = append(c.IDs, ReadCohort(id, p))
	}
	operator := n.Get("operator").Choice("in", "in", "exact", "not_in", "is_not")
	c.negated = operator == "not_in" || operator == "is_not" || n.Get("negation").Boolean()
	return c
}

// ReadCohort returns the id of a cohort, which must exist and be supported.
func ReadCohort(n document.Node, p *port.Project) int64 {
	if text, ok := n.Value.(string); ok {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			n.Fail(document.InvalidInput, "Cohort %s does not exist.", document.Describe(text))
		}
		return checkCohort(n, p, id)
	}
	if n.IsAbsent() {
		n.Fail(document.Required, "A filter of type cohort needs a value, the id of a cohort.")
	}
	return checkCohort(n, p, n.IntInRange(0, 1<<53, 0))
}

// checkCohort records a fault if the cohort does not exist or is not supported.
func checkCohort(n document.Node, p *port.Project, id int64) int64 {
	if !hasCohort(p, id) {
		n.Fail(document.InvalidInput, "Cohort %d does not exist.", id)
	} else if why := unsupportedReason(p, id, map[int64]bool{}); why != "" {
		n.Fail(document.NotSupported, "%s", why)
	}
	return id
}

// unsupportedReason returns why the members of a cohort cannot be computed: it, or a cohort that it
// refers to, has a condition about events (§3.2.4). It returns "" if they can. seen has the cohorts
// that were visited, which ends cycles.
func unsupportedReason(p *port.Project, id int64, seen map[int64]bool) string {
	c := p.Definitions.Cohorts[id]
	switch {
	case seen[id] || c.Static || c.Deleted:
		return ""
	case c.Unsupported:
		return fmt.Sprintf("Cohort %d (%s) is computed from events, which is not supported.", id, document.Describe(c.Name))
	case c.Tree == nil:
		return ""
	}
	seen[id] = true
	why := ""
	leavesOf(c.Tree, func(n *flags.CohortNode) {
		switch {
		case why != "":
		case n.Unsupported:
			why = fmt.Sprintf("Cohort %d (%s) has a condition of type %s, which is about events and not supported.", id, document.Describe(c.Name), document.Describe(string(n.Leaf.Type)))
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
func collectCohorts(p *port.Project, id int64, to map[int64]bool) {
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
func hasCohort(p *port.Project, id int64) bool {
	if p.Definitions == nil {
		return false
	}
	_, dynamic := p.Definitions.Cohorts[id]
	return dynamic || slices.Contains(p.Definitions.StaticCohorts, id)
}

// CohortCondition is membership in one of the cohorts, or in no cohort of them if negated.
type CohortCondition struct {
	IDs     []int64
	negated bool
}

// Bind returns the condition for events: it evaluates all persons when it is bound.
func (c *CohortCondition) Bind(b *scan.Binder) func(*scan.Row) bool {
	return b.PersonSet(c.negated, c.bindPerson(b))
}

// bindPerson returns the condition for stored persons.
func (c *CohortCondition) bindPerson(b *scan.Binder) func(*capture.StoredPerson) bool {
	tests := make([]func(*capture.StoredPerson) bool, len(c.IDs))
	for i, id := range c.IDs {
		tests[i] = InCohort(b, id)
	}
	return func(p *capture.StoredPerson) bool {
		return slices.ContainsFunc(tests, func(in func(*capture.StoredPerson) bool) bool { return in(p) }) != c.negated
	}
}

// membershipSize is the approximate size in bytes of a member of a static cohort, in the list of
// members and in the map by person.
const membershipSize = 144

// InCohort returns a function that reports whether a person is in a cohort. It uses the evaluation of
// flags, so that a cohort has the same members for flags and for queries.
func InCohort(b *scan.Binder, id int64) func(*capture.StoredPerson) bool {
	// The cohort may refer to static cohorts, the members of which are read now.
	static, selected := map[capture.UUID][]int64{}, map[int64]bool{}
	collectCohorts(b.Project, id, selected)
	for _, cohort := range b.Project.Definitions.StaticCohorts {
		if !selected[cohort] {
			continue
		}
		members, err := b.Reader.Members(b.Context, cohort)
		b.Err = errors.Join(b.Err, err, b.Reserve(membershipSize*int64(len(members))))
		if b.Err != nil {
			break
		}
		for _, person := range members {
			static[person] = append(static[person], cohort)
		}
	}
	in := evaluateAsFlag(*b.Project.Definitions, flags.Property{Key: "id", Type: flags.CohortProperty, Operator: flags.In, Value: id, HasValue: true})
	// The subject is reused for all persons.
	sub := &flags.Subject{Stored: &flags.Stored{}}
	return func(p *capture.StoredPerson) bool {
		sub.DistinctID = "x"
		if len(p.DistinctIDs) > 0 {
			sub.DistinctID = p.DistinctIDs[0]
		}
		properties, _ := wire.Value([]byte(p.Properties.String())).(map[string]any)
		*sub.Stored = flags.Stored{Person: properties, CreatedAt: p.CreatedAt, Cohorts: static[p.UUID], Overrides: map[string]string{}}
		return in(sub, b.Now)
	}
}
