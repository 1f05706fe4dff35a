package flags_test

import (
	"math"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// A property of any integer type in Go is the same JSON number (decision 32) with the text of
// §4.2, without a loss of digits.
func TestDecision_32_Integers(t *testing.T) {
	type age uint8
	for _, c := range []struct {
		value any
		text  string
	}{
		{uint8(200), "200"}, {uint16(65535), "65535"}, {uint32(math.MaxUint32), "4294967295"}, {uint(7), "7"}, {age(34), "34"},
		{uint64(math.MaxInt64), "9223372036854775807"}, {uint64(math.MaxUint64), "18446744073709551615"},
		{int8(-128), "-128"}, {int16(-1), "-1"}, {int32(math.MinInt32), "-2147483648"}, {int64(math.MinInt64), "-9223372036854775808"}, {3, "3"},
		{float32(0.5), "0.5"}, {float32(2), "2"}, {2.0, "2"},
	} {
		for text, want := range map[string]bool{c.text: true, c.text + "0": false} {
			set := flags.Compile(flags.Definitions{Flags: []flags.Flag{{ID: 1, Key: "f", Active: true, Conditions: []flags.Condition{
				{Properties: []flags.Property{{Key: "p", Type: flags.PersonProperty, Operator: flags.Exact, Value: text}}},
			}}}})
			d, ok := set.EvaluateFlag("f", &flags.Subject{DistinctID: "u", Person: flags.Properties{"p": c.value}}, testAt, nil)
			if !ok || d.Enabled != want || d.Undecided != nil {
				t.Errorf("%T %v equals %q: %v, want %v", c.value, c.value, text, d.Enabled, want)
			}
		}
	}
}
