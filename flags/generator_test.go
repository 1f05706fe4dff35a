package flags_test

import (
	"math/rand"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// generator generates small definitions and subjects, so that failures are short.
type generator struct{ *rand.Rand }

func (g generator) one(percent int) bool { return g.Intn(100) < percent }

func pick[T any](g generator, list ...T) T { return list[g.Intn(len(list))] }

var (
	partialKeys   = []string{"p0", "p1", "$browser", "$initial_browser", "$geoip_country_code", "distinct_id"}
	partialValues = []any{"a", "b", "true", true, int64(1), 2.5, nil, "1.2.0", "2026-01-01", []any{"a"}}
	partialOps    = []flags.Operator{
		"", flags.Exact, flags.IsNot, flags.IContains, flags.NotIContains, flags.IsSet, flags.IsNotSet, flags.GreaterThan,
		flags.NotBetween, flags.Regex, flags.NotRegex, flags.IsDateBefore, flags.SemverNotEqual, flags.In,
	}
)

func (g generator) definitions() flags.Definitions {
	d := flags.Definitions{GroupTypes: map[int]string{0: "org"}, Cohorts: map[int64]flags.Cohort{}}
	if g.one(50) {
		d.StaticCohorts = []int64{4}
	}
	d.Cohorts[1] = flags.Cohort{Tree: g.node(2)}
	d.Cohorts[2] = flags.Cohort{Static: true}
	d.Cohorts[3] = flags.Cohort{Static: true, Members: []string{"u1"}}
	for i := 1; i <= 1+g.Intn(3); i++ {
		d.Flags = append(d.Flags, g.flag(i))
	}
	return d
}

func (g generator) flag(id int) flags.Flag {
	f := flags.Flag{ID: int64(id), Key: "f" + strconv.Itoa(id), Active: !g.one(5)}
	f.EarlyExit, f.Enrollment, f.Continuity, f.DeviceBucketing = g.one(25), g.one(10), g.one(15), g.one(15)
	zero := 0
	if g.one(15) {
		f.Group = &zero
	}
	if g.one(10) {
		f.Holdout = &flags.Holdout{ID: 7, Exclusion: pick(g, 0.0, 50, 100)}
	}
	if g.one(40) {
		share := pick(g, 0.0, 50, 100, 30)
		f.Variants = []flags.Variant{{Key: "a", Rollout: share}, {Key: "b", Rollout: 100 - share}}
	}
	for range g.Intn(4) {
		c := flags.Condition{Variant: pick(g, "", "", "a", "b", "none")}
		if g.one(50) {
			p := pick(g, 0.0, 10, 40, 70, 100)
			c.Rollout = &p
		}
		if g.one(15) {
			c.Aggregation = flags.Aggregation{Set: true, Group: pick(g, nil, &zero)}
		}
		for range g.Intn(3) {
			c.Properties = append(c.Properties, g.property(id))
		}
		f.Conditions = append(f.Conditions, c)
	}
	return f
}

// property generates a filter of flag number id, or a leaf of a cohort if id is 0.
func (g generator) property(id int) flags.Property {
	p := flags.Property{
		Key: pick(g, partialKeys...), Type: flags.PersonProperty, Operator: pick(g, partialOps...),
		Value: pick(g, partialValues...), HasValue: !g.one(5), Negated: g.one(20),
	}
	if p.Operator == flags.NotBetween {
		p.Value = []any{int64(0), int64(2)}
	}
	switch n := g.Intn(100); {
	case n < 5:
		p.Type, p.Key = flags.PersonMetadata, "created_at"
	case id == 0:
	case n < 15:
		zero := 0
		p.Type, p.GroupType, p.Key = flags.GroupProperty, pick(g, nil, &zero), pick(g, "p0", "$group_key")
	case n < 35:
		p.Type, p.Operator, p.Value = flags.CohortProperty, pick(g, flags.In, flags.NotIn, flags.Exact), int64(1+g.Intn(5))
		p.HasValue = true
	case n < 50 && id > 1: // on an earlier flag: no cycles
		p.Type, p.Operator, p.Key = flags.FlagProperty, flags.FlagEvaluatesTo, strconv.Itoa(1+g.Intn(id-1))
		p.Value, p.HasValue = pick[any](g, true, false, "a", "b", "holdout-7"), true
	}
	return p
}

func (g generator) node(depth int) *flags.CohortNode {
	n := &flags.CohortNode{Any: g.one(50)}
	for range 1 + g.Intn(2) {
		switch {
		case depth > 0 && g.one(20):
			n.Children = append(n.Children, *g.node(depth - 1))
		case g.one(10):
			n.Children = append(n.Children, flags.CohortNode{Unsupported: true, Leaf: pick(g, nil, &flags.Property{Type: "behavioral", Negated: g.one(50)})})
		case g.one(20):
			n.Children = append(n.Children, flags.CohortNode{Leaf: &flags.Property{
				Type: flags.CohortProperty, Operator: pick(g, flags.In, flags.NotIn), Value: int64(2 + g.Intn(4)), HasValue: true, Negated: g.one(30),
			}})
		default:
			p := g.property(0)
			n.Children = append(n.Children, flags.CohortNode{Leaf: &p})
		}
	}
	return n
}

// storedKeys returns the person properties that conditions of d may use.
func storedKeys(d *flags.Definitions) []string {
	keys := append([]string{}, partialKeys...)
	for i := range d.Flags {
		keys = append(keys, "$feature_enrollment/"+d.Flags[i].Key)
	}
	return keys
}

func (g generator) some(keys []string, percent int) flags.Properties {
	out := flags.Properties{}
	for _, key := range keys {
		if g.one(percent) {
			out[key] = pick(g, partialValues...)
		}
	}
	return out
}

func (g generator) subject(d *flags.Definitions) flags.Subject {
	sub := flags.Subject{DistinctID: pick(g, "u1", "u2", ""), Partial: true, Person: g.some(storedKeys(d), 20)}
	if g.one(30) {
		sub.AnonymousID = "a1"
	}
	if g.one(30) {
		sub.DeviceID = "d1"
	}
	if g.one(50) {
		sub.Groups = map[string]string{"org": "o1"}
		sub.GroupProperties = map[string]flags.Properties{"org": g.some([]string{"p0", "$group_key"}, 30)}
	}
	if g.one(30) {
		sub.Located, sub.LocatedByPeer = flags.Properties{"$geoip_country_code": "a"}, g.one(50)
	}
	if g.one(30) {
		sub.Stored = &flags.Stored{Person: g.some(storedKeys(d), 20)}
		if g.one(30) {
			sub.Stored.Overrides = map[string]string{}
		}
		if g.one(30) {
			sub.Stored.Cohorts = []int64{2}
		}
	}
	return sub
}

// complete returns a full subject that is a completion of a partial one: a property that was
// not supplied may be stored or missing.
func (g generator) complete(sub flags.Subject, d *flags.Definitions) flags.Subject {
	stored := flags.Stored{Person: g.some(storedKeys(d), 50)}
	if sub.Groups != nil {
		stored.Groups = map[string]flags.Properties{"org": g.some([]string{"p0"}, 50)}
	}
	if g.one(50) {
		stored.CreatedAt = testAt.Add(-time.Duration(g.Intn(400*24)) * time.Hour)
	}
	stored.Overrides = map[string]string{}
	for i := range d.Flags {
		// Rows are written for person flags that are not bucketed by device (§2.3).
		f := &d.Flags[i]
		if f.Continuity && f.Group == nil && !f.DeviceBucketing && g.one(50) {
			stored.Overrides[f.Key] = pick(g, "x1", "x2")
		}
	}
	for id := int64(2); id <= 5; id++ {
		if g.one(50) {
			stored.Cohorts = append(stored.Cohorts, id)
		}
	}
	if was := sub.Stored; was != nil {
		for key, v := range was.Person {
			stored.Person[key] = v
		}
		if was.Overrides != nil {
			stored.Overrides = was.Overrides
		}
		if was.Cohorts != nil {
			stored.Cohorts = was.Cohorts
		}
	}
	sub.Stored, sub.Partial = &stored, false
	return sub
}
