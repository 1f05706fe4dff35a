package convert

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// fraction returns the share of users for whom a flag is on, or has a variant.
func fraction(r *Result, key, value string) float64 {
	const n = 20_000
	set, hits := flags.Compile(r.File.Projects[0].Definitions), 0
	var out flags.Decisions
	for i := range n {
		set.Select(&flags.Subject{DistinctID: fmt.Sprint("user-", i)}, time.Unix(0, 0), &flags.Selection{Runtime: "all"}, &out)
		if fmt.Sprint(out.Find(key).Value()) == value {
			hits++
		}
	}
	return float64(hits) / n
}

// Flags whose refusal mentions --rebucket are converted with it, with the share of the source,
// which is the product of the shares of all hashes. 20,000 users are within 4.5 standard deviations
// (1.6 %).
func TestConvert_RebucketKeepsItsPromise(t *testing.T) {
	for name, c := range map[string]struct {
		rule  string
		value string
		share float64
	}{
		"a namespace":               {`{"variations": ["a", "b"], "weights": [0.5, 0.5], "namespace": ["n", 0, 0.5]}`, "a", 0.25},
		"a whole namespace":         {`{"variations": ["a", "a"], "namespace": ["n", 0, 1]}`, "a", 1},
		"filters of a forced value": {`{"force": "a", "filters": [{"seed": "s", "ranges": [[0, 0.3], [0.5, 0.6]]}]}`, "a", 0.4},
		"two filters and coverage":  {`{"force": "a", "coverage": 0.5, "filters": [{"seed": "s", "ranges": [[0, 0.5]]}, {"seed": "t", "ranges": [[0.5, 1]]}]}`, "a", 0.125},
		"filters of an experiment":  {`{"variations": ["a", "b"], "filters": [{"seed": "s", "ranges": [[0.2, 1]]}], "namespace": ["n", 0, 0.1]}`, "b", 0.4},
	} {
		t.Run(name, func(t *testing.T) {
			document := []byte(`{"features": {"f": {"defaultValue": "z", "rules": [` + c.rule + `]}}}`)
			reason := omittedReasons(convertOne(t, "growthbook", document, Options{}))["f"]
			if c.share < 1 != strings.Contains(reason, "--rebucket converts it so") {
				t.Errorf("without the option left out for %q", reason)
			}
			r := convertOne(t, "growthbook", document, Options{Rebucket: true})
			if got := fraction(r, "f", c.value); math.Abs(got-c.share) > 4.5*math.Sqrt(.25/20_000) {
				t.Errorf("%v of the people get %s, want %v; %v", got, c.value, c.share, r.Omissions)
			}
		})
	}
}

// flagd's fractional as a condition is true for every variant, since every name is truthy
// (flagd.dev/reference/custom-operations/fractional-operation, jsonlogic.com/truthy.html).
func TestFlagd_FractionalAsCondition(t *testing.T) {
	for name, c := range map[string]struct {
		condition string
		want      any    // value of the flag; nil: left out
		left      string // part of the reason
	}{
		"names":              {`{"fractional": [["x", 50], ["y", 50]]}`, true, ""},
		"a bucketing value":  {`{"fractional": [{"cat": [{"var": "$flagd.flagKey"}, {"var": "email"}]}, ["x", 50], ["y", 50]]}`, true, ""},
		"an attribute":       {`{"fractional": [{"var": "email"}, ["x", 1], ["y", 1]]}`, true, ""},
		"negated":            {`{"!": [{"fractional": [["x", 50], ["y", 50]]}]}`, false, ""},
		"no weights":         {`{"fractional": [["x", 0], ["y", 0]]}`, false, ""},
		"false weighs 0":     {`{"fractional": [["x", 1], [false, 0]]}`, true, ""},
		"all false":          {`{"fractional": [["", 1], [false, 1]]}`, false, ""},
		"some are false":     {`{"fractional": [["x", 1], [false, 1]]}`, nil, "cannot be expressed in a condition"},
		"a number is hashed": {`{"fractional": [5, ["x", 1]]}`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			document := []byte(`{"flags": {"f": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off", "targeting": {"if": [` + c.condition + `, "on", "off"]}}}}`)
			r := convertOne(t, "flagd", document, Options{})
			reason, isOmitted := omittedReasons(r)["f"]
			if isOmitted != (c.want == nil) || !strings.Contains(reason, c.left) || strings.Contains(reason, "--rebucket") {
				t.Fatalf("left out for %q, want a reason with %q", reason, c.left)
			}
			if !isOmitted && decideAll(t, r.File.Projects[0].Definitions, "u", m{"email": "a@b.c"})["f"] != c.want {
				t.Errorf("want %v", c.want)
			}
		})
	}
}

// A segment of LaunchDarkly with a share of the users cannot be converted, and its reason does not
// mention --rebucket. A share of none or of all users can be converted.
func TestLaunchDarkly_SegmentWeight(t *testing.T) {
	for weight, want := range map[string]any{"0": false, "100000": true, "30000": nil} {
		document := []byte(`{"flags": {"f": {"on": true, "offVariation": 1, "variations": [true, false], "fallthrough": {"variation": 1}, "rules": [{"variation": 0, "clauses": [{"op": "segmentMatch", "attribute": "", "values": ["s"]}]}]}},
			"segments": {"s": {"key": "s", "salt": "x", "rules": [{"weight": ` + weight + `, "clauses": []}]}}}`)
		for _, rebucket := range []bool{false, true} {
			r := convertOne(t, "launchdarkly", document, Options{Rebucket: rebucket})
			if got := decideAll(t, r.File.Projects[0].Definitions, "u", nil)["f"]; got != want {
				t.Errorf("weight %s: %v, want %v; %v", weight, got, want, r.Omissions)
			}
			if strings.Contains(omittedReasons(r)["f"], "--rebucket") {
				t.Errorf("weight %s: %q promises what is not done", weight, omittedReasons(r)["f"])
			}
		}
	}
}
