package flags

import (
	"slices"
	"strings"
)

// LocalProblem is a flag that an SDK cannot decide locally from the definitions
// payload and asks the server for, or (Differs) decides by other rules than the
// server (§11).
type LocalProblem struct {
	Key string
	// SDK is "go", "python" or "node"; "all" for the three of them.
	SDK     string
	Differs bool
	Why     string
}

// localRule is one disagreement of §11 that can be seen in a definition.
type localRule struct {
	sdk     string
	differs bool
	why     string
	applies func(l *localCheck, f *Flag) bool
}

// localRules was read off posthog-go 1.23.1, posthog-python 7.42.0 and
// posthog-node 5.70.0 (§11).
var localRules = []localRule{
	{"all", false, "experience continuity: only the server keeps identifiers", func(_ *localCheck, f *Flag) bool { return f.Continuity }},
	{"all", false, "its bucket, or that of a flag it depends on, is a murmur3 hash", func(l *localCheck, f *Flag) bool { return l.p.needsServer(f, map[string]bool{}) }},
	{"all", false, "encrypted payloads: it is not in the payload", func(_ *localCheck, f *Flag) bool { return f.HasEncryptedPayloads }},
	{"all", false, "surveys create it: it is not in the payload", func(_ *localCheck, f *Flag) bool { return strings.HasPrefix(f.Key, surveyPrefix) }},
	{"all", false, "a static cohort: membership is on the server", func(l *localCheck, f *Flag) bool { return l.cohort(f, Cohort.isStatic) }},
	{"all", false, "a cohort that is not in the definitions", func(l *localCheck, f *Flag) bool { return l.missingCohort(f) }},
	{"all", false, "an operator that SDKs do not know", func(l *localCheck, f *Flag) bool {
		return l.operator(f, Between, NotBetween, IContainsMulti, NotIContainsMulti, IsDateExact)
	}},
	{"all", false, "is_not_set: an SDK cannot tell a missing property from one it was not given", func(l *localCheck, f *Flag) bool { return l.operator(f, IsNotSet) }},
	{"all", false, "the person's creation time is on the server", func(l *localCheck, f *Flag) bool {
		return l.any(f, func(p *Property) bool { return p.Type == PersonMetadata })
	}},
	{"all", true, "early access enrollment is ignored", func(_ *localCheck, f *Flag) bool { return f.Enrollment }},
	{"all", true, "the evaluation runtime is ignored", func(_ *localCheck, f *Flag) bool { return f.Runtime != "" }},
	{"all", true, "dates are not read in the project's time zone", func(l *localCheck, f *Flag) bool {
		return l.d.Timezone != "" && l.d.Timezone != "UTC" && l.operator(f, IsDateBefore, IsDateAfter)
	}},
	{"go", true, "the holdout is ignored", func(_ *localCheck, f *Flag) bool { return f.Holdout != nil }},
	{"python", true, "the holdout is ignored", func(_ *localCheck, f *Flag) bool { return f.Holdout != nil }},
	{"go", true, "evaluation contexts are ignored", func(_ *localCheck, f *Flag) bool { return len(f.Contexts) > 0 }},
	{"python", true, "evaluation contexts are ignored", func(_ *localCheck, f *Flag) bool { return len(f.Contexts) > 0 }},
	{"go", true, "without a device id it is bucketed by distinct id", func(_ *localCheck, f *Flag) bool { return f.DeviceBucketing }},
	{"python", false, "bucketed by device: undecided without a device id", func(_ *localCheck, f *Flag) bool { return f.DeviceBucketing }},
	{"node", false, "bucketed by device: undecided without a device id", func(_ *localCheck, f *Flag) bool { return f.DeviceBucketing }},
	{"go", true, "not_in of a cohort is read as in", func(l *localCheck, f *Flag) bool {
		return l.any(f, func(p *Property) bool { return p.Type == CohortProperty && p.Operator == NotIn })
	}},
	{"go", true, "property_matching_version 2 is not known", func(l *localCheck, f *Flag) bool {
		return l.d.PropertyMatchingVersion == 2 && l.operator(f, Exact, IsNot)
	}},
	{"python", true, "property_matching_version 2 is not known", func(l *localCheck, f *Flag) bool {
		return l.d.PropertyMatchingVersion == 2 && l.operator(f, Exact, IsNot)
	}},
	{"go", true, "exact true and false are compared as they are, not as truth values", func(l *localCheck, f *Flag) bool { return l.truth(f) }},
	{"python", true, "exact true and false are compared as text, not as truth values", func(l *localCheck, f *Flag) bool { return l.truth(f) }},
	{"go", false, "an explicit person condition in a group flag looks like a group condition", func(_ *localCheck, f *Flag) bool {
		return f.Group != nil && slices.ContainsFunc(f.Conditions, func(c Condition) bool { return c.Aggregation.Set && c.Aggregation.Group == nil })
	}},
}

// LocalProblems lists, flag by flag, what keeps SDKs from deciding it locally as
// the server does. Flags that are inactive or cannot be read are left out; so
// is what depends on the values of properties.
func LocalProblems(d Definitions) []LocalProblem {
	l := &localCheck{d: &d, p: newPayload(&d, Compile(d)), verdicts: map[string][]LocalProblem{}}
	var out []LocalProblem
	for i := range d.Flags {
		if f := &d.Flags[i]; f.Active && !f.Deleted && f.fault == nil && f.Key != "" {
			out = append(out, l.flag(f)...)
		}
	}
	return out
}

type localCheck struct {
	d        *Definitions
	p        *payloadBuilder
	verdicts map[string][]LocalProblem
}

// flag checks one flag, and passes on what is wrong with flags it depends on.
func (l *localCheck) flag(f *Flag) []LocalProblem {
	if known, ok := l.verdicts[f.Key]; ok {
		return known
	}
	l.verdicts[f.Key] = nil // ends a cycle
	var out []LocalProblem
	for _, r := range localRules {
		if r.applies(l, f) {
			out = append(out, LocalProblem{f.Key, r.sdk, r.differs, r.why})
		}
	}
	for i := range f.Conditions {
		for j := range f.Conditions[i].Properties {
			p := &f.Conditions[i].Properties[j]
			if p.Type != FlagProperty {
				continue
			}
			target := l.p.target(p)
			if target < 0 {
				out = append(out, LocalProblem{f.Key, "all", false, "it depends on a flag that does not exist"})
				continue
			}
			for _, of := range l.flag(&l.d.Flags[target]) {
				// One line for each SDK and kind is enough, else long chains would
				// say the same thing over and over.
				if !slices.ContainsFunc(out, func(p LocalProblem) bool { return p.SDK == of.SDK && p.Differs == of.Differs }) {
					out = append(out, LocalProblem{f.Key, of.SDK, of.Differs, "it depends on " + quote(of.Key)})
				}
			}
		}
	}
	l.verdicts[f.Key] = out
	return out
}

// any looks for a property among the flag's, those of its cohorts included.
func (l *localCheck) any(f *Flag, match func(*Property) bool) bool {
	seen := map[int64]bool{}
	for i := range f.Conditions {
		for j := range f.Conditions[i].Properties {
			if l.anyIn(&f.Conditions[i].Properties[j], match, seen) {
				return true
			}
		}
	}
	return false
}

func (l *localCheck) anyIn(p *Property, match func(*Property) bool, seen map[int64]bool) bool {
	if match(p) {
		return true
	}
	id, ok := p.Value.(int64)
	if p.Type != CohortProperty || !ok || seen[id] {
		return false
	}
	seen[id] = true
	return l.anyInTree(l.d.Cohorts[id].Tree, match, seen)
}

func (l *localCheck) anyInTree(n *CohortNode, match func(*Property) bool, seen map[int64]bool) bool {
	if n == nil {
		return false
	}
	if n.Leaf != nil && l.anyIn(n.Leaf, match, seen) {
		return true
	}
	return slices.ContainsFunc(n.Children, func(c CohortNode) bool { return l.anyInTree(&c, match, seen) })
}

func (l *localCheck) operator(f *Flag, wanted ...Operator) bool {
	return l.any(f, func(p *Property) bool {
		switch p.Type {
		case CohortProperty, FlagProperty:
			return false
		}
		return slices.Contains(wanted, p.Operator.orDefault(p.Type))
	})
}

func (l *localCheck) truth(f *Flag) bool {
	return l.any(f, func(p *Property) bool {
		op := p.Operator.orDefault(p.Type)
		return (op == Exact || op == IsNot) && p.Type != CohortProperty && p.Type != FlagProperty && booleanLike(p.Value)
	})
}

func (c Cohort) isStatic() bool { return c.Static }

func (l *localCheck) cohort(f *Flag, match func(Cohort) bool) bool {
	return l.any(f, func(p *Property) bool {
		id, ok := p.Value.(int64)
		if p.Type != CohortProperty || !ok {
			return false
		}
		c, found := l.d.Cohorts[id]
		return found && match(c) || !found && slices.Contains(l.d.StaticCohorts, id)
	})
}

func (l *localCheck) missingCohort(f *Flag) bool {
	return l.any(f, func(p *Property) bool {
		id, ok := p.Value.(int64)
		if p.Type != CohortProperty {
			return false
		}
		c, found := l.d.Cohorts[id]
		return !ok || found && (c.Deleted || c.fault != nil) || !found && !slices.Contains(l.d.StaticCohorts, id)
	})
}
