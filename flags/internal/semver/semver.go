// Package semver parses and compares versions and ranges of versions (§4.8).
package semver

import (
	"cmp"
	"math"
	"strings"
)

// Version is a semantic version. pre and build are the dotted identifiers after "-" and "+", empty
// if absent.
type Version struct {
	major, minor, patch uint64
	pre, build          string
}

// Parse parses a version (§4.8): it removes one leading lower-case v, then surrounding white space;
// missing minor and patch are 0; leading zeros of the numbers of the core are dropped. Otherwise
// the syntax is strict SemVer 2.0: a fourth number, a number beyond 64 bits, an empty identifier
// and leading zeros of a numeric pre-release identifier are refused.
func Parse(text string) (Version, bool) {
	core, suffix := splitCore(trimVersion(text))
	var parts [3]uint64
	for i := 0; ; i++ {
		part, rest, more := strings.Cut(core, ".")
		// A fourth number.
		if i == len(parts) {
			return Version{}, false
		}
		n, after, ok := readNumber(dropZeros(part))
		if !ok || after != "" {
			return Version{}, false
		}
		parts[i] = n
		if !more {
			break
		}
		core = rest
	}
	v := Version{major: parts[0], minor: parts[1], patch: parts[2]}
	var ok bool
	if v.pre, v.build, suffix, ok = readSuffix(suffix); !ok || suffix != "" {
		return Version{}, false
	}
	return v, true
}

// Compare orders by SemVer precedence and then by build metadata, which counts: 1.0.0 < 1.0.0+a.
// The result is -1, 0 or 1.
func Compare(a, b Version) int {
	return cmp.Or(
		cmp.Compare(a.major, b.major),
		cmp.Compare(a.minor, b.minor),
		cmp.Compare(a.patch, b.patch),
		comparePre(a.pre, b.pre),
		compareIdentifiers(a.build, b.build))
}

// comparePre orders a pre-release before its release.
func comparePre(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	return compareIdentifiers(a, b)
}

// compareIdentifiers compares dotted lists: numbers by value and before words, words by bytes, a
// longer list after its own prefix. Numbers of equal value with more leading zeros are greater,
// which is only possible in build metadata.
func compareIdentifiers(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, ".")
		y, restB, moreB := strings.Cut(b, ".")
		if c := compareIdentifier(x, y); c != 0 {
			return c
		}
		switch {
		case !moreA && !moreB:
			return 0
		// A list that is a prefix of the other one is less.
		case !moreA:
			return -1
		case !moreB:
			return 1
		}
		a, b = restA, restB
	}
}

// compareIdentifier compares two identifiers, of which an empty one counts as a number. Numbers may
// have any length, so they are compared as digits.
func compareIdentifier(a, b string) int {
	numberA, numberB := digits(a) == len(a), digits(b) == len(b)
	switch {
	case numberA && numberB:
		x, y := strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y), cmp.Compare(len(a), len(b)))
	case numberA:
		return -1
	case numberB:
		return 1
	}
	return strings.Compare(a, b)
}

// readNumber reads the digits at the beginning of s: at least one, without leading zeros, at most
// 64 bits.
func readNumber(s string) (n uint64, rest string, ok bool) {
	count := digits(s)
	if count == 0 || count > 1 && s[0] == '0' {
		return 0, "", false
	}
	for _, c := range []byte(s[:count]) {
		d := uint64(c - '0')
		if n > (math.MaxUint64-d)/10 {
			return 0, "", false
		}
		n = n*10 + d
	}
	return n, s[count:], true
}

// readSuffix reads "-pre" and "+build", which are optional.
func readSuffix(s string) (pre, build, rest string, ok bool) {
	ok = true
	if after, found := strings.CutPrefix(s, "-"); found {
		pre, s, ok = readIdentifiers(after, true)
	}
	if after, found := strings.CutPrefix(s, "+"); ok && found {
		build, s, ok = readIdentifiers(after, false)
	}
	return pre, build, s, ok
}

// readIdentifiers reads dotted identifiers of letters, digits and hyphens, which must not be empty.
func readIdentifiers(s string, strict bool) (list, rest string, ok bool) {
	end, start := 0, 0 // start of the identifier that end is in
	for ; ; end++ {
		if end < len(s) && (s[end] == '-' || s[end]-'0' <= 9 || s[end]|0x20-'a' < 26) {
			continue
		}
		id := s[start:end]
		if id == "" || strict && len(id) > 1 && id[0] == '0' && digits(id) == len(id) {
			return "", "", false
		}
		if end == len(s) || s[end] != '.' {
			return s[:end], s[end:], true
		}
		start = end + 1
	}
}

// trimVersion removes one leading lower-case v, and then white space around the rest.
func trimVersion(s string) string { return strings.TrimSpace(strings.TrimPrefix(s, "v")) }

// splitCore separates the numbers from the suffix.
func splitCore(s string) (core, suffix string) {
	if i := strings.IndexAny(s, "-+"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// padVersion completes a version to three parts and drops leading zeros of its numbers; parts that
// are not numbers do not change.
func padVersion(s string) string {
	core, suffix := splitCore(s)
	parts := strings.Split(core, ".")
	for i, p := range parts {
		parts[i] = dropZeros(p)
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return strings.Join(parts, ".") + suffix
}

// dropZeros drops leading zeros of a part that is all digits: "08" is "8", "000" is "0".
func dropZeros(part string) string {
	if part == "" || digits(part) != len(part) {
		return part
	}
	if rest := strings.TrimLeft(part, "0"); rest != "" {
		return rest
	}
	return "0"
}

// digits returns the number of ASCII digits at the beginning of s.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}
