package flags

import (
	"math"
	"strconv"
	"strings"
)

// This file compiles everything of a flag but its requirements.

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
			c.report(NoReason, place+"["+strconv.Itoa(i)+"].key", "the flag has two variants "+quote(v.Key))
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
		c.report(NoReason, c.conditionPath(j, -1)+".variant", "the flag has no variant "+quote(in.Variant)+", the override is ignored")
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
