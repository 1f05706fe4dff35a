package sdklint

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// surveyKeys starts the keys of flags that surveys create.
const surveyKeys = "survey-targeting-"

// rules are based on the sources of posthog-go 1.27.0 and posthog-node 5.70.0, and for
// posthog-python 7.42.0 from §11. adapters/httpapi/sdktest verifies the rules of the first
// two with the SDKs themselves.
var rules = []rule{
	{"all", alwaysNeedsServer, "experience continuity: only the server keeps identifiers", testFlag(func(_ *check, f *flags.Flag) bool { return f.Continuity })},
	{"all", alwaysNeedsServer, "its bucket is a murmur3 hash, which SDKs do not compute", testFlag(func(l *check, f *flags.Flag) bool {
		return l.p.IsMurmur3(f.Key) && l.p.NeedsBucket(f.Key)
	})},
	{"all", alwaysNeedsServer, "values are pinned for individual people, which only the server stores", testFlag(func(_ *check, f *flags.Flag) bool { return len(f.Pins) > 0 })},
	{"all", alwaysNeedsServer, "encrypted payloads: the flag is not in the definitions for SDKs", testFlag(func(_ *check, f *flags.Flag) bool { return f.HasEncryptedPayloads })},
	{"all", alwaysNeedsServer, "surveys create this flag: it is not in the definitions for SDKs", testFlag(func(_ *check, f *flags.Flag) bool { return strings.HasPrefix(f.Key, surveyKeys) })},
	{"all", alwaysNeedsServer, "a group type that the project does not define", testFlag(func(l *check, f *flags.Flag) bool { return f.Group != nil && l.d.GroupTypes[*f.Group] == "" })},
	{"python node", needsServer, "bucketed by device: undecided without a device id", testFlag(func(_ *check, f *flags.Flag) bool { return f.DeviceBucketing && f.Group == nil })},
	{"go", differs, "bucketed by device: without a device id, or with one among the person's properties, the distinct id is hashed", testFlag(func(l *check, f *flags.Flag) bool {
		return f.DeviceBucketing && f.Group == nil && l.p.NeedsBucket(f.Key)
	})},
	{"all", differs, "early access enrollment is ignored", testFlag(func(_ *check, f *flags.Flag) bool { return f.Enrollment })},
	{"all", differs, "it is for clients, but an SDK on a server evaluates it too", testFlag(func(_ *check, f *flags.Flag) bool { return f.Runtime == "client" })},
	{"go python", differs, "the holdout is ignored", testFlag(func(_ *check, f *flags.Flag) bool { return f.Holdout != nil && f.Holdout.Exclusion > 0 })},
	{"python", differs, "evaluation contexts are ignored", testFlag(func(_ *check, f *flags.Flag) bool { return len(f.Contexts) > 0 })},
	{"node", differs, "one of the evaluation contexts is enough, although all are required", testFlag(func(_ *check, f *flags.Flag) bool { return f.ContextsAll && len(f.Contexts) > 1 })},
	{"go node", differs, "an explicit person condition in a group flag is evaluated for the group", testFlag(func(_ *check, f *flags.Flag) bool {
		return f.Group != nil && slices.ContainsFunc(f.Conditions, func(c flags.Condition) bool { return c.Aggregation.Set && c.Aggregation.Group == nil })
	})},
	{"node", differs, "a payload that is falsy in JavaScript (0, false, empty text) is left out", testFlag(func(_ *check, f *flags.Flag) bool {
		for _, raw := range f.Payloads {
			if isFalsyInJavaScript(raw) {
				return true
			}
		}
		return false
	})},

	// cohorts
	{"all", needsServer, "a static cohort: membership is on the server", testFilter(func(l *check, p *filter) bool {
		id, ok := p.cohort()
		c, found := l.d.Cohorts[id]
		return ok && (found && c.Static && !c.Deleted || !found && l.p.IsStatic(id))
	})},
	{"all", needsServer, "a cohort that cannot be read, or is not in the definitions", testFilter(func(l *check, p *filter) bool {
		id, ok := p.cohort()
		c, found := l.d.Cohorts[id]
		return p.Type == flags.CohortProperty && (!ok || found && (c.Deleted || l.p.IsFaulty(id)) || !found && !l.p.IsStatic(id))
	})},
	{"all", needsServer, "a cohort that refers to itself, is realtime or behavioral, or has no definition: it is not in the definitions for SDKs", testFilter(func(l *check, p *filter) bool {
		id, ok := p.cohort()
		c, found := l.d.Cohorts[id]
		return ok && found && !c.Static && !c.Deleted && !l.p.IsFaulty(id) && !l.isServed(p)
	})},
	{"all", needsServer, "a cohort with a condition about events", testNode(func(n *flags.CohortNode) bool { return n.Unsupported })},
	{"node", needsServer, "a cohort that mixes conditions and groups of conditions side by side", testNode(func(n *flags.CohortNode) bool {
		leaf := func(c flags.CohortNode) bool { return c.Leaf != nil }
		return slices.ContainsFunc(n.Children, leaf) && slices.ContainsFunc(n.Children, func(c flags.CohortNode) bool { return !leaf(c) })
	})},
	{"go python", differs, "a cohort with an empty OR contains everybody", testNode(func(n *flags.CohortNode) bool {
		return n.Any && n.Leaf == nil && len(n.Children) == 0
	})},
	{"go node", differs, "a cohort's id that is not a whole number: the SDK looks the cohort up, while the server fails", testFilter(func(l *check, p *filter) bool {
		_, isInteger := p.Value.(int64)
		return !isInteger && l.isServed(p)
	})},
	{"go", differs, "not_in of a cohort is read as in", testCohortOperator(func(o flags.Operator) bool { return o == flags.NotIn })},
	{"go node", differs, "a cohort's operator other than in and not_in never matches on the server, and is read as in", testCohortOperator(func(o flags.Operator) bool { return o != flags.In && o != flags.NotIn })},
	{"python", differs, "exact of a cohort is read as in", testCohortOperator(func(o flags.Operator) bool { return o == flags.Exact })},
	{"python", needsServer, "a cohort's operator other than in and not_in", testCohortOperator(func(o flags.Operator) bool { return o != flags.In && o != flags.NotIn && o != flags.Exact })},
	{"all", differs, "in a cohort, a list that is compared with an operator for one value means any of its elements, and in an SDK its text", testFilter(func(_ *check, p *filter) bool {
		list, isList := p.Value.([]any)
		return p.flag == nil && isList && (p.takesLists || p.strict && len(list) == 1)
	})},
	{"go", differs, "in a cohort, a condition that posthog-go cannot decide may count as one that does not hold", testFilter(func(_ *check, p *filter) bool {
		return p.flag == nil && goUndecided(p)
	})},

	// dependencies on flags
	{"all", needsServer, "it depends on a flag that is not in the definitions for SDKs", testDependency(func(l *check, _ *filter, target int32) bool { return target < 0 || !l.p.IsInPayload(target) })},
	{"all", needsServer, "its dependencies lead to a flag that is not in the definitions for SDKs, back to itself, or through too many flags", testDependency(func(l *check, _ *filter, target int32) bool {
		return target >= 0 && l.p.IsInPayload(target) && !l.p.HasChain(target)
	})},
	{"go", needsServer, "it depends on a flag that is evaluated for something else: groups of another type, or persons", testDependency(func(l *check, p *filter, target int32) bool {
		return target >= 0 && l.d.Flags[target].Active && !isAbout(&l.d.Flags[target], p.group)
	})},
	{"go", needsServer, "a dependency on a flag without a value, or with another operator than flag_evaluates_to", testDependency(func(_ *check, p *filter, _ int32) bool {
		return p.op != flags.FlagEvaluatesTo || p.Value == nil
	})},
	{"node", differs, "the operator of a dependency on a flag is ignored", testDependency(func(_ *check, p *filter, _ int32) bool { return p.op != flags.FlagEvaluatesTo })},
	{"go node", needsServer, "a dependency on a flag in a cohort", testFilter(func(_ *check, p *filter) bool { return p.flag == nil && p.Type == flags.FlagProperty })},

	// the entity that the property belongs to
	{"all", needsServer, "the person's creation time is on the server", testFilter(func(_ *check, p *filter) bool { return p.Type == flags.PersonMetadata })},
	{"go node", needsServer, "a group's property in a condition about persons is searched in the person's properties", testFilter(func(_ *check, p *filter) bool {
		return p.flag != nil && p.group == nil && p.Type == flags.GroupProperty
	})},
	{"go node", differs, "a property of another group type is read from the condition's group", testFilter(func(_ *check, p *filter) bool {
		return p.flag != nil && p.group != nil && p.Type == flags.GroupProperty && p.GroupType != nil && *p.GroupType != *p.group
	})},
	{"go node", differs, "a person's property or a cohort in a condition about a group is evaluated with the group's properties", testFilter(personOfGroup)},
	{"go node", needsServer, "a person's property or a cohort in a condition about a group: the person's properties are ignored", testFilter(personOfGroup)},

	// operators and their values
	{"all", needsServer, "an operator that SDKs do not know", testFamily(unknownFamily)},
	{"all", needsServer, "is_not_set: an SDK cannot distinguish a missing property from one that it was not given", testFilter(func(_ *check, p *filter) bool {
		return p.family() == presence && p.op == flags.IsNotSet
	})},
	{"go", needsServer, "a condition without an operator", testFilter(func(l *check, p *filter) bool {
		return p.flag != nil && l.p.IsFromText(p.flag) && p.Operator == "" && p.family() == equality
	})},
	{"go node", needsServer, "exact and is_not of a whole number, which may mean 5 or 5.0", testFilter(func(_ *check, p *filter) bool {
		return p.family() == equality && hasInteger(p.Value)
	})},
	{"node", needsServer, "a condition without a value", testReading(equality, func(p *filter) reading { return nothingIf(!p.hasValue()) }, readsNothing)},
	{"go", differs, "a condition without a value compares with null", testReading(equality, func(p *filter) reading { return nothingIf(!p.hasValue()) }, readsNothing)},
	{"python", differs, "exact true and false are compared as text, not as booleans", testFilter(func(l *check, p *filter) bool {
		list, isList := p.Value.([]any)
		return p.family() == equality && values.IsBoolean(p.Value) && (l.d.PropertyMatchingVersion != 2 || isList && len(list) == 0)
	})},
	{"python", differs, "letters beyond ASCII are compared by full case folding", testReading(equality|textual, func(p *filter) reading { return nothingIf(!isPlainASCII(p.text())) }, readsNothing)},
	{"go", differs, "the value is converted to another text than on the server", testReading(textual|expressions, goText, readsOther)},
	{"python", differs, "the value is converted to another text than on the server", testReading(equality|textual|expressions, pythonText, readsOther)},
	{"node", differs, "the value is converted to another text than on the server", testReading(textual|expressions, nodeText, readsOther)},
	{"go", needsServer, "gt, gte, lt and lte with a value that is not a number", testReading(ordering, goNumber, readsNothing)},
	{"go", differs, "a number in a form that the server does not accept", testReading(ordering, goNumber, readsOther)},
	{"node", differs, "gt, gte, lt and lte with a value that is not a plain number compare as text, or by its leading number", testReading(ordering, nodeNumber, readsOther)},
	{"go", differs, "RE2 refuses the regular expression: it never matches", testReading(expressions, goExpression, readsNothing)},
	{"go", differs, "RE2 interprets the regular expression differently: \\d, \\w, \\s and \\b match ASCII only, nested sets are not supported", testReading(expressions, goExpression, readsOther)},
	{"python", differs, "Python interprets the regular expression differently from Rust, or refuses it: then it never matches", testReading(expressions, pythonExpression, readsOther)},
	{"node", needsServer, "a regular expression that posthog-node does not treat as portable", testReading(expressions, nodeExpression, readsNothing)},
	{"all", differs, "dates are not read in the project's time zone", testFilter(func(l *check, p *filter) bool {
		return l.d.Timezone != "" && l.d.Timezone != "UTC" && p.family() == dating && nodeDate(p) != readsNothing
	})},
	{"go", needsServer, "a date that posthog-go cannot parse", testReading(dating, goDate, readsNothing)},
	{"python node", needsServer, "a date that cannot be parsed", testReading(dating, nodeDate, readsNothing)},
	{"node", differs, "a date that JavaScript parses differently, or in the time zone of the process", testReading(dating, nodeDate, readsOther)},
	{"go", differs, "relative months and years overflow at the end of shorter months", testMonthsBack(1)},
	{"python", differs, "months are counted back in one step, not one by one", testMonthsBack(2)},
	{"go", needsServer, "a version that posthog-go cannot parse", testReading(versions, goVersion, readsNothing)},
	{"python", needsServer, "a version that posthog-python cannot parse", testReading(versions, pythonVersion, readsNothing)},
	{"node", needsServer, "a version that posthog-node cannot parse", testReading(versions, nodeVersion, readsNothing)},
	{"go", differs, "a version with more or fewer parts than the SDK compares: pre-release, build, V, a fourth part, no *", testReading(versions, goVersion, readsOther)},
	{"python", differs, "a version with more parts than the SDK compares: pre-release, build, V, a fourth part", testReading(versions, pythonVersion, readsOther)},
	{"node", differs, "a version with more or fewer parts than the SDK compares: pre-release, build, V, a fourth part, no *", testReading(versions, nodeVersion, readsOther)},
}

func testFlag(match func(*check, *flags.Flag) bool) test { return test{flag: match} }
func testFilter(match filterTest) test                   { return test{filter: match} }
func testNode(match func(*flags.CohortNode) bool) test   { return test{node: match} }

// testCohortOperator returns a test of the operator of a cohort in the payload.
func testCohortOperator(match func(flags.Operator) bool) test {
	return testFilter(func(l *check, p *filter) bool { return l.isServed(p) && match(p.op) })
}

// testDependency returns a test of a dependency on another flag. target is the flag's index, or
// -1 if the flag does not exist.
func testDependency(match func(l *check, p *filter, target int32) bool) test {
	return testFilter(func(l *check, p *filter) bool {
		if p.flag == nil || p.Type != flags.FlagProperty {
			return false
		}
		target, ok := l.p.Target(p.Property)
		if !ok {
			target = -1
		}
		return match(l, p, target)
	})
}

// personOfGroup reports whether a requirement is about a person where SDKs evaluate a group.
// They treat every condition of a group flag as one about the group.
func personOfGroup(l *check, p *filter) bool {
	return p.flag != nil && (p.group != nil || p.flag.Group != nil) && (p.Type == flags.PersonProperty || l.isServed(p))
}

// isAbout reports whether all conditions of a flag are about the same group type, nil for
// persons.
func isAbout(f *flags.Flag, group *int) bool {
	same := func(g *int) bool { return g == nil && group == nil || g != nil && group != nil && *g == *group }
	return same(f.Group) && !slices.ContainsFunc(f.Conditions, func(c flags.Condition) bool {
		return c.Aggregation.Group != nil && !same(c.Aggregation.Group)
	})
}

// isFalsyInJavaScript reports whether a payload is falsy in JavaScript. posthog-node parses a
// string that contains JSON.
func isFalsyInJavaScript(raw json.RawMessage) bool {
	var text string
	if json.Unmarshal(raw, &text) == nil && json.Valid([]byte(text)) {
		raw = json.RawMessage(text)
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	return v == false || v == 0.0 || v == ""
}
