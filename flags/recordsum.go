package flags

import (
	"encoding/json"
	"hash/maphash"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// sums computes a sum of everything that the compilation of a flag depends on, so that a set
// can detect changes without a copy of its definitions. Every sum starts with a secret of
// this process, so that collisions cannot be constructed.
type sums struct {
	sum uint64
	// opaque is set if the value cannot be summed: different values could have the same sum.
	opaque bool
	read   []readList // lists of the flag that are still ahead
}

// longList is the minimum number of elements of such a list.
const longList = 8

// sumList computes the sum of a property's value during parsing, if it is a long list.
func (s *slabs) sumList(p *Property) {
	list, _ := p.Value.([]any)
	if len(list) < longList {
		return
	}
	sum := sums{sum: sumSeed}
	for i := range list {
		sum.value(list[i], 1)
	}
	if !sum.opaque {
		s.read = append(s.read, readList{&list[0], sum.sum})
	}
}

// sumSeed is the start of all sums.
var sumSeed = maphash.String(values.Seed, "sums")

func (s *sums) begin() { *s = sums{sum: sumSeed} }

// flag returns the sum of a flag, or 0 if the flag must always be compiled.
func (s *sums) flag(f *Flag) uint64 {
	s.begin()
	s.opaque, s.read = f.fault != nil || len(f.warnings) > 0, f.lists
	s.number(uint64(f.ID))
	s.number(uint64(f.Version))
	s.text(f.Key)
	s.text(string(f.Hash))
	s.text(f.Runtime)
	s.bools(f.Active, f.Deleted, f.Enrollment, f.EarlyExit, f.Continuity, f.DeviceBucketing, f.ContextsAll, f.HasExperiment, f.RemoteConfig)
	s.index(f.Group)
	s.number(uint64(len(f.Contexts)))
	for _, context := range f.Contexts {
		s.text(context)
	}
	s.number(uint64(len(f.Variants)))
	for i := range f.Variants {
		s.text(f.Variants[i].Key)
		s.number(math.Float64bits(f.Variants[i].Rollout))
	}
	s.payloads(f.Payloads)
	if s.bools(f.Holdout != nil); f.Holdout != nil {
		s.number(uint64(f.Holdout.ID))
		s.number(math.Float64bits(f.Holdout.Exclusion))
	}
	s.pins(f.Pins)
	s.number(uint64(len(f.Conditions)))
	for i := range f.Conditions {
		s.condition(&f.Conditions[i])
	}
	if s.opaque {
		return 0
	}
	return s.sum
}

func (s *sums) payloads(all map[string]json.RawMessage) {
	sum := uint64(len(all))
	for key, payload := range all { // the sum does not depend on the order of the entries
		one := sums{sum: sumSeed}
		one.text(key)
		one.number(maphash.Bytes(values.Seed, payload))
		sum += one.sum
	}
	s.number(sum)
}

// condition adds a condition.
func (s *sums) condition(c *Condition) {
	s.text(c.Variant)
	if s.bools(c.Rollout != nil, c.Aggregation.Set); c.Rollout != nil {
		s.number(math.Float64bits(*c.Rollout))
	}
	s.index(c.Aggregation.Group)
	s.number(uint64(len(c.Properties)))
	for i := range c.Properties {
		s.property(&c.Properties[i])
	}
}

// property adds a requirement.
func (s *sums) property(p *Property) {
	s.text(p.Key)
	s.text(string(p.Type))
	s.text(string(p.Operator))
	s.bools(p.HasValue, p.Negated, p.Chain != nil)
	s.index(p.GroupType)
	s.value(p.Value, 0)
}

// cohorts returns the sum of all cohorts. It is 0 without cohorts, and if a cohort must
// always be compiled.
func (s *sums) cohorts(d *Definitions) uint64 {
	if len(d.Cohorts) == 0 && len(d.StaticCohorts) == 0 {
		return 0
	}
	s.begin()
	s.bools(d.StaticCohorts != nil)
	s.number(uint64(len(d.StaticCohorts)))
	for _, id := range d.StaticCohorts {
		s.number(uint64(id))
	}
	for _, id := range slices.Sorted(maps.Keys(d.Cohorts)) { // mostly their order in memory too
		c := d.Cohorts[id]
		s.number(uint64(id))
		s.cohort(&c)
	}
	if s.opaque {
		return 0
	}
	return s.sum
}

func (s *sums) cohort(c *Cohort) {
	s.opaque = s.opaque || c.fault != nil
	s.bools(c.Deleted, c.Static, c.Unsupported, c.Members != nil, c.Tree != nil)
	s.number(uint64(len(c.Members)))
	for _, id := range c.Members {
		s.text(id)
	}
	if c.Tree != nil {
		s.node(c.Tree, 0)
	}
}

func (s *sums) node(n *CohortNode, depth int) {
	if depth == values.MaxDepth { // too deep, or it refers to itself
		s.opaque = true
		return
	}
	if s.bools(n.Any, n.Unsupported, n.Leaf != nil); n.Leaf != nil {
		s.property(n.Leaf)
	}
	s.number(uint64(len(n.Children)))
	for i := range n.Children {
		s.node(&n.Children[i], depth+1)
	}
}

// number adds a number: the combined halves of the product depend on all of its bits.
func (s *sums) number(n uint64) {
	high, low := bits.Mul64(s.sum^n, 0x9e3779b97f4a7c15) // odd, from the golden ratio
	s.sum = high ^ low
}

func (s *sums) text(text string) { s.number(maphash.String(values.Seed, text)) }

// bools adds up to 64 booleans.
func (s *sums) bools(all ...bool) {
	n := uint64(0)
	for _, b := range all {
		n <<= 1
		if b {
			n |= 1
		}
	}
	s.number(n)
}

func (s *sums) index(i *int) {
	if s.bools(i != nil); i != nil {
		s.number(uint64(*i))
	}
}

// value adds a value of the types in a parsed document. Values of other types are opaque,
// since they may change unnoticed.
func (s *sums) value(v any, depth int) {
	switch v := v.(type) {
	case nil:
		s.number('z')
	case bool:
		s.number('b')
		s.bools(v)
	case string: // needs no tag: no sum of a text is a letter
		s.text(v)
	case json.Number:
		s.number('n')
		s.text(string(v))
	case int64:
		s.number('i')
		s.number(uint64(v))
	case uint64:
		s.number('u')
		s.number(v)
	case float64:
		s.number('f')
		s.number(math.Float64bits(v))
	case []any:
		if depth == values.MaxDepth {
			s.opaque = true
			return
		}
		s.number('l')
		s.number(uint64(len(v)))
		s.list(v, depth+1)
	default:
		s.opaque = true
	}
}

// list adds a list by its own sum, which may have been computed during parsing.
func (s *sums) list(v []any, depth int) {
	if len(s.read) > 0 && len(v) > 0 && s.read[0].first == &v[0] {
		s.number(s.read[0].sum)
		s.read = s.read[1:]
		return
	}
	outer := s.sum
	s.sum = sumSeed
	for i := range v {
		s.value(v[i], depth)
	}
	inner := s.sum
	s.sum = outer
	s.number(inner)
}

// pins adds pins to the sum of a flag.
func (s *sums) pins(pins []Pin) {
	s.number(uint64(len(pins)))
	for i := range pins {
		p := &pins[i]
		s.number(uint64(p.Cohort))
		s.text(p.GroupType)
		s.text(p.GroupKey)
		s.text(p.Variant)
		s.bools(p.Enabled, p.Until.IsZero())
		s.number(uint64(p.Until.UnixNano()))
	}
}
