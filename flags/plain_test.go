package flags

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var lawValues = []any{
	"", "a", "A", "b", "true", "TRUE", "false", "5", "5.0", " 5", "1e3", "NaN", "inf", "1.2.0", "2026-01-01", "-3d", "straße", "STRASSE", "İ", "\xff",
	strings.Repeat("long and Longer ", 9), strings.Repeat("É", 50), true, false, nil, 0, 5, int64(5), int64(1) << 60, 5.0, 5.5, math.Copysign(0, -1), math.Inf(1), math.NaN(),
	[]any{"a"}, []any{}, map[string]any{"a": 1}, uint8(5), time.Second,
}

func plainOperand(g *rand.Rand) any {
	values := lawValues[:31] // values with a form in JSON
	switch g.IntN(6) {
	case 0:
		return []any{values[g.IntN(len(values))], values[g.IntN(len(values))]}
	case 1:
		list := []any{strings.Repeat("é", 50), strings.Repeat("long and longer ", 9)}
		for i := range 12 {
			list = append(list, strconv.Itoa(i), strings.Repeat("a", i))
		}
		return list
	case 2:
		return []any{int64(g.IntN(3)), int64(3 + g.IntN(5))}
	}
	return values[g.IntN(len(values))]
}

func plainFlag(g *rand.Rand) Flag {
	f := Flag{ID: 1, Key: "f", Active: true, EarlyExit: g.IntN(4) == 0, Payloads: map[string]json.RawMessage{"true": json.RawMessage(`1`), "b": json.RawMessage(`"B"`)}}
	if g.IntN(3) == 0 {
		f.Variants = []Variant{{Key: "a", Rollout: 30}, {Key: "b", Rollout: 40}, {Key: "c", Rollout: float64(g.IntN(31))}}
	}
	for range 1 + g.IntN(3) {
		c := Condition{Variant: []string{"", "", "b", "none"}[g.IntN(4)]}
		if g.IntN(2) == 0 {
			p := []float64{-1, 0, 30, 70, 100, 101}[g.IntN(6)]
			c.Rollout = &p
		}
		for range g.IntN(3) {
			c.Properties = append(c.Properties, Property{
				Type: PersonProperty, Key: []string{"p", "q", "$geoip_country_code", "$initial_browser", "distinct_id"}[g.IntN(5)],
				Operator: operatorTable[g.IntN(len(operatorTable))].name, Value: plainOperand(g), HasValue: true,
			})
		}
		f.Conditions = append(f.Conditions, c)
	}
	return f
}

// TestFlags_3_6_PlainLaw verifies that the fast path and the general path, which explanations
// use, have the same result and reason, and that the fast path is used often enough to prove
// it.
func TestFlags_3_6_PlainLaw(t *testing.T) {
	g := rand.New(rand.NewPCG(11, 13))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var short, on, off int
	for range Draws(12_000) {
		d := Definitions{PropertyMatchingVersion: 1 + g.IntN(2), Flags: []Flag{plainFlag(g)}}
		set := Compile(d)
		sub := &Subject{DistinctID: "u" + strconv.Itoa(g.IntN(1000)), Person: Properties{}, Partial: g.IntN(5) == 0}
		if g.IntN(30) == 0 {
			sub.DistinctID = strings.Repeat("u", 190+g.IntN(20))
		}
		for _, key := range []string{"p", "q", "$geoip_country_code", "$browser"} {
			if g.IntN(4) > 0 {
				sub.Person[key] = lawValues[g.IntN(len(lawValues))]
			}
		}
		var single, all, full Decisions
		got, ok := set.EvaluateFlag("f", sub, at, &single)
		set.Evaluate(sub, at, &all)
		trace := &tracer{set: set, trace: new(Trace), slots: map[int32]bool{}}
		set.selectTraced(sub, at, &Selection{Runtime: "all"}, &full, trace)
		if !ok || len(all.List) != 1 || len(full.List) != 1 {
			t.Fatalf("%d and %d answers, alone %v, for %+v", len(all.List), len(full.List), ok, d.Flags[0])
		}
		for _, got := range []Decision{got, all.List[0]} {
			if diff := cmp.Diff(full.List[0], got, cmp.AllowUnexported(Reason{})); diff != "" {
				t.Fatalf("%+v\nfor %+v (-whole +short):\n%s", d.Flags[0].Conditions, sub, diff)
			}
		}
		switch is, ok := set.isOn("f", sub); {
		case !ok:
			continue
		case is != full.List[0].Enabled:
			t.Fatalf("%+v\nfor %+v: on is %v", d.Flags[0].Conditions, sub, is)
		case is:
			on++
		default:
			off++
		}
		short++
	}
	if short < 2_000 || on < 400 || off < 400 {
		t.Errorf("the short way was taken %d times, %d on and %d off: too few to show anything", short, on, off)
	}
}
