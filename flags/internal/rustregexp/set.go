package rustregexp

import (
	"cmp"
	"slices"
	"sync"
	"unicode"
)

// maxScalar is the last Unicode scalar value; surrogates are not scalar values.
const (
	maxScalar      = unicode.MaxRune
	firstSurrogate = 0xD800
	lastSurrogate  = 0xDFFF
)

// runeRange is an inclusive range of Unicode scalar values.
type runeRange struct{ lo, hi rune }

// runeSet is a set of Unicode scalar values: sorted ranges that neither overlap nor touch. Nil is
// the empty set. Values are shared between patterns and must not be modified.
type runeSet []runeRange

// newRuneSet sorts and joins ranges in any order, and removes surrogates.
func newRuneSet(ranges []runeRange) runeSet {
	sorted := make([]runeRange, 0, len(ranges)+1)
	for _, r := range ranges {
		// Split a range at the surrogates, and cut off the part in them.
		if r.lo < firstSurrogate && r.hi >= firstSurrogate {
			sorted = append(sorted, runeRange{r.lo, firstSurrogate - 1})
			r.lo = firstSurrogate
		}
		if r.lo >= firstSurrogate && r.lo <= lastSurrogate {
			r.lo = lastSurrogate + 1
		}
		if r.lo <= r.hi {
			sorted = append(sorted, r)
		}
	}
	slices.SortFunc(sorted, func(a, b runeRange) int { return cmp.Compare(a.lo, b.lo) })
	// Join ranges that overlap or touch.
	var set runeSet
	for _, r := range sorted {
		if n := len(set); n > 0 && r.lo <= set[n-1].hi+1 {
			set[n-1].hi = max(set[n-1].hi, r.hi)
			continue
		}
		set = append(set, r)
	}
	return set
}

// tableSet returns the runes of all the tables.
func tableSet(tables ...*unicode.RangeTable) runeSet {
	var ranges []runeRange
	// add appends a range of a table, in which every stride-th rune is a member.
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			ranges = append(ranges, runeRange{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			ranges = append(ranges, runeRange{r, r})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return newRuneSet(ranges)
}

// equal reports whether the sets have the same members. Sets are normalized, so equal sets have
// equal ranges.
func (s runeSet) equal(t runeSet) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if s[i] != t[i] {
			return false
		}
	}
	return true
}

// union merges the two sorted lists of ranges. Ranges that overlap or touch are joined.
func (s runeSet) union(t runeSet) runeSet {
	out := make(runeSet, 0, len(s)+len(t))
	for len(s) > 0 || len(t) > 0 {
		if len(s) == 0 || len(t) > 0 && t[0].lo < s[0].lo {
			s, t = t, s
		}
		if n := len(out); n > 0 && s[0].lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, s[0].hi)
		} else {
			out = append(out, s[0])
		}
		s = s[1:]
	}
	return out
}

// negate returns all scalar values that are not in s. newRuneSet removes the surrogates.
func (s runeSet) negate() runeSet {
	ranges := make([]runeRange, 0, len(s)+1)
	next := rune(0)
	for _, r := range s {
		if r.lo > next {
			ranges = append(ranges, runeRange{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	if next <= maxScalar {
		ranges = append(ranges, runeRange{next, maxScalar})
	}
	return newRuneSet(ranges)
}

// intersect returns the members of both sets. It advances in the set whose range ends first.
func (s runeSet) intersect(t runeSet) runeSet {
	var out runeSet
	for i, j := 0, 0; i < len(s) && j < len(t); {
		lo, hi := max(s[i].lo, t[j].lo), min(s[i].hi, t[j].hi)
		if lo <= hi {
			out = append(out, runeRange{lo, hi})
		}
		if s[i].hi < t[j].hi {
			i++
		} else {
			j++
		}
	}
	return out
}

// subtract returns the members of s that are not in t.
func (s runeSet) subtract(t runeSet) runeSet { return s.intersect(t.negate()) }

// has reports whether r is in s, by binary search.
func (s runeSet) has(r rune) bool {
	_, found := slices.BinarySearchFunc(s, r, func(in runeRange, r rune) int {
		switch {
		case in.hi < r:
			return -1
		case in.lo > r:
			return 1
		}
		return 0
	})
	return found
}

// fold adds every rune that differs from a member by simple case folding only.
func (s runeSet) fold() runeSet {
	var extra []runeRange
	i := 0
	for _, r := range s.foldable() {
		for s[i].hi < r {
			i++
		}
		// Only members of s are folded; a rune between two ranges is not one.
		if r < s[i].lo {
			continue
		}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if !s.has(f) {
				extra = append(extra, runeRange{f, f})
			}
		}
	}
	if len(extra) == 0 {
		return s
	}
	return s.union(newRuneSet(extra))
}

// foldable returns the runes of foldableRunes between the first and the last member of a set.
func (s runeSet) foldable() []rune {
	if len(s) == 0 {
		return nil
	}
	runes := foldableRunes()
	first, _ := slices.BinarySearch(runes, s[0].lo)
	last, _ := slices.BinarySearch(runes, s[len(s)-1].hi+1)
	return runes[first:last]
}

// foldableRunes are all runes that simple case folding maps to another, in order.
var foldableRunes = sync.OnceValue(func() []rune {
	var runes []rune
	for _, c := range unicode.CaseRanges {
		for r := rune(c.Lo); r <= rune(c.Hi); r++ {
			if unicode.SimpleFold(r) != r {
				runes = append(runes, r)
			}
		}
	}
	return runes
})

// The Perl classes as defined by Rust (regex crate, "Perl character classes"): \w is Alphabetic, M,
// Nd, Pc and Join_Control; \d is Nd; \s is White_Space.
var (
	digitSet = sync.OnceValue(func() runeSet { return tableSet(unicode.Nd) })
	spaceSet = sync.OnceValue(func() runeSet { return tableSet(unicode.White_Space) })
	wordSet  = sync.OnceValue(func() runeSet {
		return alphabeticSet().union(tableSet(unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control))
	})
	alphabeticSet = sync.OnceValue(func() runeSet {
		return tableSet(unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.Other_Lowercase, unicode.Other_Uppercase)
	})
	notWordSet     = sync.OnceValue(func() runeSet { return wordSet().negate() })
	notNewline     = runeSet{{'\n', '\n'}}.negate()
	notNewlineCRLF = runeSet{{'\n', '\n'}, {'\r', '\r'}}.negate()
	hexSet         = runeSet{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}
	anySet         = runeSet(nil).negate()
)
