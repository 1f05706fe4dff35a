package flags

import (
	"slices"
	"strconv"
	"strings"
)

// LocalProblem is a flag that an SDK which decides locally, from the
// definitions payload, leaves to the server for some subjects, or (Differs)
// decides for some by other rules than the server (§11).
type LocalProblem struct {
	Key string
	// SDK is "go", "python" or "node"; "all" for the three of them.
	SDK     string
	Differs bool
	Why     string
}

// LocalProblems lists, flag by flag, what keeps SDKs from deciding it locally as
// the server does: posthog-go 1.27.0, posthog-node 5.70.0 and posthog-python
// 7.42.0, of the last only what §11 says.
//
// A flag is listed when there may be subjects for whom the problem shows; from
// others a condition that decides before it may hide it. Only what can be seen
// in the definitions is reported: not that a property or a group was not given, nor
// what depends on the value of a property or the length of an id. An inactive
// flag is listed for experience continuity alone. A flag has, of the problems of
// those it depends on, one for each SDK and kind.
func LocalProblems(d Definitions) []LocalProblem {
	l := newLocalCheck(&d)
	var out []LocalProblem
	for i := range d.Flags {
		out = append(out, l.flag(i)...)
	}
	return out
}

// localCheck looks at each flag and each cohort once.
type localCheck struct {
	d        *Definitions
	p        *payloadBuilder
	served   map[string]any // cohorts of the payload by id
	verdicts map[int][]LocalProblem
	cohorts  map[int64]ruleSet
}

// ruleSet says which of localRules apply.
type ruleSet []bool

func newLocalCheck(d *Definitions) *localCheck {
	l := &localCheck{
		d: d, p: newPayload(d, Compile(*d)),
		verdicts: map[int][]LocalProblem{}, cohorts: map[int64]ruleSet{},
	}
	for i := range d.Flags {
		if l.isInPayload(int32(i)) {
			l.p.reachFlag(&d.Flags[i])
		}
	}
	l.served = l.p.cohorts()
	return l
}

// isInPayload: the flag is there for SDKs that depend on it.
func (l *localCheck) isInPayload(i int32) bool {
	return l.p.isServed(i) && !l.d.Flags[i].isWithheld()
}

// compiled is a flag of the payload as the server has it.
func (l *localCheck) compiled(f *Flag) *compiledFlag { return &l.p.set.flags[l.p.set.byKey[f.Key]] }

// localFilter is a property of a condition or of a cohort.
type localFilter struct {
	*Property
	op Operator // with its default
	// flag is whose condition it is in, nil in a cohort.
	flag *Flag
	// group is the group type that the condition is about, nil for persons.
	group *int
}

// flag checks one flag, and passes on what is wrong with flags it depends on.
func (l *localCheck) flag(i int) []LocalProblem {
	if problems, ok := l.verdicts[i]; ok {
		return problems
	}
	l.verdicts[i] = nil // ends a cycle
	f := &l.d.Flags[i]
	used, found := l.p.set.byKey[f.Key]
	listed := l.p.isServed(int32(i))
	var out []LocalProblem
	switch {
	case f.Key == "" || f.Deleted || found && int(used) != i: // not there, or a second one of that key
	case !f.Active:
		if listed && f.Continuity && !f.isWithheld() {
			const why = "experience continuity, which these SDKs look at before they see that the flag is not active"
			out = []LocalProblem{{f.Key, "go", false, why}, {f.Key, "python", false, why}}
		}
	case !listed:
		out = []LocalProblem{{f.Key, "all", false, "it cannot be evaluated: it is not in the payload"}}
	default:
		all := false
		if out, all = l.ownProblems(f); !all {
			out = l.dependencies(f, out)
		}
	}
	l.verdicts[i] = out
	return out
}

// ownProblems applies the rules to a flag without what it depends on; all means that
// nothing more is to be reported.
func (l *localCheck) ownProblems(f *Flag) (out []LocalProblem, all bool) {
	hits := make(ruleSet, len(localRules))
	for r, rule := range localRules {
		hits[r] = rule.flag != nil && rule.flag(l, f)
		if hits[r] && rule.kind == alwaysNeedsServer {
			return []LocalProblem{{f.Key, rule.sdks, false, rule.why}}, true
		}
	}
	for i := range f.Conditions {
		c := &f.Conditions[i]
		p := localFilter{flag: f, group: f.Group}
		if c.Aggregation.Set {
			p.group = c.Aggregation.Group
		}
		for j := range c.Properties {
			p.Property = &c.Properties[j]
			l.filter(p, hits)
		}
	}
	for r, hit := range hits {
		for _, sdk := range strings.Fields(localRules[r].sdks) {
			if hit {
				out = append(out, LocalProblem{f.Key, sdk, localRules[r].kind == differs, localRules[r].why})
			}
		}
	}
	return out, false
}

// dependencies adds the problems of the flags that a flag depends on: one for
// each SDK and kind is enough, else long chains would say the same thing over
// and over.
func (l *localCheck) dependencies(f *Flag, out []LocalProblem) []LocalProblem {
	for i := range f.Conditions {
		for j := range f.Conditions[i].Properties {
			p := &f.Conditions[i].Properties[j]
			if p.Type != FlagProperty {
				continue
			}
			target, ok := l.p.target(p)
			if !ok || !l.isInPayload(target) || !l.d.Flags[target].Active {
				continue
			}
			for _, problem := range l.flag(int(target)) {
				isListed := func(p LocalProblem) bool {
					return p.Differs == problem.Differs && (p.SDK == problem.SDK || p.SDK == "all")
				}
				if !slices.ContainsFunc(out, isListed) {
					out = append(out, LocalProblem{f.Key, problem.SDK, problem.Differs, "it depends on " + quote(problem.Key)})
				}
			}
		}
	}
	return out
}

// filter applies the rules to a property, and to the cohort that it names if
// the payload has it.
func (l *localCheck) filter(p localFilter, hits ruleSet) {
	plain := *p.Property
	plain.Value = normalize(plain.Value)
	p.Property, p.op = &plain, p.Operator.orDefault(p.Type)
	for r, rule := range localRules {
		hits[r] = hits[r] || rule.filter != nil && rule.filter(l, &p)
	}
	if id, _ := p.cohort(); l.isServed(&p) {
		for r, hit := range l.cohort(id) {
			hits[r] = hits[r] || hit
		}
	}
}

// cohort applies the rules to a cohort's tree. What is served is on no cycle.
func (l *localCheck) cohort(id int64) ruleSet {
	hits, ok := l.cohorts[id]
	if !ok {
		hits = make(ruleSet, len(localRules))
		l.tree(l.d.Cohorts[id].Tree, hits)
		l.cohorts[id] = hits
	}
	return hits
}

func (l *localCheck) tree(n *CohortNode, hits ruleSet) {
	for r, rule := range localRules {
		hits[r] = hits[r] || rule.node != nil && rule.node(n)
	}
	if n.Leaf != nil {
		if !n.Unsupported {
			l.filter(localFilter{Property: n.Leaf}, hits)
		}
		return
	}
	for i := range n.Children {
		l.tree(&n.Children[i], hits)
	}
}

// cohort is the id that SDKs see: they take text for a number.
func (p *localFilter) cohort() (int64, bool) {
	if p.Type != CohortProperty {
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

// isServed: the payload has the cohort that a filter names.
func (l *localCheck) isServed(p *localFilter) bool {
	id, ok := p.cohort()
	return ok && l.served[strconv.FormatInt(id, 10)] != nil
}
