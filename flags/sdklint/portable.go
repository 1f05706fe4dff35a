package sdklint

import (
	"strconv"
	"strings"
)

// posthog-node 5.70.0 evaluates a regular expression only if its syntax is common to
// JavaScript and Rust; otherwise it calls the server. This file repeats its check.

// Tokens of a pattern that are not single characters.
const (
	startToken = -1 - iota
	atomToken
	emptyGroupToken
)

var portableRepeat = lazy(`^\{(\d+)(?:,(\d*))?\}`)

// isPortableExpression reports whether posthog-node considers a pattern portable. This includes
// patterns that are invalid in both languages.
func isPortableExpression(p string) bool {
	before := startToken
	for i := 0; i < len(p); i++ {
		c, rest := p[i], p[i+1:]
		n, token, ok := portableToken(p[i:], before)
		if !ok {
			return false
		}
		i += n
		quantifier := strings.IndexByte("*+?", c) >= 0
		switch {
		case c >= 0x80,
			(quantifier || c == '}') && (strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "{")),
			(quantifier || c == '{') && (before == '^' || before == '$' || before == emptyGroupToken):
			return false
		}
		before = token
	}
	return true
}

// portableToken reads the first token of p. n is its length minus one, and token its kind,
// which limits the next token.
func portableToken(p string, before int) (n, token int, ok bool) {
	switch rest := p[1:]; p[0] {
	case '\\':
		n, ok = portableEscape(rest)
		return n, atomToken, ok && !strings.HasPrefix(rest, "b") && !strings.HasPrefix(rest, "B")
	case '[':
		n, ok = portableClass(rest)
		return n, atomToken, ok
	case '(':
		if strings.HasPrefix(rest, "?") {
			return 2, '(', strings.HasPrefix(rest, "?:")
		}
	case ')':
		if before == '(' || before == emptyGroupToken {
			return 0, emptyGroupToken, true
		}
	case '{':
		return 0, '{', before != startToken && before != '|' && before != '(' && isRepetition(p)
	}
	return 0, int(p[0]), true
}

// isRepetition reports whether p starts with a repetition and the counts fit into 32 bits, as Rust
// requires.
func isRepetition(p string) bool {
	counts := portableRepeat().FindStringSubmatch(p)
	if counts == nil {
		return false
	}
	for _, n := range counts[1:] {
		if _, err := strconv.ParseUint(n, 10, 32); err != nil && n != "" {
			return false
		}
	}
	return true
}

// portableEscape returns the length of an escape without its backslash. rest is the text
// after the backslash.
func portableEscape(rest string) (n int, ok bool) {
	switch {
	case rest == "": // invalid in both languages
		return 0, true
	case rest[0] == 'x':
		if len(rest) < 3 {
			return 0, false
		}
		_, err := strconv.ParseUint(rest[1:3], 16, 8)
		return 3, err == nil
	}
	return 1, strings.IndexByte("dDsSwWbBfnrtv", rest[0]) >= 0 || strings.IndexByte(" !\"#$%&'()*+,-./:;=?@[\\]^_`{|}~", rest[0]) >= 0
}

// portableClass returns the length of a character class after its opening bracket, including
// the closing one. A class without a closing bracket is invalid in both languages.
func portableClass(rest string) (n int, ok bool) {
	i := 0
	if strings.HasPrefix(rest, "^") {
		i = 1
	}
	first := i
	set := false // the previous item is a set such as \d
	dash := -1   // index of a dash after an item
	for ; i < len(rest); i++ {
		isSet := false
		switch c := rest[i]; {
		case c == ']':
			return i + 1, i > first
		case c >= 0x80 || c == '[' || strings.HasPrefix(rest[i:], "&&") || strings.HasPrefix(rest[i:], "--") || strings.HasPrefix(rest[i:], "~~"):
			return 0, false
		case c == '-' && i > first && dash != i-1 && !strings.HasPrefix(rest[i+1:], "]"):
			if set { // a set cannot start a range
				return 0, false
			}
			dash = i
			continue
		case c == '\\':
			width, valid := portableEscape(rest[i+1:])
			if !valid || width > 0 && strings.IndexByte("dDsSwWbfnrtvx^$\\.*+?()[]{}|/-", rest[i+1]) < 0 {
				return 0, false
			}
			isSet = width > 0 && strings.IndexByte("dDsSwW", rest[i+1]) >= 0
			if isSet && dash == i-1 && dash >= 0 {
				return 0, false
			}
			i += width
		}
		set = isSet
	}
	return i, true
}
