package values

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lower appends the full Unicode lower-case form of s: one rune may become two (İ), and
// a capital sigma at the end of a word becomes a final sigma. It converts to lower case and
// does not fold: ß remains ß (§4.3). The end of a word is determined by the categories of
// package unicode.
func Lower(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			dst = append(dst, FoldASCII[c])
			i++
			continue
		}
		dst, i = appendLowerRune(dst, s, i)
	}
	return dst
}

// EqualLower reports whether the lower-case form of s is lowered. It does not allocate.
func EqualLower(s, lowered string) bool {
	var room [8]byte // the longest form of one rune has three bytes
	j := 0
	for i := 0; i < len(s); {
		if j >= len(lowered) {
			return false
		}
		if c := s[i]; c < utf8.RuneSelf {
			if FoldASCII[c] != lowered[j] {
				return false
			}
			i++
			j++
			continue
		}
		var one []byte
		one, i = appendLowerRune(room[:0], s, i)
		if len(lowered)-j < len(one) || lowered[j:j+len(one)] != string(one) {
			return false
		}
		j += len(one)
	}
	return j == len(lowered)
}

// appendLowerRune appends the lower-case form of the rune at s[i:] and returns the index
// after it.
func appendLowerRune(dst []byte, s string, i int) ([]byte, int) {
	r, n := utf8.DecodeRuneInString(s[i:])
	switch {
	case r == utf8.RuneError && n == 1: // a byte of invalid UTF-8 remains
		return append(dst, s[i]), i + 1
	case r == 'İ':
		return append(dst, "i̇"...), i + n
	case r == 'Σ' && hasCasedBefore(s[:i]) && !hasCasedAfter(s[i+n:]):
		return append(dst, "ς"...), i + n
	}
	return utf8.AppendRune(dst, lowerRune(r)), i + n
}

// lowerRune returns the lower-case form of a rune, with the additions of laterPairs.
func lowerRune(r rune) rune {
	if r >= laterPairs[0].from {
		for _, p := range laterPairs {
			if p.from <= r && r <= p.to {
				return r + p.add
			}
		}
	}
	return unicode.ToLower(r)
}

// laterPairs are the capital letters that Unicode 16 and 17 added. The tables of package
// unicode may lack them, while the service has them.
var laterPairs = []struct{ from, to, add rune }{
	{0x1C89, 0x1C89, 1},
	{0xA7CB, 0xA7CB, 0x0264 - 0xA7CB},
	{0xA7CC, 0xA7CC, 1},
	{0xA7CE, 0xA7CE, 1},
	{0xA7D2, 0xA7D2, 1},
	{0xA7D4, 0xA7D4, 1},
	{0xA7DA, 0xA7DA, 1},
	{0xA7DC, 0xA7DC, 0x019B - 0xA7DC},
	{0x10D50, 0x10D65, 0x20},
	{0x16EA0, 0x16EB8, 0x1B},
}

// hasCasedBefore reports whether the last rune that is relevant for case is a cased letter.
func hasCasedBefore(s string) bool {
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		if !isCaseIgnorable(r) {
			return isCased(r)
		}
		s = s[:len(s)-n]
	}
	return false
}

// hasCasedAfter reports whether the first rune that is relevant for case is a cased letter.
func hasCasedAfter(s string) bool {
	for _, r := range s {
		if !isCaseIgnorable(r) {
			return isCased(r)
		}
	}
	return false
}

// isCased reports whether a rune has the Unicode property Cased.
func isCased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) ||
		unicode.In(r, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// isCaseIgnorable reports whether a rune has the Unicode property Case_Ignorable.
func isCaseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '\u0387', '՟', '״', '‘', '’', '․', '‧', '︓', '﹒', '﹕', '＇', '．', '：':
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// FoldASCII maps A-Z to a-z and every other byte to itself.
var FoldASCII = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] |= 0x20
		}
	}
	return t
}()

// LowerASCII converts A-Z to lower case only (§4.3). It allocates only if s contains such
// letters.
func LowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] != FoldASCII[s[i]] {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = FoldASCII[b[i]]
			}
			return string(b)
		}
	}
	return s
}

// ContainsFold reports whether s contains lowered, where A-Z in s equals a-z. lowered must be
// a result of LowerASCII.
func ContainsFold(s, lowered string) bool {
	if lowered == "" {
		return true
	}
	first, rest := lowered[0], lowered[1:]
	i, last := 0, len(s)-len(lowered)
	if first < 'a' || first > 'z' { // not a letter: a byte search rejects most strings quickly
		if last < 0 {
			return false
		}
		if i = strings.IndexByte(s[:last+1], first); i < 0 {
			return false
		}
	}
	for ; i <= last; i++ {
		if FoldASCII[s[i]] == first && equalFold(s[i+1:i+len(lowered)], rest) {
			return true
		}
	}
	return false
}

// HasPrefixFold reports whether s starts with lowered, see ContainsFold.
func HasPrefixFold(s, lowered string) bool {
	return len(s) >= len(lowered) && equalFold(s[:len(lowered)], lowered)
}

// HasSuffixFold reports whether s ends with lowered, see ContainsFold.
func HasSuffixFold(s, lowered string) bool {
	return len(s) >= len(lowered) && equalFold(s[len(s)-len(lowered):], lowered)
}

// equalFold compares two strings of the same length, where A-Z in s equals a-z.
func equalFold(s, lowered string) bool {
	for i := 0; i < len(s) && i < len(lowered); i++ {
		if FoldASCII[s[i]] != lowered[i] {
			return false
		}
	}
	return true
}
