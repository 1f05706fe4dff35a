package semver

import (
	"cmp"
	"strings"
)

// Range is a list of comparators that must all match. Without comparators (the text "*") it
// contains every release.
type Range struct {
	comparators []comparator
}

// comparator is one test of a range. minor and patch are absent if the text ended early or had a
// wildcard.
type comparator struct {
	op rangeOp
	// major is always present.
	major              uint64
	minor, patch       uint64
	hasMinor, hasPatch bool
	// pre is the pre-release, only possible after three numbers.
	pre string
}

// rangeOp is the operator of a comparator.
type rangeOp uint8

const (
	opCaret rangeOp = iota // also the operator of a version without one
	opExact
	opGreater
	opGreaterEqual
	opLess
	opLessEqual
	opTilde
	opWildcard
)

// rangeOps are the operators of the range grammar; longer operators precede their prefixes.
var rangeOps = []struct {
	text string
	op   rangeOp
}{
	{">=", opGreaterEqual}, {">", opGreater}, {"<=", opLessEqual}, {"<", opLess}, {"=", opExact}, {"~", opTilde}, {"^", opCaret},
}

// maxComparators is the maximum number of comparators that the grammar accepts.
const maxComparators = 32

// Tilde parses the filter value of semver_tilde: at least this version, below the next minor
// (§4.8).
func Tilde(text string) (Range, bool) {
	return parseRange("~" + padVersion(trimVersion(text)))
}

// Caret parses the filter value of semver_caret: at least this version, below the next change of
// the left-most part that is not zero (§4.8).
func Caret(text string) (Range, bool) {
	return parseRange("^" + padVersion(trimVersion(text)))
}

// Wildcard parses the filter value of semver_wildcard: "1.*", "1.2.*", "1.*.*", "*"; without a star
// it is a caret range. As in the service the text is parsed with the whole range grammar, with x
// for every star, so ">=1.2, <2" works too (§4.8).
func Wildcard(text string) (Range, bool) {
	parts := strings.Split(trimVersion(text), ".")
	for i, p := range parts {
		parts[i] = dropZeros(p)
	}
	return parseRange(strings.ReplaceAll(strings.Join(parts, "."), "*", "x"))
}

// Contains reports whether v is in the range. A pre-release is in it only if a comparator with the
// same three numbers has a pre-release itself.
func (r Range) Contains(v Version) bool {
	for _, c := range r.comparators {
		if !c.matches(v) {
			return false
		}
	}
	// Without the rule for pre-releases 2.0.0-rc1 would be in >=1.0.0 and <2.0.0.
	if v.pre == "" {
		return true
	}
	for _, c := range r.comparators {
		if c.pre != "" && c.compareCore(v) == 0 {
			return true
		}
	}
	return false
}

// compareCore compares the numbers of v with those that the comparator has.
func (c comparator) compareCore(v Version) int {
	order := cmp.Compare(v.major, c.major)
	if order == 0 && c.hasMinor {
		order = cmp.Compare(v.minor, c.minor)
	}
	if order == 0 && c.hasPatch {
		order = cmp.Compare(v.patch, c.patch)
	}
	return order
}

// matches reports whether the comparator matches v. With missing numbers, =1.2 matches every 1.2.x,
// >1.2 begins with 1.3.0 and <=1.2 ends before 1.3.0.
func (c comparator) matches(v Version) bool {
	core := c.compareCore(v)
	pre := 0 // result of comparing the pre-releases; a comparator without patch has none
	if core == 0 {
		pre = comparePre(v.pre, c.pre)
	}
	// Pre-releases are only compared if the comparator is a full version.
	full := c.hasMinor && c.hasPatch
	switch c.op {
	case opExact, opWildcard:
		return core == 0 && pre == 0
	case opGreater:
		return core > 0 || core == 0 && full && pre > 0
	case opGreaterEqual:
		return core > 0 || core == 0 && (pre == 0 || full && pre > 0)
	case opLess:
		return core < 0 || core == 0 && full && pre < 0
	case opLessEqual:
		return core < 0 || core == 0 && (pre == 0 || full && pre < 0)
	case opTilde:
		return v.major == c.major && (!c.hasMinor || v.minor == c.minor) && (core > 0 || core == 0 && pre >= 0)
	}
	return c.matchesCaret(v, core, pre)
}

// matchesCaret matches versions from the comparator's on with the same left-most part that is not
// zero. core and pre are the results of comparing the numbers and the pre-releases.
func (c comparator) matchesCaret(v Version, core, pre int) bool {
	switch {
	case v.major != c.major:
		return false
	case !c.hasMinor:
		return true
	case c.major == 0 && v.minor != c.minor:
		return false
	case !c.hasPatch:
		return core >= 0
	case c.major == 0 && c.minor == 0 && v.patch != c.patch:
		return false
	}
	return core > 0 || core == 0 && pre >= 0
}

// parseRange parses comparators separated by commas. Only spaces count as white space here.
func parseRange(text string) (Range, bool) {
	text = trimBlanks(text)
	if rest, ok := cutWildcard(text); ok {
		return Range{}, trimBlanks(rest) == ""
	}
	var r Range
	for len(r.comparators) < maxComparators {
		c, rest, ok := readComparator(text)
		if !ok {
			return Range{}, false
		}
		r.comparators = append(r.comparators, c)
		if rest == "" {
			return r, true
		}
		if rest[0] != ',' {
			return Range{}, false
		}
		// A comma must be followed by a comparator.
		text = trimBlanks(rest[1:])
	}
	return Range{}, false
}

// readComparator reads an operator, which is optional, and a version with one to three numbers. The
// last numbers may be wildcards, and three numbers may have a suffix, of which build metadata is
// ignored.
func readComparator(text string) (c comparator, rest string, ok bool) {
	// bare is true without an operator.
	bare := true
	for _, o := range rangeOps {
		if after, found := strings.CutPrefix(text, o.text); found {
			c.op, text, bare = o.op, after, false
			break
		}
	}
	if c.major, text, ok = readNumber(trimBlanks(text)); !ok {
		return c, "", false
	}
	wild := false
	for _, part := range []struct {
		value *uint64
		has   *bool
	}{{&c.minor, &c.hasMinor}, {&c.patch, &c.hasPatch}} {
		after, found := strings.CutPrefix(text, ".")
		if !found {
			continue
		}
		if text, found = cutWildcard(after); found {
			wild = true
			continue
		}
		if wild { // 1.*.3
			return c, "", false
		}
		if *part.value, text, ok = readNumber(after); !ok {
			return c, "", false
		}
		*part.has = true
	}
	// A wildcard has its own meaning only without an operator; otherwise it is a missing number.
	if wild && bare {
		c.op = opWildcard
	}
	if c.hasPatch {
		if c.pre, _, text, ok = readSuffix(text); !ok {
			return c, "", false
		}
	}
	return c, trimBlanks(text), true
}

// cutWildcard removes a leading wildcard: *, x or X.
func cutWildcard(s string) (string, bool) {
	if s != "" && (s[0] == '*' || s[0]|0x20 == 'x') {
		return s[1:], true
	}
	return s, false
}

// trimBlanks removes leading spaces.
func trimBlanks(s string) string { return strings.TrimLeft(s, " ") }
