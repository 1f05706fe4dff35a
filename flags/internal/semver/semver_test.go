package semver

import (
	"strings"
	"testing"
)

// Expected: §4.8 and the strict grammar of SemVer 2.0.
func TestFlags_4_8_ParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"1.2.3": {major: 1, minor: 2, patch: 3}, "v1.2.3": {major: 1, minor: 2, patch: 3}, "v 1.2.3 ": {major: 1, minor: 2, patch: 3},
		"3": {major: 3}, "3.10": {major: 3, minor: 10}, "3.08": {major: 3, minor: 8}, "0": {}, "000.00.0": {},
		"01.02.03": {major: 1, minor: 2, patch: 3}, "1-rc.1": {major: 1, pre: "rc.1"}, "1.2+b.01": {major: 1, minor: 2, build: "b.01"},
		"1.0.0-alpha.1+build-7": {major: 1, pre: "alpha.1", build: "build-7"}, "1.0.0+a-b": {major: 1, build: "a-b"},
		"1.0.0--": {major: 1, pre: "-"}, "1.0.0-0a": {major: 1, pre: "0a"}, "1.0.0-18446744073709551616": {major: 1, pre: "18446744073709551616"},
		"18446744073709551615": {major: 18446744073709551615},
	} {
		if got, ok := Parse(text); !ok || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "v", "abc", "1.2.3.4", "V1.2.3", "vv1", " v1", "1..2", ".1", "1.", "1.2.3-", "1.2.3+", "1.0.0-01",
		"1.0.0-a..b", "1.0.0-a.", "1.0.0+a+b", "1.0.0-é", "1. 2", "-1", "+1", "18446744073709551616", "1.x", "null", "true", "1e16"} {
		if got, ok := Parse(text); ok {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// Expected: the chain of SemVer 2.0 §11, then build metadata in the order of the Rust crate.
func TestFlags_4_8_VersionOrder(t *testing.T) {
	chain := strings.Fields(`0.9.9 1.0.0-1 1.0.0-1.0 1.0.0-2 1.0.0-10 1.0.0-99999999999999999999 1.0.0-100000000000000000000
		1.0.0-A 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0-rc.1+x
		1.0.0 1.0.0+0 1.0.0+00 1.0.0+1 1.0.0+01 1.0.0+001 1.0.0+2 1.0.0+10 1.0.0+a 1.0.0+a.1 1.0.0+b1 1.9 1.10 2.0.0-rc1 2.0.0`)
	for i, a := range chain {
		for j, b := range chain {
			x, okX := Parse(a)
			y, okY := Parse(b)
			want := min(1, max(-1, i-j))
			if got := Compare(x, y); !okX || !okY || got != want {
				t.Errorf("%s against %s: %d, want %d", a, b, got, want)
			}
		}
	}
}

// Rows 71 to 75 of §12.3.
func TestFlags_12_3_Semver(t *testing.T) {
	for _, c := range []struct {
		property, filter string
		want             int
	}{
		{"v1.10", "1.9", 1}, {"1.0.0+b1", "1.0.0", 1}, {"2.0.0-rc1", "2.0.0", -1}, {"01.02.03", "1.2.3", 0},
	} {
		x, _ := Parse(c.property)
		y, _ := Parse(c.filter)
		if got := Compare(x, y); got != c.want {
			t.Errorf("%s against %s: %d, want %d", c.property, c.filter, got, c.want)
		}
	}
	for _, bad := range []string{"abc", ""} {
		if _, ok := Parse(bad); ok {
			t.Errorf("%q is a version", bad)
		}
	}
}

// Expected: §4.8, rows 76 and 77 of §12.3, the service's own tests, and for the last block the
// grammar of the semver crate that the service uses to parse the text.
func TestFlags_4_8_Ranges(t *testing.T) {
	tilde, caret, wild := Tilde, Caret, Wildcard
	for _, c := range []struct {
		parse   func(string) (Range, bool)
		text    string
		in, out string
	}{
		{tilde, "1.2.3", "1.2.3 1.2.4 1.2.10 1.2.3+b", "1.3.0 1.2.2 2.2.3 1.2.4-a 1.2.3-a"},
		{tilde, "v1.2.3", "v1.2.5", "1.3"},
		{tilde, "3.08", "3.8.5", "3.9.0"},
		{tilde, "1", "1.0.0 1.0.9", "1.1.0"},
		{tilde, "1.2.3-beta.1", "1.2.3-beta.2 1.2.3 1.2.4", "1.2.3-alpha 1.2.4-beta.2 1.3.0"},
		{caret, "1.2.3", "1.2.3 1.2.4 1.3.0 1.10.5", "2.0.0 1.2.2 1.1.9 1.3.0-a"},
		{caret, "0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2 1.0.0"},
		{caret, "0.0.3", "0.0.3 0.0.3+b", "0.0.4 0.1.0"},
		{caret, "0", "0.0.0", "0.0.1"},
		{caret, "1.2.0-alpha", "1.2.0 1.5.0 1.2.0-beta", "1.5.0-beta 1.2.0-1"},
		{wild, "1.*", "1.5.0 1.9.9", "2.0.0 0.9.9 1.5.0-a"},
		{wild, "1.2.*", "1.2.0 1.2.5 1.2.99", "1.3.0 1.1.9"},
		{wild, "1.*.*", "1.0.0 1.5.9 1.99.99", "2.0.0 0.9.9"},
		{wild, "*", "1.0.0 99.99.99", "1.0.0-a"},
		{wild, "3.*", "3.08 3.10", "2.9"},
		{wild, "3.08.*", "3.8.5", "3.9.0"},
		{wild, "1.2.3", "1.2.3 1.9.0", "2.0.0"},
		{wild, "0.2", "0.2.9", "0.3.0"},
		{wild, "1.2.X", "1.2.7", "1.3.0"},

		{wild, ">=1.2", "1.2.0 3.0.0", "1.1.9"},
		{wild, ">=1.2.0, <2", "1.9.9", "2.0.0 1.1.0"},
		{wild, ">1.2", "1.3.0", "1.2.9"},
		{wild, "<=1.2", "1.2.9 1.1.0", "1.3.0"},
		{wild, "<1.2.3-b", "1.2.3-a 1.2.2", "1.2.3 1.2.3-c"},
		{wild, ">1.2.3-b", "1.2.3 1.2.3-c 1.2.4", "1.2.3-a 1.2.4-c"},
		{wild, "=1", "1.0.0 1.7.3", "2.0.0"},
		{wild, " ~ 1.2", "1.2.9", "1.3.0"},
		{tilde, "1.2.3, <1.2.9", "1.2.8", "1.2.9"},
		{tilde, "1.2.*", "1.2.0 1.2.9", "1.3.0"},
	} {
		r, ok := c.parse(c.text)
		if !ok {
			t.Errorf("%q is no range", c.text)
			continue
		}
		for want, list := range map[bool]string{true: c.in, false: c.out} {
			for _, text := range strings.Fields(list) {
				v, ok := Parse(text)
				if got := r.Contains(v); !ok || got != want {
					t.Errorf("%q contains %s: %v", c.text, text, got)
				}
			}
		}
	}
	for _, c := range []struct {
		parse func(string) (Range, bool)
		text  string
	}{
		{wild, "1.*.3"}, {wild, ""}, {wild, "invalid"}, {wild, "1.2.3.4"}, {wild, "*.1"}, {wild, "1,"}, {wild, "*, 1"}, {wild, "1 2"},
		{wild, strings.Repeat("1,", 32) + "1"}, {wild, "1.2-a"}, {wild, "18446744073709551616"}, {wild, ">=1.2.3-01"},
		{caret, "invalid"}, {caret, ""}, {caret, "*"}, {caret, "1.*"}, {caret, ">=1.2"}, {tilde, "not-a-version"}, {tilde, "1.2.3.4"}, {tilde, "=1"},
	} {
		if _, ok := c.parse(c.text); ok {
			t.Errorf("%q is a range", c.text)
		}
	}
	if _, ok := wild(strings.Repeat("1,", 31) + "1"); !ok {
		t.Error("32 comparators are refused")
	}
}

// FuzzSemver: no input panics; the order is antisymmetric and a version equals itself; a tilde
// range of a version contains it.
func FuzzSemver(f *testing.F) {
	for _, s := range []string{"1.2.3", "v01.2", "1.0.0-a.1+b.01", "1.*", ">=1.2, <2", "1.2.3.4", "18446744073709551615.0.0-0", "x"} {
		f.Add(s, "1.0.0-rc.1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okX := Parse(a)
		y, okY := Parse(b)
		if okX && okY && Compare(x, y) != -Compare(y, x) {
			t.Errorf("%q against %q is not antisymmetric", a, b)
		}
		if okX && Compare(x, x) != 0 {
			t.Errorf("%q differs from itself", a)
		}
		for _, parse := range []func(string) (Range, bool){Tilde, Caret, Wildcard} {
			if r, ok := parse(a); ok {
				r.Contains(y)
			}
		}
		if r, ok := Tilde(a); okX && (!ok || !r.Contains(x)) {
			t.Errorf("~%s does not contain it", a)
		}
	})
}
