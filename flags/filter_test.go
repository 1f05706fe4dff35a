package flags_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// A Filter has the same result as flags for every case of the operators.
func TestFilter_AnswersAsFlagsDo(t *testing.T) {
	t.Cleanup(regexp2.StopTimeoutClock)
	for _, op := range flags.Operators() {
		if op.Only != "" {
			continue
		}
		for _, c := range readOperatorCases(t, op.Name) {
			value, isList := wire.Value(c.Value).([]any)
			if c.Type != flags.PersonProperty || *c.Key != "p" || isList && differsOfLists(op.Name, value) {
				continue
			}
			zone, err := time.LoadLocation(c.Timezone)
			if err != nil {
				continue // a case with an unknown zone
			}
			f, err := flags.NewFilter(flags.Property{Operator: op.Name, Value: wire.Value(c.Value), HasValue: c.Value != nil},
				flags.FilterSettings{Zone: zone, PropertyMatchingVersion: c.MatchingVersion})
			if err != nil {
				if *c.Match && c.Property != nil {
					t.Errorf("%s %s: %v", op.Name, &c, err)
				}
				continue
			}
			if got := f.Holds(wire.Value(c.Property), c.Property != nil, c.At); got != *c.Match {
				t.Errorf("%s %s: %t", op.Name, &c, got)
			}
			if got := f.HoldsJSON(string(c.Property), c.At); got != *c.Match {
				t.Errorf("%s %s: %t of the JSON text", op.Name, &c, got)
			}
		}
	}
}

// differsOfLists reports whether a list has another meaning outside of flags.
func differsOfLists(op flags.Operator, list []any) bool {
	switch op {
	case flags.Exact, flags.IsNot, flags.IContainsMulti, flags.NotIContainsMulti, flags.Between, flags.NotBetween, flags.IsSet, flags.IsNotSet:
		return false
	}
	return true
}

// Decision 40: lists as operands outside of flags, and properties that are lists.
func TestFilter_Lists(t *testing.T) {
	t.Cleanup(regexp2.StopTimeoutClock)
	for _, tt := range []struct {
		operator        flags.Operator
		value, property string
		elements, want  bool
	}{
		{flags.IContains, `["a","B"]`, `"xb"`, false, true},
		{flags.IContains, `["a","B"]`, `"x"`, false, false},
		{flags.NotIContains, `["a","B"]`, `"xb"`, false, false},
		{flags.NotIContains, `["a","B"]`, `"x"`, false, true},
		{flags.NotIContains, `["a","B"]`, ``, false, true},
		{flags.NotIContains, `[]`, `"x"`, false, true},
		{flags.IContains, `[]`, `"x"`, false, false},
		{flags.StartsWith, `["a","B"]`, `"bx"`, false, true},
		{flags.NotStartsWith, `["a","B"]`, `"bx"`, false, false},
		{flags.EndsWith, `["a",5]`, `15`, false, true},
		{flags.Regex, `["^a","b$"]`, `"xb"`, false, true},
		{flags.NotRegex, `["^a","b$"]`, `"xb"`, false, false},
		{flags.NotRegex, `["^a","b$"]`, `"bx"`, false, true},
		{flags.Regex, `["^a","b$"]`, `"a\u0062"`, false, true},
		{flags.GreaterThan, `[10]`, `11`, false, true},
		{flags.IsDateAfter, `["2020-01-01"]`, `"2020-01-02"`, false, true},
		{flags.SemverEqual, `["1.2.3"]`, `"1.2.3"`, false, true},

		{flags.Exact, `"a"`, `["a","b"]`, false, false}, // flags.md §4.6: compared as text
		{flags.Exact, `"a"`, `["a","b"]`, true, true},
		{flags.IsNot, `"a"`, `["a","b"]`, true, false},
		{flags.IsNot, `"c"`, `["a","b"]`, true, true},
		{flags.IsNot, `"c"`, `[]`, true, true},
		{flags.Exact, `"c"`, `[]`, true, false},
		{flags.Exact, `"c"`, `"C"`, true, true}, // not a list
		{flags.Regex, `"^b"`, `["a","b"]`, true, true},
		{flags.NotRegex, `"^b"`, `["a","b"]`, true, false},
		{flags.NotBetween, `[1,2]`, `[0,3]`, true, true},
		{flags.NotBetween, `[1,2]`, `[0,1]`, true, false},
		{flags.SemverNotEqual, `"1.0.0"`, `["1.0.0","2.0.0"]`, true, false},
		{flags.Between, `[1,2]`, `[0,1]`, true, true},
		{flags.IsSet, `null`, `["a"]`, true, true},
		{flags.IsNotSet, `null`, `["a"]`, true, false},
	} {
		f, err := flags.NewFilter(flags.Property{Operator: tt.operator, Value: wire.Value([]byte(tt.value)), HasValue: true}, flags.FilterSettings{Elements: tt.elements})
		if err != nil {
			t.Errorf("%s %s: %v", tt.operator, tt.value, err)
			continue
		}
		if got := f.HoldsJSON(tt.property, usualTime); got != tt.want {
			t.Errorf("%s %s of %s, elements %t: %t", tt.operator, tt.value, tt.property, tt.elements, got)
		}
	}
}

// Verbatim filters are case-sensitive, and compare numbers by value (insights.md §3.2.3).
func TestFilter_Verbatim(t *testing.T) {
	for _, tt := range []struct {
		value, property string
		want            bool
	}{
		{`"a"`, `"a"`, true}, {`"a"`, `"A"`, false}, {`["x","a"]`, `"a"`, true}, {`"10"`, `10.0`, true}, {`10`, `"10.0"`, true},
		{`"10.0"`, `"10"`, false}, {`10`, `10.0`, true}, {`true`, `"true"`, true}, {`"false"`, `"banana"`, false}, {`"a\"b"`, `"a\"b"`, true},
		{`"a"`, ``, false}, {`10`, `1e1`, true}, {`9007199254740993`, `"9007199254740993"`, true},
	} {
		for operator, want := range map[flags.Operator]bool{flags.Exact: tt.want, flags.IsNot: !tt.want} {
			f, err := flags.NewFilter(flags.Property{Operator: operator, Value: wire.Value([]byte(tt.value))}, flags.FilterSettings{Verbatim: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := f.HoldsJSON(tt.property, usualTime); got != want {
				t.Errorf("%s %s of %s: %t", operator, tt.value, tt.property, got)
			}
		}
	}
}

// A filter that can never match is an error with the faulty member. A search that exceeded
// its limits is reported.
func TestFilter_Faults(t *testing.T) {
	t.Cleanup(regexp2.StopTimeoutClock)
	for p, want := range map[*flags.Property]string{
		{Operator: "resembles", Value: "x"}:             `operator: unknown operator "resembles"`,
		{Operator: flags.In, Value: 1}:                  "operator: in never matches here: the operator is for cohort filters",
		{Operator: flags.GreaterThan}:                   "value: gt never matches here: there is no value to compare with",
		{Operator: flags.GreaterThan, Value: "abc"}:     "value: gt never matches here: the value must be a number",
		{Operator: flags.Regex, Value: []any{"a", "("}}: "value: regex never matches here: bad regular expression",
	} {
		_, err := flags.NewFilter(*p, flags.FilterSettings{})
		var fault *flags.DefinitionError
		if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s %v: %v, want %s", p.Operator, p.Value, err, want)
		}
	}
	f, err := flags.NewFilter(flags.Property{Operator: flags.NotRegex, Value: `(?!b)(a|aa)+$`}, flags.FilterSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if f.HoldsJSON(`"`+strings.Repeat("a", 64)+`!"`, usualTime) || !f.TimedOut() {
		t.Error("a search that was given up holds, or is not told")
	}
	if !f.HoldsJSON(`"b"`, usualTime) || f.TimedOut() {
		t.Error("the next one does not hold, or is told to be given up")
	}
}
