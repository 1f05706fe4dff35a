package flags

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/rustregexp"
)

// Compile prepares definitions for evaluation. It never refuses the whole for
// the sake of a part: what cannot work fails alone and is told by
// [Set.Faults].
func Compile(d Definitions) *Set {
	c := &compiler{
		d:               &d,
		set:             &Set{revision: d.Revision, minimal: d.MinimalFlagCalledEvents},
		matchingVersion: max(d.PropertyMatchingVersion, 1),
		slotIndex:       map[slotKey]int32{},
		cohortIndex:     map[int64]int32{},
		patterns:        map[string]*compiledPattern{},
	}
	zone, fault := d.zone()
	if fault != nil {
		c.set.faults = append(c.set.faults, fault)
	}
	c.zone, c.set.zone, c.set.zoneTag = zone, zone, zone.String()
	c.set.faults = append(c.set.faults, d.faults...)
	c.names()
	c.flags()
	c.order()
	c.finishNeeds()
	return c.set
}

type compiler struct {
	d               *Definitions
	set             *Set
	matchingVersion int
	zone            *time.Location
	slotIndex       map[slotKey]int32
	cohortIndex     map[int64]int32
	patterns        map[string]*compiledPattern
	byID            map[int64]int32
	direct          [][]int32 // flags that each flag depends on directly

	// the flag being compiled
	flag int
}

type slotKey struct {
	kind       slotKind
	group, key string
}

type compiledPattern struct {
	p   *rustregexp.Pattern
	err error
}

func (c *compiler) pattern(text string) (*rustregexp.Pattern, error) {
	if p, ok := c.patterns[text]; ok {
		return p.p, p.err
	}
	p, err := rustregexp.Compile(text)
	c.patterns[text] = &compiledPattern{p, err}
	return p, err
}

// report adds a fault about the flag that is being compiled.
func (c *compiler) report(code ReasonCode, path, problem string) {
	f := &c.d.Flags[c.flag]
	c.set.faults = append(c.set.faults, &DefinitionError{
		FlagID: f.ID, Flag: f.Key, Code: code, Problem: problem,
		Path: "flags[" + strconv.Itoa(c.flag) + "]" + path,
	})
}

// names finds flags by key and by id; a second flag with the same key or id is
// a fault and is not evaluated.
func (c *compiler) names() {
	n := len(c.d.Flags)
	c.set.flags = make([]compiledFlag, n)
	c.set.byKey = make(map[string]int32, n)
	c.byID = make(map[int64]int32, n)
	c.direct = make([][]int32, n)
	for i := range c.d.Flags {
		c.flag = i
		f := &c.d.Flags[i]
		out := &c.set.flags[i]
		out.prefix, out.id, out.version, out.enrollment = f.Key+".", f.ID, f.Version, -1
		if f.Active && !f.Deleted {
			out.bits |= bitActive
		}
		if f.fault != nil {
			out.failure = FlagDataParsingError
		}
		if f.Key == "" { // nothing to answer with; reported on reading
			if f.fault == nil {
				c.report(FlagDataParsingError, ".key", "must not be empty")
			}
			out.bits &^= bitActive
			continue
		}
		if other, taken := c.set.byKey[f.Key]; taken && !f.Deleted {
			if !c.d.Flags[other].Deleted {
				c.report(FlagDataParsingError, ".key", "the key "+quote(f.Key)+" is taken by flags["+strconv.Itoa(int(other))+"], which is used")
				out.bits &^= bitActive
				continue
			}
		} else if taken {
			out.bits &^= bitActive
			continue
		}
		c.set.byKey[f.Key] = int32(i)
		other, taken := c.byID[f.ID]
		holder := taken && c.d.Flags[other].fault == nil && !c.d.Flags[other].Deleted
		if holder && f.fault == nil && !f.Deleted {
			c.report(NoReason, ".id", "the id "+strconv.FormatInt(f.ID, 10)+" is that of flags["+strconv.Itoa(int(other))+"] too; dependencies by id mean the first")
		}
		if !holder {
			c.byID[f.ID] = int32(i)
		}
	}
}

func (c *compiler) flags() {
	conditions, filters := 0, 0
	for i := range c.d.Flags {
		conditions += len(c.d.Flags[i].Conditions)
		for j := range c.d.Flags[i].Conditions {
			filters += len(c.d.Flags[i].Conditions[j].Properties)
		}
	}
	// One piece of memory for all: less to allocate, and neighbours in memory.
	allConditions := make([]compiledCondition, 0, conditions)
	allFilters := make([]filter, 0, filters)
	for i := range c.d.Flags {
		f, out := &c.d.Flags[i], &c.set.flags[i]
		c.flag = i
		c.set.faults = append(c.set.faults, f.warnings...)
		if !out.is(bitActive) || out.failure != NoReason {
			continue
		}
		c.settings(f, out)
		from := len(allConditions)
		for j := range f.Conditions {
			fromFilter := len(allFilters)
			cond := c.condition(f, out, j)
			for k := range f.Conditions[j].Properties {
				var fl filter
				if c.filter(f, j, k, cond, &fl) {
					allFilters = append(allFilters, fl)
				}
			}
			cond.filters = allFilters[fromFilter:len(allFilters):len(allFilters)]
			slices.SortStableFunc(cond.filters, func(a, b filter) int {
				return cmp.Compare(boolToInt(a.kind == filterCohort), boolToInt(b.kind == filterCohort))
			})
			allConditions = append(allConditions, *cond)
		}
		out.conditions = allConditions[from:len(allConditions):len(allConditions)]
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// settings compiles everything of a flag but its conditions.
func (c *compiler) settings(f *Flag, out *compiledFlag) {
	set := func(on bool, bit flagBits) {
		if on {
			out.bits |= bit
		}
	}
	set(f.EarlyExit, bitEarlyExit)
	set(f.DeviceBucketing, bitDevice)
	c.set.devices = c.set.devices || f.DeviceBucketing
	set(f.Continuity && f.Group == nil && !f.DeviceBucketing, bitContinuity)
	set(f.Hash == Murmur3 || f.Hash == "" && c.d.BucketingHash == Murmur3, bitMurmur3)
	set(f.HasExperiment, bitExperiment)
	set(f.ContextsAll, bitContextsAll)
	set(f.Group != nil, bitGrouped)
	set(strings.HasPrefix(f.Key, surveyPrefix), bitSurvey)
	switch f.Runtime {
	case "server":
		out.runtime = runtimeServer
	case "client":
		out.runtime = runtimeClient
	}
	out.contexts = f.Contexts
	if f.Group != nil {
		out.group = c.d.GroupTypes[*f.Group]
	}
	if f.Enrollment {
		out.enrollment = c.slot(slotPerson, "", enrollmentPrefix+f.Key)
	}
	out.payload = f.Payloads["true"]
	c.variants(f, out)
	if h := f.Holdout; h != nil {
		variant := holdoutPrefix + strconv.FormatInt(h.ID, 10)
		p := min(max(h.Exclusion, 0), 100)
		out.holdout = &compiledHoldout{variant: variant, share: share(p), everyone: p == 100, payload: f.Payloads[variant]}
	}
}

// variants adds up the shares one after another, as float64 (§2.2).
func (c *compiler) variants(f *Flag, out *compiledFlag) {
	out.fixed = noVariant
	if len(f.Variants) == 0 {
		return
	}
	c.checkVariants(f)
	out.variants = make([]compiledVariant, len(f.Variants))
	sum, first := 0.0, -1
	for i, v := range f.Variants {
		sum += share(v.Rollout)
		out.variants[i] = compiledVariant{key: v.Key, below: sum, payload: f.Payloads[v.Key]}
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

// checkVariants reports what the management API would refuse (§1.5): it works,
// but hardly as it was meant.
func (c *compiler) checkVariants(f *Flag) {
	const place = ".filters.multivariate.variants"
	total, seen := 0.0, map[string]bool{}
	for i, v := range f.Variants {
		total += v.Rollout
		if seen[v.Key] {
			c.report(NoReason, place+"["+strconv.Itoa(i)+"].key", "the flag has two variants "+quote(v.Key))
		}
		seen[v.Key] = true
	}
	if math.Abs(total-100) > 0.01 {
		c.report(NoReason, place, "the shares add up to "+decimal(total)+" per cent, not 100")
	}
}

func (c *compiler) condition(f *Flag, out *compiledFlag, j int) *compiledCondition {
	in := &f.Conditions[j]
	cond := &compiledCondition{share: 1, all: true, variant: noVariant}
	if in.Rollout != nil {
		cond.share, cond.all = share(*in.Rollout), *in.Rollout == 100
		if *in.Rollout < 0 || *in.Rollout > 100 {
			c.report(NoReason, c.place(j, -1)+".rollout_percentage", "a rollout is between 0 and 100 per cent, not "+decimal(*in.Rollout))
		}
	}
	for i := range f.Variants {
		if in.Variant != "" && f.Variants[i].Key == in.Variant {
			cond.variant = int32(i)
			break
		}
	}
	if in.Variant != "" && cond.variant == noVariant {
		c.report(NoReason, c.place(j, -1)+".variant", "the flag has no variant "+quote(in.Variant)+", the override is ignored")
	}
	group := f.Group
	if in.Aggregation.Set {
		group = in.Aggregation.Group
	}
	if group != nil {
		cond.grouped, cond.group = true, c.d.GroupTypes[*group]
		if cond.group == "" {
			c.report(NoReason, c.place(j, -1), "there is no group type with the index "+strconv.Itoa(*group)+": the condition is always skipped")
		}
	}
	return cond
}

func (c *compiler) place(condition, property int) string {
	s := ".filters.groups[" + strconv.Itoa(condition) + "]"
	if property >= 0 {
		s += ".properties[" + strconv.Itoa(property) + "]"
	}
	return s
}

// filter compiles one requirement of a flag's condition. False means that the
// flag has become a failure.
func (c *compiler) filter(f *Flag, j, k int, cond *compiledCondition, out *filter) bool {
	p := &f.Conditions[j].Properties[k]
	kind := p.Type
	if kind == "" { // older records do not say
		kind = PersonProperty
		if cond.grouped {
			kind = GroupProperty
		}
	}
	name := p.Operator.orDefault(kind)
	op := operators[name]
	failure := func(member, problem string) bool {
		c.report(FlagDataParsingError, c.place(j, k)+member, problem)
		c.set.flags[c.flag].failure = FlagDataParsingError
		return false
	}
	if op == nil {
		return failure(".operator", "unknown operator "+quote(string(p.Operator)))
	}
	out.operator = op
	switch kind {
	case PersonProperty, PersonMetadata, GroupProperty:
		problem := c.property(p, kind, cond.group, op, out)
		if problem != "" {
			c.report(NoReason, c.place(j, k)+".value", string(name)+" never matches here: "+problem)
		}
	case CohortProperty:
		id, ok := p.Value.(int64)
		if !ok {
			c.report(CohortFiltersParsingError, c.place(j, k)+".value", "must be the id of a cohort as a whole number")
			*out = filter{kind: filterCohort, target: c.badCohort(), operator: op}
			return true
		}
		c.cohortFilter(id, op, out)
		if out.kind == filterNever {
			c.report(NoReason, c.place(j, k)+".operator", string(name)+" never matches a cohort, use in or not_in")
		} else if failure := c.set.cohorts[out.target].failure; failure != NoReason {
			c.report(failure, c.place(j, k)+".value", "cohort "+strconv.FormatInt(id, 10)+": "+cohortProblems[failure])
		}
	case FlagProperty:
		if problem := c.flagFilter(p, op, out); problem != "" {
			c.report(NoReason, c.place(j, k), problem)
		}
	default:
		return failure(".type", "unknown type of property "+quote(string(p.Type)))
	}
	return true
}

var cohortProblems = map[ReasonCode]string{
	CohortNotFound:            "does not exist",
	CohortCycle:               "depends on itself",
	CohortFiltersParsingError: "cannot be read",
}

// property compiles a comparison of a person's or group's property. The result
// tells why it can never match, empty when it can.
func (c *compiler) property(p *Property, kind PropertyType, group string, op *operator, out *filter) (problem string) {
	*out = filter{kind: filterNever, operator: op, want: p.Key}
	if op.only != "" {
		return "the operator is for " + string(op.only) + " filters"
	}
	if !p.hasValue() && !op.valueless {
		return "there is no value to compare with"
	}
	matcher, problem := op.compile(c, p.Value)
	missing := op.missing
	if matcher == nil {
		matcher, missing = always(invalid), op.missing && !op.missingNeedsValue
		if !missing { // neither what is there nor what is missing can match
			return problem
		}
	}
	switch kind {
	case GroupProperty:
		if p.GroupType != nil {
			group = c.d.GroupTypes[*p.GroupType]
		}
		out.target = c.slot(slotGroup, group, p.Key)
	case PersonMetadata:
		out.target = c.slot(slotCreatedAt, "", p.Key)
	default:
		out.target = c.slot(slotPerson, "", p.Key)
	}
	out.matcher, out.negated, out.missing, out.kind = matcher, op.negated, missing, filterProperty
	return problem
}

// slot finds or makes the slot of a fact.
func (c *compiler) slot(kind slotKind, group, key string) int32 {
	k := slotKey{kind, group, key}
	if i, ok := c.slotIndex[k]; ok {
		return i
	}
	s := slot{kind: kind, key: key, groupType: group}
	switch kind {
	case slotPerson:
		s.located, s.distinct, s.initial = locatedKeys[key], key == "distinct_id", initialOf[key]
		s.undecided = &Undecided{"person property", key}
	case slotGroup:
		s.undecided = &Undecided{"group property", key}
	case slotCreatedAt:
		s.undecided = &Undecided{"person metadata", key}
	}
	i := int32(len(c.set.slots))
	c.set.slots = append(c.set.slots, s)
	c.slotIndex[k] = i
	return i
}

// flagFilter compiles a dependency on another flag (§6, decision 3).
func (c *compiler) flagFilter(p *Property, op *operator, out *filter) (problem string) {
	*out = filter{kind: filterNever, operator: op, want: p.Key}
	target, found := c.findFlag(p)
	if found {
		c.direct[c.flag] = append(c.direct[c.flag], target)
	} else {
		c.direct[c.flag] = append(c.direct[c.flag], -1)
	}
	out.target = target
	if op.name != FlagEvaluatesTo {
		return "only flag_evaluates_to matches a flag"
	}
	out.want = ""
	switch v := p.Value.(type) {
	case bool:
		out.wantOn, out.wantOff = v, !v
	case string:
		out.want = v
	default:
		return "a flag evaluates to true, false or the name of a variant"
	}
	out.kind = filterFlag
	if !found {
		return "there is no flag " + quote(p.Key) + ": the flag is answered with missing_dependency"
	}
	return ""
}

// findFlag resolves the flag that a dependency names: by key where a
// dependency chain stands beside it, else by id and then by key.
func (c *compiler) findFlag(p *Property) (int32, bool) {
	if p.Chain == nil {
		if id, err := strconv.ParseInt(p.Key, 10, 64); err == nil {
			if i, ok := c.byID[id]; ok {
				return i, true
			}
		}
	}
	i, ok := c.set.byKey[p.Key]
	if !ok {
		return -1, false
	}
	return i, true
}
