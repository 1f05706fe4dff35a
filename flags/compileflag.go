package flags

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// This file compiles flags: first everything but the filters of conditions.

// settings compiles a flag's settings, variants, pins and holdout, but not its conditions.
func (c *compiler) settings(f *Flag, out *compiledFlag) {
	set := func(on bool, bit flagBits) {
		if on {
			out.bits |= bit
		}
	}
	set(f.EarlyExit, bitEarlyExit)
	set(f.DeviceBucketing, bitDevice)
	set(f.Continuity && f.Group == nil && !f.DeviceBucketing, bitContinuity)
	set(f.Hash == Murmur3 || f.Hash == "" && c.d.BucketingHash == Murmur3, bitMurmur3)
	set(f.HasExperiment, bitExperiment)
	set(f.Group != nil, bitGrouped)
	set(strings.HasPrefix(f.Key, surveyPrefix), bitSurvey)
	switch {
	case f.RemoteConfig:
		out.kind = ConfigKind
	case len(f.Variants) > 0:
		out.kind = VariantKind
	}
	c.audience(f, out)
	if f.Group != nil {
		out.group = c.intern(c.d.GroupTypes[*f.Group])
	}
	if f.Enrollment {
		out.enrollment = c.slot(slotPerson, "", enrollmentPrefix+f.Key)
	}
	out.payload = f.Payloads["true"]
	c.variants(f, out)
	c.pins(f, out)
	if h := f.Holdout; h != nil {
		variant := holdoutPrefix + strconv.FormatInt(h.ID, 10)
		p := min(max(h.Exclusion, 0), 100)
		out.holdout = &compiledHoldout{variant: variant, share: share(p), everyone: p == 100, payload: f.Payloads[variant]}
	}
}

// audience compiles the runtimes and contexts that the flag is restricted to (§9.9).
func (c *compiler) audience(f *Flag, out *compiledFlag) {
	switch f.Runtime {
	case "server":
		out.runtime = runtimeServer
	case "client":
		out.runtime = runtimeClient
	}
	if f.ContextsAll {
		out.bits |= bitContextsAll
	}
	for _, context := range f.Contexts {
		out.contexts = append(out.contexts, c.intern(context))
	}
}

// variants computes each variant's upper bound: the sum of the shares up to it, as float64
// (§2.2). If the first variant with a share covers everything, no hash is needed and
// out.fixed names it.
func (c *compiler) variants(f *Flag, out *compiledFlag) {
	clear(c.variant)
	out.fixed = noVariant
	if len(f.Variants) == 0 {
		return
	}
	c.checkVariants(f)
	out.variants = make([]compiledVariant, len(f.Variants))
	sum, first := 0.0, -1
	for i, v := range f.Variants {
		sum += share(v.Rollout)
		out.variants[i] = compiledVariant{key: c.intern(v.Key), below: sum, payload: f.Payloads[v.Key]}
		if first < 0 && sum > 0 {
			first = i
		}
	}
	switch {
	case first < 0:
	case out.variants[first].below >= 1:
		out.fixed = int32(first)
	default:
		out.fixed = hashedVariant
	}
}

// checkVariants indexes the variants by key and reports variants that the management API
// would reject (§1.5): they are evaluated, but probably not as intended.
func (c *compiler) checkVariants(f *Flag) {
	const place = ".filters.multivariate.variants"
	total := 0.0
	for i, v := range f.Variants {
		total += v.Rollout
		if _, used := c.variant[v.Key]; used {
			c.report(NoReason, place+"["+strconv.Itoa(i)+"].key", "the flag has two variants "+values.Quote(v.Key))
			continue
		}
		c.variant[v.Key] = int32(i)
	}
	if math.Abs(total-100) > 0.01 {
		c.report(NoReason, place, "the shares add up to "+decimal(total)+" per cent, not 100")
	}
}

// condition compiles the settings of the condition at index j: rollout, variant and
// aggregation. The caller adds the filters. Values that are ignored are reported.
func (c *compiler) condition(f *Flag, j int) compiledCondition {
	in := &f.Conditions[j]
	cond := compiledCondition{share: 1, all: true, variant: noVariant}
	if in.Rollout != nil {
		cond.share, cond.all = share(*in.Rollout), *in.Rollout == 100
		if *in.Rollout < 0 || *in.Rollout > 100 {
			c.report(NoReason, c.conditionPath(j, -1)+".rollout_percentage", "a rollout must be between 0 and 100 per cent, not "+decimal(*in.Rollout))
		}
	}
	if i, declared := c.variant[in.Variant]; declared && in.Variant != "" {
		cond.variant = i
	} else if in.Variant != "" {
		c.report(NoReason, c.conditionPath(j, -1)+".variant", "the flag has no variant "+values.Quote(in.Variant)+", the override is ignored")
	}
	group := f.Group
	if in.Aggregation.Set {
		group = in.Aggregation.Group
	}
	if group != nil {
		cond.grouped, cond.group = true, c.intern(c.d.GroupTypes[*group])
		if cond.group == "" {
			c.report(NoReason, c.conditionPath(j, -1), "there is no group type with the index "+strconv.Itoa(*group)+": the condition is always skipped")
		}
	}
	return cond
}

// The functions below compile the filters of conditions: one requirement each, about a property, a
// cohort or another flag.

// conditionPath returns the path of a condition in the flag's record, or of one of its
// properties unless property is negative.
func (c *compiler) conditionPath(condition, property int) string {
	s := ".filters.groups[" + strconv.Itoa(condition) + "]"
	if property >= 0 {
		s += ".properties[" + strconv.Itoa(property) + "]"
	}
	return s
}

// filter compiles one requirement of a flag's condition into out. It returns false if the
// whole flag becomes a failure because of it.
func (c *compiler) filter(f *Flag, j, k int, cond *compiledCondition, out *filter) bool {
	p := &f.Conditions[j].Properties[k]
	kind := p.Type
	if kind == "" { // absent in older records
		kind = PersonProperty
		if cond.grouped {
			kind = GroupProperty
		}
	}
	name := p.Operator.orDefault(kind)
	op := operators[name]
	failure := func(member, problem string) bool {
		c.report(FlagDataParsingError, c.conditionPath(j, k)+member, problem)
		c.set.flags[c.flag].failure = FlagDataParsingError
		return false
	}
	if op == nil {
		return failure(".operator", "unknown operator "+values.Quote(string(p.Operator)))
	}
	out.operator = op
	switch kind {
	case PersonProperty, PersonMetadata, GroupProperty:
		problem := c.property(p, kind, cond.group, op, false, out)
		if problem != "" {
			c.report(NoReason, c.conditionPath(j, k)+".value", string(name)+" never matches here: "+problem)
		}
	case CohortProperty:
		c.set.flags[c.flag].bits |= bitCohorts
		id, ok := p.cohortID()
		if !ok {
			c.report(CohortFiltersParsingError, c.conditionPath(j, k)+".value", "must be the id of a cohort as a whole number")
			*out = filter{kind: filterCohort, target: c.badCohort(), operator: op}
			return true
		}
		c.cohortFilter(id, op, out)
		if out.kind == filterNever {
			c.report(NoReason, c.conditionPath(j, k)+".operator", string(name)+" never matches a cohort, use in or not_in")
		} else if code := c.set.cohorts[out.target].failure; code != NoReason {
			c.report(code, c.conditionPath(j, k)+".value", c.set.cohortProblem(out.target))
		}
	case FlagProperty:
		if problem := c.flagFilter(p, op, out); problem != "" {
			c.report(NoReason, c.conditionPath(j, k), problem)
		}
	default:
		return failure(".type", "unknown type of property "+values.Quote(string(p.Type)))
	}
	return true
}

// cohortProblems describe faults of cohorts.
var cohortProblems = map[ReasonCode]string{
	CohortNotFound:            "does not exist",
	CohortCycle:               "depends on itself",
	CohortFiltersParsingError: "cannot be read",
}

// property compiles the comparison of a person's or group's property. lists selects the
// meaning that lists have outside of flags, see [Filter]. The result describes why the
// comparison can never match, and is empty if it can.
func (c *compiler) property(p *Property, kind PropertyType, group string, op *operator, lists bool, out *filter) (problem string) {
	*out = filter{kind: filterNever, operator: op, name: c.intern(p.Key)}
	if _, problem := p.unfitReason(op); problem != "" {
		return problem
	}
	matcher, problem := c.match(op, p.Value, lists)
	missing := op.missing
	if matcher == nil {
		matcher, missing = constMatcher(invalid), op.missing && !op.missingNeedsValue
		if !missing { // neither a present nor a missing property can match
			return problem
		}
	}
	switch kind {
	case GroupProperty:
		if p.GroupType != nil {
			group = c.d.GroupTypes[*p.GroupType] // slot keeps the name
		}
		out.target = c.slot(slotGroup, group, p.Key)
	case PersonMetadata:
		out.target = c.slot(slotCreatedAt, "", p.Key)
	default:
		out.target = c.slot(slotPerson, "", p.Key)
	}
	out.matcher, out.negated, out.missing, out.kind = matcher, op.negated, missing, filterProperty
	out.direct, _ = matcher.(directMatcher)
	return problem
}

// preparedMatcher is the prepared operand of a filter.
type preparedMatcher struct {
	matcher matcher
	problem string
}

// maxPrepared limits the number of prepared operands that a compilation reuses, maxOperand
// the length of the lists among them.
const maxPrepared, maxOperand = 4096, 16

// match prepares the operand of a filter. Equal operands are prepared only once, since
// many filters of a project have the same.
func (c *compiler) match(op *operator, value any, lists bool) (matcher, string) {
	if list, _ := value.([]any); len(list) > maxOperand {
		return c.prepare(op, value, lists)
	}
	var operand sums
	operand.begin()
	operand.text(string(op.name))
	operand.bools(lists)
	operand.value(value, 0)
	entry, ok := c.matchers[operand.sum]
	if !ok || operand.opaque {
		entry.matcher, entry.problem = c.prepare(op, value, lists)
		if len(c.matchers) < maxPrepared && !operand.opaque {
			c.matchers[operand.sum] = entry
		}
	}
	return entry.matcher, entry.problem
}

// slot returns the index of the slot of a fact and adds the slot if it does not exist.
func (c *compiler) slot(kind slotKind, group, key string) int32 {
	k := slotKey{kind, group, key}
	if i, ok := c.slotIndex[k]; ok {
		return i
	}
	key, group = c.intern(key), c.intern(group)
	k.key, k.group = key, group
	s := slot{kind: kind, key: key, groupType: group}
	switch kind {
	case slotPerson:
		s.located, s.distinct, s.initial = locatedKeys[key], key == "distinct_id", initialOf[key]
		s.undecided = &Undecided{Fact: "person property", Name: key}
	case slotGroup:
		s.undecided = &Undecided{Fact: "group property", Name: key}
	case slotCreatedAt:
		s.undecided = &Undecided{Fact: "person metadata", Name: key}
	}
	i := int32(len(c.set.slots))
	c.set.slots = append(c.set.slots, s)
	c.slotIndex[k] = i
	return i
}

// flagFilter compiles a dependency on another flag (§6, decision 3). The result is a problem
// to report, or empty.
func (c *compiler) flagFilter(p *Property, op *operator, out *filter) (problem string) {
	*out = filter{kind: filterNever, operator: op, name: c.intern(p.Key)}
	target, found := c.set.findFlag(p)
	if _, err := strconv.ParseInt(p.Key, 10, 64); err == nil && found && c.set.flags[target].key() == p.Key {
		c.set.fingerprint.sums[c.flag] = 0 // recompiled next time: a new flag may have this id
	}
	own := &c.set.flags[c.flag]
	own.deps = append(own.deps, target) // -1 if the flag does not exist
	if !found {
		if !c.d.mayExist(p.Key) {
			own.bits |= bitSurelyMissing
		} else if own.absent == nil {
			own.absent = &Undecided{Fact: "flag", Name: out.name}
		}
	}
	out.target = target
	if op.name != FlagEvaluatesTo {
		return "only flag_evaluates_to matches a flag"
	}
	out.name = ""
	switch v := p.Value.(type) {
	case bool:
		out.wantOn, out.wantOff = v, !v
	case string:
		out.name = c.intern(v)
	default:
		return "a flag evaluates to true, false or the name of a variant"
	}
	out.kind = filterFlag
	if !found {
		return "there is no flag " + values.Quote(p.Key) + ": the flag is answered with missing_dependency"
	}
	return ""
}

// findFlag resolves the name of a dependency: by key if the property has a dependency chain,
// otherwise by id and then by key.
func (s *Set) findFlag(p *Property) (int32, bool) {
	if p.Chain == nil {
		if id, err := strconv.ParseInt(p.Key, 10, 64); err == nil {
			if i, ok := s.findID(id); ok {
				return i, true
			}
		}
	}
	i, ok := s.byKey[p.Key]
	if !ok {
		return -1, false
	}
	return i, true
}

// findID returns the index of the flag that has an id. Without a map of ids it searches the
// flags, which are sorted by id then, and ignores a flag if its key belongs to another flag.
func (s *Set) findID(id int64) (int32, bool) {
	if s.byID != nil {
		i, ok := s.byID[id]
		return i, ok
	}
	at := sort.Search(len(s.flags), func(i int) bool { return s.flags[i].id >= id })
	if at == len(s.flags) || s.flags[at].id != id {
		return 0, false
	}
	i, ok := s.byKey[s.flags[at].key()]
	return i, ok && int(i) == at
}
