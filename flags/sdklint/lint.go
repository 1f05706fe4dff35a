package sdklint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/internal/inside"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// Problem describes a flag that an SDK with local evaluation, which has the definitions
// payload only, cannot evaluate for some subjects and requests from the server, or (Differs)
// evaluates for some subjects by other rules than the server (§11).
type Problem struct {
	Key string
	// SDK is "go", "python" or "node", or "all" for the three of them.
	SDK string
	// Differs means that the SDK returns its own result. If false, it calls the server.
	Differs bool
	// Why describes the cause in the definition, as text for people.
	Why string
}

// Problems returns for each flag the reasons why SDKs do not evaluate it locally with
// the server's result. It covers posthog-go 1.27.0, posthog-node 5.70.0 and, to the extent of
// §11, posthog-python 7.42.0.
//
// A flag is listed if the problem may affect some subjects; for other subjects, an earlier
// condition may decide. Only problems visible in the definitions are reported: not that a
// property or a group is missing from a call, and no problems that depend on the value of a
// property or the length of an id. An inactive flag is listed for experience continuity only.
// Of the problems of its dependencies, a flag has one for each SDK and kind.
func Problems(d flags.Definitions) []Problem {
	l := newCheck(&d)
	var out []Problem
	for i := range d.Flags {
		out = append(out, l.flag(i)...)
	}
	return out
}

func newCheck(d *flags.Definitions) *check {
	p := inside.SDKView(d).(view)
	return &check{
		d: d, p: p, served: p.ServedCohorts(),
		verdicts: map[int][]Problem{}, cohorts: map[int64]ruleSet{},
	}
}

// flag returns the problems of one flag and of the flags that it depends on.
func (l *check) flag(i int) []Problem {
	if problems, ok := l.verdicts[i]; ok {
		return problems
	}
	l.verdicts[i] = nil // ends the recursion on a cycle
	f := &l.d.Flags[i]
	listed := l.p.IsServed(int32(i))
	var out []Problem
	switch {
	case f.Key == "" || f.Deleted || !l.p.IsFirst(int32(i)): // not available, or a duplicate key
	case !f.Active:
		if f.Continuity && l.p.IsInPayload(int32(i)) {
			const why = "experience continuity, which these SDKs check before they check that the flag is active"
			out = []Problem{{f.Key, "go", false, why}, {f.Key, "python", false, why}}
		}
	case !listed:
		out = []Problem{{f.Key, "all", false, "it cannot be evaluated: it is not in the definitions for SDKs"}}
	default:
		all := false
		if out, all = l.ownProblems(f); !all {
			out = l.dependencies(f, out)
		}
	}
	l.verdicts[i] = out
	return out
}

// ownProblems applies the rules to a flag, without its dependencies. all is true if the flag
// always needs the server, so that no other problem matters.
func (l *check) ownProblems(f *flags.Flag) (out []Problem, all bool) {
	hits := make(ruleSet, len(rules))
	for r, rule := range rules {
		hits[r] = rule.flag != nil && rule.flag(l, f)
		if hits[r] && rule.kind == alwaysNeedsServer {
			return []Problem{{f.Key, rule.sdks, false, rule.why}}, true
		}
	}
	for i := range f.Conditions {
		c := &f.Conditions[i]
		p := filter{flag: f, group: f.Group}
		if c.Aggregation.Set {
			p.group = c.Aggregation.Group
		}
		for j := range c.Properties {
			p.Property = &c.Properties[j]
			l.filter(p, hits)
		}
	}
	for r, hit := range hits {
		for _, sdk := range strings.Fields(rules[r].sdks) {
			if hit {
				out = append(out, Problem{f.Key, sdk, rules[r].kind == differs, rules[r].why})
			}
		}
	}
	return out, false
}

// dependencies adds the problems of the flags that f depends on. It adds one for each SDK and
// kind only, since long chains would otherwise repeat the same problem many times.
func (l *check) dependencies(f *flags.Flag, out []Problem) []Problem {
	for i := range f.Conditions {
		for j := range f.Conditions[i].Properties {
			p := &f.Conditions[i].Properties[j]
			if p.Type != flags.FlagProperty {
				continue
			}
			target, ok := l.p.Target(p)
			if !ok || !l.p.IsInPayload(target) || !l.d.Flags[target].Active {
				continue
			}
			for _, problem := range l.flag(int(target)) {
				isListed := func(p Problem) bool {
					return p.Differs == problem.Differs && (p.SDK == problem.SDK || p.SDK == "all")
				}
				if !slices.ContainsFunc(out, isListed) {
					out = append(out, Problem{f.Key, problem.SDK, problem.Differs, "it depends on " + values.Quote(problem.Key)})
				}
			}
		}
	}
	return out
}

// filter applies the rules to a requirement, and to the cohort that it refers to if that is
// in the payload.
func (l *check) filter(p filter, hits ruleSet) {
	plain := *p.Property
	plain.Value = values.Normalize(plain.Value)
	p.Property = &plain
	p.op, p.takesLists, p.strict = l.p.Operator(p.Operator, p.Type)
	for r, rule := range rules {
		hits[r] = hits[r] || rule.filter != nil && rule.filter(l, &p)
	}
	if id, _ := p.cohort(); l.isServed(&p) {
		for r, hit := range l.cohort(id) {
			hits[r] = hits[r] || hit
		}
	}
}

// cohort applies the rules to a cohort's tree. Cohorts in the payload are never on a cycle.
func (l *check) cohort(id int64) ruleSet {
	hits, ok := l.cohorts[id]
	if !ok {
		hits = make(ruleSet, len(rules))
		l.tree(l.d.Cohorts[id].Tree, hits)
		l.cohorts[id] = hits
	}
	return hits
}

// tree applies the rules to a node of a cohort's tree and to the nodes below it.
func (l *check) tree(n *flags.CohortNode, hits ruleSet) {
	for r, rule := range rules {
		hits[r] = hits[r] || rule.node != nil && rule.node(n)
	}
	if n.Leaf != nil {
		if !n.Unsupported {
			l.filter(filter{Property: n.Leaf}, hits)
		}
		return
	}
	for i := range n.Children {
		l.tree(&n.Children[i], hits)
	}
}

// cohort returns the id of the cohort as SDKs read it: unlike the server they accept a number
// as text.
func (p *filter) cohort() (int64, bool) {
	if p.Type != flags.CohortProperty {
		return 0, false
	}
	switch v := p.Value.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), v == float64(int64(v))
	case string:
		id, err := strconv.ParseInt(v, 10, 64)
		return id, err == nil && strconv.FormatInt(id, 10) == v
	}
	return 0, false
}

// isServed reports whether the cohort that the requirement refers to is in the payload.
func (l *check) isServed(p *filter) bool {
	id, ok := p.cohort()
	return ok && l.served[strconv.FormatInt(id, 10)] != nil
}
