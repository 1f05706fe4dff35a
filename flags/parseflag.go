package flags

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/tape"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// This file parses the record of a flag.

// slabs allocates the parts of many flags in blocks, which is faster than many small
// allocations.
type slabs struct {
	conditions []Condition
	properties []Property
	variants   []Variant
	rollouts   []float64
	lists      []readList
	payload    []byte     // scratch memory for one payload
	read       []readList // lists of the flag that is being parsed
	hasUnknown bool       // the flag may have misspelt members
}

// slabSize is the number of parts in a block.
const slabSize = 256

// cut returns n elements of a block and removes them from it. The capacity is limited, so
// that appending to them allocates instead of overwriting the next part.
func cut[T any](slab *[]T, n int) []T {
	if n == 0 {
		return nil
	}
	if n > len(*slab) {
		if n > slabSize/4 {
			return make([]T, n)
		}
		*slab = make([]T, slabSize)
	}
	out := (*slab)[:n:n]
	*slab = (*slab)[n:]
	return out
}

// parseFlag parses a flag and never fails: a record that cannot be parsed becomes a flag with
// a fault, and with key and id if these could be parsed (decision 4).
func (s *slabs) parseFlag(n node, f *Flag) {
	s.hasUnknown = false
	err := read(func() { s.flag(n, f) })
	if err != nil || s.hasUnknown { // misspelt members have precedence over other faults
		if misspelt := read(func() { n.failUnknown(flagShape) }); misspelt != nil {
			err, f.unknown = misspelt, false
		}
	}
	if err == nil {
		return
	}
	*f = Flag{source: f.source, unknown: f.unknown}
	_ = read(func() { f.ID = n.at(nID).int() })
	_ = read(func() { f.Key = n.at(nKey).text() })
	_ = read(func() { f.Active = n.at(nActive).bool() && !n.at(nDeleted).bool() })
	_ = read(func() { f.Version = n.at(nVersion).intOrZero() })
	err.FlagID, err.Flag, err.Code = f.ID, strings.Clone(f.Key), FlagDataParsingError
	f.fault = err
}

// object indexes the members of an object, and records whether there are members that the
// shape does not have.
func (s *slabs) object(n node, layout *shape, o *object) {
	*o = object{node: n.mustBeObject()}
	cells := n.t.Cells
	for i, end := n.i+1, n.end(); i < end; i = cells[i].Next {
		name := name(cells[i].Name)
		if name < hotNames {
			o.cells[name] = i
		}
		s.hasUnknown = s.hasUnknown || layout.unknown[name]
	}
}

// flag parses the members of a flag's record and stops at the first fault.
func (s *slabs) flag(n node, f *Flag) {
	var o object
	s.object(n, flagShape, &o)
	f.source, s.read = n.t.Raw(n.i), s.read[:0]
	f.Key = o.at(nKey).text()
	if f.Key == "" {
		o.at(nKey).fail("must not be empty")
	}
	f.ID = o.at(nID).int()
	f.Name = o.at(nName).textOrEmpty()
	f.Version = o.at(nVersion).intOrZero()
	f.Active = o.at(nActive).bool()
	f.Deleted = o.at(nDeleted).bool()
	f.Continuity = o.at(nContinuity).bool()
	if o.has(nXContinuity) { // the actual value of a murmur3 flag in a payload (decision 1)
		f.Continuity = o.at(nXContinuity).bool()
	}
	f.DeviceBucketing = o.at(nBucketingIdentifier).textOrEmpty() == "device_id"
	f.Hash = parseHash(o.at(nBucketingHash))
	f.Runtime = strings.ToLower(o.at(nRuntime).textOrEmpty())
	if f.Runtime != "server" && f.Runtime != "client" {
		f.Runtime = ""
	}
	contexts := o.at(nContexts)
	if contexts.null() {
		contexts = o.at(nTags)
	}
	f.Contexts = contexts.texts()
	f.ContextsAll = o.at(nContextsMode).textOrEmpty() == "all"
	f.HasExperiment = o.at(nExperiment).bool()
	f.RemoteConfig = o.at(nRemoteConfig).bool()
	f.HasEncryptedPayloads = o.at(nEncrypted).bool()
	if pins := o.at(nPins); !pins.null() {
		f.Pins, s.hasUnknown = parsePins(pins), true
	}
	s.filters(o.at(nFilters), f)
	f.lists = cut(&s.lists, len(s.read))
	copy(f.lists, s.read)
}

// filters parses a flag's filters, in format 1 only.
func (s *slabs) filters(n node, f *Flag) {
	var o object
	s.object(n, filtersShape, &o)
	if o.has(nVersion) {
		version := o.at(nVersion)
		format, isInteger := int64(0), false
		if version.kind() == tape.Number {
			format, isInteger = values.ParseInteger(n.t.Raw(version.i))
		}
		if f.unknown = !isInteger || format != 1; f.unknown {
			version.fail("format %s of a flag's filters is not supported, only format 1 is", version.describe())
		}
	}
	f.Group = o.at(nAggregation).groupIndex()
	groups := o.at(nGroups)
	if groups.null() && o.has(nGroups) {
		groups.failExpected("an array")
	}
	list := groups.list()
	f.Conditions = cut(&s.conditions, groups.count())
	for list.next() {
		s.condition(list.node, &f.Conditions[list.index])
	}
	if multi := o.at(nMultivariate); !multi.null() {
		var multivariate object
		s.object(multi, multivariateShape, &multivariate)
		variants := multivariate.at(nVariants)
		list := variants.list()
		f.Variants = cut(&s.variants, variants.count())
		for list.next() {
			var variant object
			s.object(list.node, variantShape, &variant)
			f.Variants[list.index] = Variant{Key: variant.at(nKey).text(), Rollout: variant.at(nRollout).percentage()}
		}
	}
	s.payloads(o.at(nPayloads), f)
	f.Enrollment = o.at(nEnrollment).bool()
	f.EarlyExit = o.at(nEarlyExit).bool()
	if holdout := o.at(nHoldout); !holdout.null() {
		f.Holdout, s.hasUnknown = parseHoldout(holdout), true
	}
	f.upgrade(&o)
}

// payloads parses payloads, each as JSON on one line.
func (s *slabs) payloads(n node, f *Flag) {
	if n.null() {
		return
	}
	entries := n.entries()
	f.Payloads = make(map[string]json.RawMessage, len(entries))
	for _, e := range entries {
		if !e.null() {
			s.payload = n.t.AppendJSON(s.payload[:0], e.i)
			f.Payloads[n.t.pool(e.name)] = bytes.Clone(s.payload)
		}
	}
}

// parseHoldout parses a holdout. It returns nil if the id or the percentage is absent (§3.5).
func parseHoldout(n node) *Holdout {
	n.mustBeObject()
	id, exclusion := n.at(nID), n.at(nExclusion)
	if id.null() || exclusion.null() {
		return nil
	}
	return &Holdout{ID: id.int(), Exclusion: exclusion.percentage()}
}

// condition parses a condition with its properties.
func (s *slabs) condition(n node, c *Condition) {
	var o object
	s.object(n, conditionShape, &o)
	c.Variant = o.at(nVariant).textOrEmpty()
	if p := o.at(nRollout); !p.null() {
		rollout := cut(&s.rollouts, 1)
		rollout[0] = p.percentage()
		c.Rollout = &rollout[0]
	}
	if o.has(nAggregation) {
		c.Aggregation = Aggregation{Set: true, Group: o.at(nAggregation).groupIndex()}
	}
	properties := o.at(nProperties)
	list := properties.list()
	c.Properties = cut(&s.properties, properties.count())
	for list.next() {
		p := &c.Properties[list.index]
		s.property(list.node, p)
		s.sumList(p)
	}
}

// property parses a requirement. A key may be a number, which is the id of a flag.
func (s *slabs) property(n node, p *Property) {
	var o object
	s.object(n, propertyShape, &o)
	p.Type = PropertyType(o.at(nType).word())
	p.Operator = Operator(o.at(nOperator).word())
	p.HasValue = o.has(nValue)
	p.Negated = o.at(nNegation).bool()
	p.Value = o.at(nValue).value()
	key := o.at(nKey)
	if key.kind() == tape.Number {
		p.Key = n.t.Raw(key.i)
	} else {
		p.Key = key.text()
	}
	p.GroupType = o.at(nGroupIndex).groupIndex()
	if o.has(nDependencyChain) {
		p.Chain = o.at(nDependencyChain).texts()
		if p.Chain == nil {
			p.Chain = []string{}
		}
	}
}

// upgrade converts the two older formats of early access and holdouts (decision 3). Values
// that cannot be converted are ignored and reported by Compile.
func (f *Flag) upgrade(filters *object) {
	if !filters.has(nSuperGroups) && !filters.has(nHoldoutGroups) {
		return
	}
	var s slabs
	if old := filters.at(nSuperGroups); !old.empty() && filters.at(nEnrollment).null() {
		var c Condition
		if read(func() { s.condition(old.first(), &c) }) == nil {
			for _, p := range c.Properties {
				f.Enrollment = f.Enrollment || p.Key == enrollmentPrefix+f.Key
			}
		}
		if !f.Enrollment {
			f.ignored(old, "super_groups without $feature_enrollment/"+f.Key+" are ignored")
		}
	}
	if old := filters.at(nHoldoutGroups); !old.empty() && f.Holdout == nil && !filters.has(nHoldout) {
		var c Condition
		problem := read(func() { s.condition(old.first(), &c) })
		id, err := strconv.ParseInt(strings.TrimPrefix(c.Variant, holdoutPrefix), 10, 64)
		if problem != nil || err != nil || !strings.HasPrefix(c.Variant, holdoutPrefix) || len(c.Properties) > 0 {
			f.ignored(old, "holdout_groups are ignored: only one without properties whose variant is holdout-<id> is understood")
			return
		}
		f.Holdout = &Holdout{ID: id, Exclusion: 100}
		if c.Rollout != nil {
			f.Holdout.Exclusion = *c.Rollout
		}
	}
}

// ignored adds a warning about an ignored value.
func (f *Flag) ignored(n node, problem string) {
	f.warnings = append(f.warnings, &DefinitionError{FlagID: f.ID, Flag: strings.Clone(f.Key), Path: n.path(), Problem: problem})
}

// parsePins parses the pins of a flag's record.
func parsePins(n node) (out []Pin) {
	for list := n.list(); list.next(); {
		p := Pin{Cohort: list.at(nCohort).intOrZero(), GroupType: list.at(nGroupType).textOrEmpty(), GroupKey: list.at(nGroupKey).textOrEmpty()}
		if p.Cohort == 0 && p.GroupType == "" {
			list.fail("a pin must name a cohort or a group_type")
		}
		value := list.at(nValue)
		switch value.kind() {
		case tape.True, tape.False:
			p.Enabled = value.bool()
		default:
			p.Enabled, p.Variant = true, value.text()
		}
		if until := list.at(nExpires); !until.null() {
			at, err := time.Parse(time.RFC3339, until.text())
			if err != nil {
				until.fail("must be a time such as 2026-01-31T12:00:00Z")
			}
			p.Until = at
		}
		out = append(out, p)
	}
	return out
}

// parseHash parses an optional bucketing hash.
func parseHash(n node) Hash {
	switch h := Hash(n.textOrEmpty()); h {
	case "", SHA1, Murmur3:
		return h
	default:
		n.fail("must be %q or %q, not %s", SHA1, Murmur3, values.Quote(string(h)))
		return ""
	}
}
