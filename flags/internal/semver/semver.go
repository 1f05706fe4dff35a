// Package semver reads and compares versions and ranges of versions (§4.8).
package semver

import (
	"cmp"
	"math"
	"strings"
)

// Version is a semantic version. pre and build are the dotted identifiers after "-" and "+", empty
// when there are none.
type Version struct {
	major, minor, patch uint64
	pre, build          string
}

// Parse reads a version (§4.8): one leading lower-case v is removed, then blanks around it;
// missing minor and patch are 0; zeros before a number of the core are dropped. Everything else is
// strict SemVer 2.0: a fourth number, a number beyond 64 bits, an empty identifier or zeros before
// a numeric pre-release identifier are refused.
func Parse(text string) (Version, bool) {
	core, suffix := splitCore(trimVersion(text))
	var parts [3]uint64
	for i := 0; ; i++ {
		part, rest, more := strings.Cut(core, ".")
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

// Compare orders by SemVer precedence and then by build metadata, which counts: 1.0.0 <
// 1.0.0+a. The result is -1, 0 or 1.
func Compare(a, b Version) int {
	return cmp.Or(
		cmp.Compare(a.major, b.major),
		cmp.Compare(a.minor, b.minor),
		cmp.Compare(a.patch, b.patch),
		comparePre(a.pre, b.pre),
		compareIdentifiers(a.build, b.build))
}

// comparePre puts a pre-release before its release.
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
// longer list after its own beginning. Numbers of equal value with more zeros in front come later,
// which only build metadata can have.
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
		case !moreA:
			return -1
		case !moreB:
			return 1
		}
		a, b = restA, restB
	}
}

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

// Range is a list of comparators that must all hold. None at all (the text "*") means every
// release.
type Range struct {
	comparators []comparator
}

// comparator is one test of a range. minor and patch are absent where the text ended early or had a
// wildcard.
type comparator struct {
	op                 rangeOp
	major              uint64
	minor, patch       uint64
	hasMinor, hasPatch bool
	pre                string
}

type rangeOp uint8

const (
	opCaret rangeOp = iota // what a bare version means
	opExact
	opGreater
	opGreaterEqual
	opLess
	opLessEqual
	opTilde
	opWildcard
)

// rangeOps are the operators of the range grammar; longer ones come first.
var rangeOps = []struct {
	text string
	op   rangeOp
}{
	{">=", opGreaterEqual}, {">", opGreater}, {"<=", opLessEqual}, {"<", opLess}, {"=", opExact}, {"~", opTilde}, {"^", opCaret},
}

// maxComparators is the longest list that the grammar accepts.
const maxComparators = 32

// Tilde reads the filter value of semver_tilde: at least this version, below the next minor
// (§4.8).
func Tilde(text string) (Range, bool) {
	return parseRange("~" + padVersion(trimVersion(text)))
}

// Caret reads the filter value of semver_caret: at least this version, below the next change
// of the left-most part that is not zero (§4.8).
func Caret(text string) (Range, bool) {
	return parseRange("^" + padVersion(trimVersion(text)))
}

// Wildcard reads the filter value of semver_wildcard: "1.*", "1.2.*", "1.*.*", "*"; without a
// star it is a caret range. As in the service the text goes through the whole range grammar with x
// for every star, so ">=1.2, <2" works too (§4.8).
func Wildcard(text string) (Range, bool) {
	parts := strings.Split(trimVersion(text), ".")
	for i, p := range parts {
		parts[i] = dropZeros(p)
	}
	return parseRange(strings.ReplaceAll(strings.Join(parts, "."), "*", "x"))
}

// Contains says whether v is in the range. A pre-release is only when a comparator with the same
// three numbers names a pre-release itself.
func (r Range) Contains(v Version) bool {
	for _, c := range r.comparators {
		if !c.matches(v) {
			return false
		}
	}
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

// compareCore compares the numbers of v with those that the comparator gives.
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

func (c comparator) matches(v Version) bool {
	core := c.compareCore(v)
	pre := 0 // of v against the comparator's; a comparator without patch has none
	if core == 0 {
		pre = comparePre(v.pre, c.pre)
	}
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

// parseRange reads comparators between commas. Only the blank counts as white space here.
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
		text = trimBlanks(rest[1:])
	}
	return Range{}, false
}

func readComparator(text string) (c comparator, rest string, ok bool) {
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

// readNumber reads the digits that s begins with: at least one, none in vain, at most 64 bits.
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

// readSuffix reads "-pre" and "+build", each of them optional.
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

// readIdentifiers reads dotted identifiers of letters, digits and hyphens, none of them empty.
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

func cutWildcard(s string) (string, bool) {
	if s != "" && (s[0] == '*' || s[0]|0x20 == 'x') {
		return s[1:], true
	}
	return s, false
}

func trimBlanks(s string) string { return strings.TrimLeft(s, " ") }

// trimVersion removes one leading lower-case v, and then white space around the rest.
func trimVersion(s string) string { return strings.TrimSpace(strings.TrimPrefix(s, "v")) }

// splitCore parts the numbers from what follows them.
func splitCore(s string) (core, suffix string) {
	if i := strings.IndexAny(s, "-+"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// padVersion gives a version text three parts and drops zeros before its numbers; what is no number
// stays.
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

// dropZeros drops zeros before a part that is all digits: "08" is "8", "000" is "0".
func dropZeros(part string) string {
	if part == "" || digits(part) != len(part) {
		return part
	}
	if rest := strings.TrimLeft(part, "0"); rest != "" {
		return rest
	}
	return "0"
}

// digits counts the ASCII digits that s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}
