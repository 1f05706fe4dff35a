package flags_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/dlclark/regexp2/v2"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// This file verifies laws that every operator must satisfy for all values.

// opposites maps operators to their opposites.
var opposites = map[flags.Operator]flags.Operator{
	flags.Exact: flags.IsNot, flags.IContains: flags.NotIContains, flags.IContainsMulti: flags.NotIContainsMulti,
	flags.StartsWith: flags.NotStartsWith, flags.EndsWith: flags.NotEndsWith, flags.Regex: flags.NotRegex,
	flags.Between: flags.NotBetween, flags.SemverEqual: flags.SemverNotEqual, flags.IsSet: flags.IsNotSet,
	flags.LessThan: flags.GreaterOrEqual, flags.LessOrEqual: flags.GreaterThan,
	flags.SemverLess: flags.SemverGreaterEqual, flags.SemverLessEqual: flags.SemverGreater,
}

// For every value of the cases and every property: if the property is present, exactly one of
// two opposites matches, or neither if the values cannot be compared, which the trace reports
// (§4.4, §4.5).
func TestFlags_4_4_OppositesAreComplements(t *testing.T) {
	t.Cleanup(regexp2.StopTimeoutClock)
	for positive, negative := range opposites {
		t.Run(string(positive), func(t *testing.T) {
			values, properties := map[string]*operatorCase{}, map[string]*operatorCase{}
			for _, op := range []flags.Operator{positive, negative} {
				cases := readOperatorCases(t, op)
				for i := range cases {
					if c := &cases[i]; c.Type == flags.PersonProperty && *c.Key == "p" && c.Value != nil && c.Property != nil {
						values[string(c.Value)], properties[string(c.Property)] = c, c
					}
				}
			}
			for _, v := range values {
				both := map[string]map[string]any{"yes": v.filter(positive), "no": v.filter(negative)}
				set := v.compile(t, both)
				for _, p := range properties {
					sub := p.subject(t)
					yes, no := decide(set, "yes", sub, usualTime), decide(set, "no", sub, usualTime)
					if yes != no {
						continue
					}
					trace := set.Explain("no", sub, usualTime, flags.Selection{})
					result := trace.Flags[0].Conditions[0].Filters[0].Result
					// NaN is not ordered, so neither less nor greater
					if yes || result != "invalid" && !notOrdered(positive, v, p) {
						t.Errorf("value %s, property %s: %s and %s are both %v (%s)", v.Value, p.Property, positive, negative, yes, result)
					}
				}
			}
		})
	}
}

// notOrdered reports a comparison with "NaN", which is a number without an order.
func notOrdered(op flags.Operator, v, p *operatorCase) bool {
	isNaN := func(raw json.RawMessage) bool {
		switch string(raw) {
		case `"NaN"`, `"nan"`, `"-nan"`, `"-NaN"`:
			return true
		}
		return false
	}
	return (op == flags.LessThan || op == flags.LessOrEqual) && (isNaN(v.Value) || isNaN(p.Property))
}

// The result for a missing property is that of the table of operators, and is_set and
// is_not_set differ there too (§4.5).
func TestFlags_4_5_MissingProperty(t *testing.T) {
	bad := map[flags.Operator]string{flags.NotBetween: `[1,10]`}
	for _, op := range flags.Operators() {
		value := `"1.0.0"`
		if v, ok := bad[op.Name]; ok {
			value = v
		}
		key := "p"
		c := operatorCase{Type: flags.PersonProperty, Key: &key, Value: json.RawMessage(value)}
		set := c.compile(t, map[string]map[string]any{"f": c.filter(op.Name)})
		if got := decide(set, "f", c.subject(t), usualTime); got != op.Missing {
			t.Errorf("%s: got %v, want %v", op.Name, got, op.Missing)
		}
	}
}

// Properties that no filter uses have no effect.
func TestFlags_4_1_UnrelatedPropertiesChangeNothing(t *testing.T) {
	eachOperator(t, func(t *testing.T, op flags.Operator, cases []operatorCase) {
		for i := range cases {
			c := &cases[i]
			set := c.compile(t, map[string]map[string]any{"f": c.filter(op)})
			sub := c.subject(t)
			sub.Person = maps.Clone(sub.Person)
			if sub.Person == nil {
				sub.Person = flags.Properties{}
			}
			for name, v := range map[string]any{"P": "x", "p ": 1.0, "q": nil, "p.p": []any{}, "$initial_p": true, "is_set": "p"} {
				if name != *c.Key {
					sub.Person[name] = v
				}
			}
			if sub.GroupProperties == nil {
				sub.GroupProperties = map[string]flags.Properties{}
			}
			sub.GroupProperties["project"] = flags.Properties{"p": "other"}
			sub.Located = flags.Properties{"$geoip_country_code": "DE"}
			if got := decide(set, "f", sub, c.At); got != *c.Match {
				t.Errorf("got %v, want %v: %v", got, *c.Match, c)
			}
		}
	})
}

// Negation is ignored on a filter of a condition (row 81 of §12.3). It inverts a cohort's
// leaf, after a comparison that is not possible has become no match (§4.9, §5.2, row 89).
func TestFlags_4_9_Negation(t *testing.T) {
	eachOperator(t, func(t *testing.T, op flags.Operator, cases []operatorCase) {
		for i := range cases {
			c := &cases[i]
			filter := c.filter(op)
			filter["negation"] = true
			set := c.compile(t, map[string]map[string]any{"f": filter})
			if got := decide(set, "f", c.subject(t), c.At); got != *c.Match {
				t.Errorf("negated in a condition: got %v, want %v: %v", got, *c.Match, c)
			}
			if c.Type != flags.PersonProperty {
				continue
			}
			value := wire.Value(c.Value)
			if list, isList := value.([]any); isList && differsOfLists(op, list) {
				continue // covered by TestFilter_Lists
			}
			// A leaf that can never match fails the cohort: no subject is in it or outside of
			// it (§5.3).
			_, never := flags.NewFilter(flags.Property{Operator: op, Value: value, HasValue: c.Value != nil}, flags.FilterSettings{})
			for _, negated := range []bool{false, true} {
				leaf := c.filter(op)
				leaf["negation"] = negated
				want := never == nil && *c.Match != negated
				if got := decide(cohortOf(t, c, leaf), "f", c.subject(t), c.At); got != want {
					t.Errorf("cohort's leaf, negation %v: got %v, want %v: %v", negated, got, want, c)
				}
			}
		}
	})
}

// cohortOf returns a set with a flag f that is on for a cohort with one leaf.
func cohortOf(t *testing.T, c *operatorCase, leaf map[string]any) *flags.Set {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"flags": []any{map[string]any{"id": 1, "key": "f", "active": true, "filters": map[string]any{"groups": []any{
			map[string]any{"properties": []any{map[string]any{"key": "id", "type": "cohort", "value": 7}}},
		}}}},
		"cohorts":  map[string]any{"7": map[string]any{"type": "AND", "values": []any{leaf}}},
		"timezone": c.Timezone, "property_matching_version": c.MatchingVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := flags.ParseDefinitions(data)
	if err != nil {
		t.Fatal(err)
	}
	return flags.Compile(d)
}

// The source of a property does not affect operators: stored, located by the request, or in
// the request (§8.1).
func TestFlags_4_1_EveryLayerIsComparedAlike(t *testing.T) {
	eachOperator(t, func(t *testing.T, op flags.Operator, cases []operatorCase) {
		for i := range cases {
			c := &cases[i]
			if c.Type != flags.PersonProperty || c.Property == nil {
				continue
			}
			set := c.compile(t, map[string]map[string]any{"f": c.filter(op)})
			sub := c.subject(t)
			sub.Stored, sub.Person = &flags.Stored{Person: sub.Person}, nil
			if got := decide(set, "f", sub, c.At); got != *c.Match {
				t.Errorf("stored: got %v, want %v: %v", got, *c.Match, c)
			}
		}
	})
}

// Opposites refer to each other and have inverse results for a missing property, so that one
// is the negation of the other. Those for cohorts have no property.
func TestOperators_OppositesAreMutual(t *testing.T) {
	named := 0
	for _, op := range flags.Operators() {
		if op.Opposite == "" {
			continue
		}
		named++
		back, ok := op.Opposite.Info()
		if !ok || back.Opposite != op.Name {
			t.Errorf("%s has the opposite %s, which has %q", op.Name, op.Opposite, back.Opposite)
		}
		if op.Only == "" && back.Missing == op.Missing {
			t.Errorf("%s and %s answer a missing property alike", op.Name, op.Opposite)
		}
		if op.Only == "" && opposites[op.Name] != op.Opposite && opposites[op.Opposite] != op.Name {
			t.Errorf("no case shows that %s and %s are opposites", op.Name, op.Opposite)
		}
	}
	if named != 16 {
		t.Errorf("%d operators have an opposite, want 16", named)
	}
}
