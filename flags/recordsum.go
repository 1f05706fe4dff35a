package flags

import (
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"math"
)

// sums names flags by all that compiling them depends on, so that a set need not
// keep its definitions to tell which of them are others now.
type sums struct {
	buf []byte
	// opaque: two different values would have the same sum.
	opaque bool
}

// flag is 0 for a flag that has to be compiled whenever it is met.
func (s *sums) flag(f *Flag) uint64 {
	s.buf, s.opaque = s.buf[:0], f.fault != nil || len(f.warnings) > 0
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
	s.number(uint64(len(f.Conditions)))
	for i := range f.Conditions {
		s.condition(&f.Conditions[i])
	}
	if s.opaque {
		return 0
	}
	return maphash.Bytes(contentSeed, s.buf)
}

func (s *sums) payloads(all map[string]json.RawMessage) {
	s.number(uint64(len(all)))
	payload := func(key string) {
		s.text(key)
		s.number(uint64(len(all[key])))
		s.buf = append(s.buf, all[key]...)
	}
	if len(all) == 1 { // need not be sorted
		for key := range all {
			payload(key)
		}
		return
	}
	for _, key := range sortedKeys(all) {
		payload(key)
	}
}

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

func (s *sums) property(p *Property) {
	s.text(p.Key)
	s.text(string(p.Type))
	s.text(string(p.Operator))
	s.bools(p.HasValue, p.Negated, p.Chain != nil)
	s.index(p.GroupType)
	s.value(p.Value, 0)
}

// cohorts is a sum of all cohorts, 0 where there are none or one has to be compiled
// whenever it is met.
func (s *sums) cohorts(d *Definitions) uint64 {
	if len(d.Cohorts) == 0 && len(d.StaticCohorts) == 0 {
		return 0
	}
	s.buf, s.opaque = s.buf[:0], false
	s.bools(d.StaticCohorts != nil)
	for _, id := range d.StaticCohorts {
		s.number(uint64(id))
	}
	sum := maphash.Bytes(contentSeed, s.buf)
	for id, c := range d.Cohorts { // in no order
		s.buf = s.buf[:0]
		s.number(uint64(id))
		s.cohort(&c)
		sum += maphash.Bytes(contentSeed, s.buf)
	}
	if s.opaque {
		return 0
	}
	return sum
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
	if depth == maxDepth { // or it leads back to itself
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

func (s *sums) number(n uint64) { s.buf = binary.LittleEndian.AppendUint64(s.buf, n) }

func (s *sums) text(text string) {
	s.buf = append(binary.LittleEndian.AppendUint32(s.buf, uint32(len(text))), text...)
}

func (s *sums) bools(all ...bool) {
	for _, b := range all {
		if b {
			s.buf = append(s.buf, 1)
		} else {
			s.buf = append(s.buf, 0)
		}
	}
}

func (s *sums) index(i *int) {
	if s.bools(i != nil); i != nil {
		s.number(uint64(*i))
	}
}

// value takes what a document can hold. Values of other types may be changed behind
// its back.
func (s *sums) value(v any, depth int) {
	switch v := v.(type) {
	case nil:
		s.buf = append(s.buf, 'z')
	case bool:
		s.buf = append(s.buf, 'b')
		s.bools(v)
	case string:
		s.buf = append(s.buf, 's')
		s.text(v)
	case json.Number:
		s.buf = append(s.buf, 'n')
		s.text(string(v))
	case int64:
		s.buf = append(s.buf, 'i')
		s.number(uint64(v))
	case uint64:
		s.buf = append(s.buf, 'u')
		s.number(v)
	case float64:
		s.buf = append(s.buf, 'f')
		s.number(math.Float64bits(v))
	case []any:
		if depth == maxDepth {
			s.opaque = true
			return
		}
		s.buf = append(s.buf, 'l')
		s.number(uint64(len(v)))
		for i := range v {
			s.value(v[i], depth+1)
		}
	default:
		s.opaque = true
	}
}
