package flags_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// A long list equals a value that is equal to one of its elements in lower case (§4.6 rule
// 3), whatever the other elements and their order are.
func TestFlags_4_6_LongLists(t *testing.T) {
	long := strings.Repeat("Ä", 60)
	list := []any{"US", "us", "FR", "Straße", "İzmir", 5, "", long, true, nil, "ΟΔΟΣ", []any{"x"}, "zz"}
	for i := range 40 {
		list = append(list, fmt.Sprint("more-", i))
	}
	for _, c := range []struct {
		name  string
		value any
		in    bool
	}{
		{"another case", "uS", true},
		{"a letter beyond ASCII", "STRAßE", true},
		{"lower case is not case folding (§4.3)", "STRASSE", false},
		{"a letter that becomes two (§4.3)", "İZMIR", true},
		{"a final sigma (§4.3)", "οδος", true},
		{"a sigma elsewhere", "οδοσ", false},
		{"the text of a number (§4.2)", 5, true},
		{"that text", "5", true},
		{"another number", 6, false},
		{"the empty text", "", true},
		{"longer than what is looked up at once", strings.ToLower(long), true},
		{"one letter longer", strings.ToLower(long) + "ä", false},
		{"the text of a boolean", "TRUE", true},
		{"the text of null", "null", true},
		{"the text of a list (§4.2)", `["X"]`, true},
		{"a list is not searched", []any{"US"}, false},
		{"the beginning of an element", "more", false},
		{"the last", "MORE-39", true},
		{"one too far", "more-40", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, reversed := range []bool{false, true} {
				values := slices.Clone(list)
				if reversed {
					slices.Reverse(values)
				}
				for _, op := range []flags.Operator{flags.Exact, flags.IsNot} {
					set := flags.Compile(flags.Definitions{Flags: []flags.Flag{{ID: 1, Key: "f", Active: true, Conditions: []flags.Condition{
						{Properties: []flags.Property{{Key: "p", Type: flags.PersonProperty, Operator: op, Value: values}}},
					}}}})
					d, ok := set.EvaluateFlag("f", &flags.Subject{DistinctID: "u", Person: flags.Properties{"p": c.value}}, testAt, nil)
					if want := c.in == (op == flags.Exact); !ok || d.Enabled != want {
						t.Errorf("%s: %v, want %v", op, d.Enabled, want)
					}
				}
			}
		})
	}
}
