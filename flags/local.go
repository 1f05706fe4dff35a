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
		if l.inPayload(int32(i)) {
			l.p.reach(&d.Flags[i])
		}
	}
	l.served = l.p.cohorts()
	return l
}

// inPayload: the flag is there for SDKs that depend on it.
func (l *localCheck) inPayload(i int32) bool {
	return l.p.served(i) && !l.d.Flags[i].withheld()
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
	if known, ok := l.verdicts[i]; ok {
		return known
	}
	l.verdicts[i] = nil // ends a cycle
	f := &l.d.Flags[i]
	used, taken := l.p.set.byKey[f.Key]
	listed := l.p.served(int32(i))
	var out []LocalProblem
	switch {
	case f.Key == "" || f.Deleted || taken && int(used) != i: // not there, or a second one of that key
	case !f.Active:
		if listed && f.Continuity && !f.withheld() {
			const why = "experience continuity, which these SDKs look at before they see that the flag is not active"
			out = []LocalProblem{{f.Key, "go", false, why}, {f.Key, "python", false, why}}
		}
	case !listed:
		out = []LocalProblem{{f.Key, "all", false, "it cannot be evaluated: it is not in the payload"}}
	default:
		all := false
		if out, all = l.own(f); !all {
			out = l.dependencies(f, out)
		}
	}
	l.verdicts[i] = out
	return out
}

// own applies the rules to a flag without what it depends on; all means that
// nothing more is to be reported.
func (l *localCheck) own(f *Flag) (out []LocalProblem, all bool) {
	hits := make(ruleSet, len(localRules))
	for r, rule := range localRules {
		hits[r] = rule.flag != nil && rule.flag(l, f)
		if hits[r] && rule.kind == asksAlways {
			return []LocalProblem{{f.Key, rule.sdks, false, rule.why}}, true
		}
	}
	for i := range f.Conditions {
		c := &f.Conditions[i]
		at := localFilter{flag: f, group: f.Group}
		if c.Aggregation.Set {
			at.group = c.Aggregation.Group
		}
		for j := range c.Properties {
			at.Property = &c.Properties[j]
			l.filter(at, hits)
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
			if !ok || !l.inPayload(target) || !l.d.Flags[target].Active {
				continue
			}
			for _, of := range l.flag(int(target)) {
				known := func(p LocalProblem) bool { return p.Differs == of.Differs && (p.SDK == of.SDK || p.SDK == "all") }
				if !slices.ContainsFunc(out, known) {
					out = append(out, LocalProblem{f.Key, of.SDK, of.Differs, "it depends on " + quote(of.Key)})
				}
			}
		}
	}
	return out
}

// filter applies the rules to a property, and to the cohort that it names if
// the payload has it.
func (l *localCheck) filter(at localFilter, hits ruleSet) {
	plain := *at.Property
	plain.Value = normalize(plain.Value)
	at.Property, at.op = &plain, at.Operator.orDefault(at.Type)
	for r, rule := range localRules {
		hits[r] = hits[r] || rule.filter != nil && rule.filter(l, &at)
	}
	if id, _ := at.cohort(); l.serves(&at) {
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

// serves: the payload has the cohort that a filter names.
func (l *localCheck) serves(p *localFilter) bool {
	id, ok := p.cohort()
	return ok && l.served[strconv.FormatInt(id, 10)] != nil
}
