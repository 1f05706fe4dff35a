package hogql

import (
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/capture/insights/internal/boundedre"
)

// maxPattern is the greatest length of a regular expression in characters (§5.4).
const maxPattern = 1000

// pattern compiles a function whose second argument is a pattern. A constant pattern is
// checked immediately.
func pattern(f *function) func(*compiler, *node) compiled {
	return func(c *compiler, n *node) compiled {
		args := c.compileAll(n.args)
		if p := args[1]; c.err == nil && f.regexp && p.constant && p.value.kind == Text {
			if _, err := compilePattern(p.value.s, false); err != nil {
				return c.fail(n.args[1].fault(err.code, err.text, ""))
			}
		}
		return c.compileCall(n, f, args)
	}
}

// patternError is the error of an invalid pattern.
type patternError struct{ code, text string }

// compilePattern compiles a regular expression. fold makes it case-insensitive.
func compilePattern(text string, fold bool) (*boundedre.Pattern, *patternError) {
	if utf8.RuneCountInString(text) > maxPattern {
		return nil, &patternError{TooLarge, "A pattern may have 1000 characters: it is longer"}
	}
	// A dot also matches a line break.
	flags := "(?s)"
	if fold {
		flags = "(?si)"
	}
	re, err := boundedre.Compile(flags + text)
	if err != nil {
		return nil, &patternError{TypeError, "Pattern " + quoted(text) + " is no regular expression"}
	}
	return re, nil
}

// regexp returns the compiled pattern, or nil after an error: the pattern is invalid, or a search
// in this text takes too long.
func (s *site) regexp(pattern, text string, fold bool) *boundedre.Pattern {
	if !s.pattern.compiled || s.pattern.text != pattern {
		re, err := compilePattern(pattern, fold)
		if err != nil {
			s.fail(err.code, err.text)
		}
		s.pattern = matcher{text: strings.Clone(pattern), re: re, compiled: true}
	}
	re := s.pattern.re
	if re != nil && !re.Fits(text) {
		s.fail(TooLarge, "Pattern "+quoted(pattern)+" has too many steps for a string of this length: repeat less in it, or search only the start of the string, such as with substring")
		return nil
	}
	return re
}

// matchFunction returns the implementation of match. It is false if an argument is null.
func matchFunction(fold bool) *function {
	return &function{args: "ss", regexp: true, result: constantType(testType), acceptsNulls: true, two: func(s *site, v, p Value) Value {
		if v.kind == Null || p.kind == Null {
			return boolInt(false)
		}
		re := s.regexp(p.s, v.s, fold)
		return boolInt(re != nil && re.MatchString(v.s))
	}}
}

// replaceFunction returns a function that replaces the first or all matches. In the
// replacement, \1 represents a group.
//
// The size of the result is checked before each match is replaced, because a short query
// could otherwise create a very large string.
func replaceFunction(first bool) *function {
	return &function{args: "sss", regexp: true, result: constantType(TextType), all: func(s *site, args []Value) Value {
		text, re := args[0].s, s.regexp(args[1].s, args[0].s, false)
		if re == nil {
			return Value{}
		}
		template := groupTemplate(args[2].s)
		var out []byte
		last := 0
		// All matches are found before the first is replaced, and each needs this much
		// memory.
		size := 24 + 16*(re.NumSubexp()+1)
		n := maxRowBytes / size
		if first {
			n = 1
		}
		found, ok := re.FindAllSubmatches(text, n, s.env.check)
		if !ok || !s.allocate(size*(len(found)+1)) {
			return Value{}
		}
		groups := strings.Count(template, "${") // each is at most as long as the match
		for _, at := range found {
			if !s.fits(len(out) + at[0] - last + len(template) + groups*(at[1]-at[0])) {
				return Value{}
			}
			out = append(out, text[last:at[0]]...)
			out = re.ExpandString(out, template, text, at)
			last = at[1]
		}
		out = append(out, text[last:]...)
		if !s.allocate(len(out)) {
			return Value{}
		}
		return TextOf(string(out))
	}}
}

// groupTemplate converts a replacement with \1 to the syntax of package regexp.
//
// A dollar sign has no special meaning in a query, so it is escaped.
func groupTemplate(t string) string {
	if !strings.ContainsAny(t, `\$`) {
		return t
	}
	var b strings.Builder
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		// Package regexp would expand a dollar sign.
		case c == '$':
			b.WriteString("$$")
		case c == '\\' && i+1 < len(t) && t[i+1] >= '0' && t[i+1] <= '9':
			i++
			b.WriteString("${" + t[i:i+1] + "}")
		case c == '\\' && i+1 < len(t) && t[i+1] == '\\':
			i++
			b.WriteByte('\\')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// likeFunction returns the implementation of LIKE. fold makes it case-insensitive, not
// negates it.
func likeFunction(fold, not bool) *function {
	return &function{args: "ss", result: constantType(testType), acceptsNulls: true, two: func(s *site, v, p Value) Value {
		if v.kind == Null || p.kind == Null {
			return boolInt(not)
		}
		text, pattern := v.s, p.s
		if fold {
			text = strings.ToLower(text)
			// The pattern is converted to lower case only if it is a different one.
			if !s.pattern.compiled || s.pattern.text != pattern {
				s.pattern = matcher{text: strings.Clone(pattern), like: strings.ToLower(pattern), compiled: true}
			}
			return boolInt(like(text, s.pattern.like) != not)
		}
		return boolInt(like(text, pattern) != not)
	}}
}

// like reports whether a pattern matches the whole text. A % matches any string and _ one
// character; a backslash escapes both. It only backtracks to the last %, so its running time
// is at most the product of the lengths.
func like(text, pattern string) bool {
	t, p := 0, 0
	backText, backPattern := -1, -1
	for t < len(text) {
		// First try to match the empty string with %; if the rest does not match, extend it.
		if p < len(pattern) && pattern[p] == '%' {
			p++
			backText, backPattern = t, p
			continue
		}
		if p < len(pattern) {
			width, step, ok := likeStep(text[t:], pattern[p:])
			if ok {
				t, p = t+width, p+step
				continue
			}
		}
		// There was no % before, so the pattern cannot match.
		if backPattern < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(text[backText:])
		backText += n
		t, p = backText, backPattern
	}
	for p < len(pattern) && pattern[p] == '%' {
		p++
	}
	return p == len(pattern)
}

// likeStep matches one character, and returns its length in text and in pattern.
func likeStep(text, pattern string) (width, step int, ok bool) {
	c := pattern[0]
	if c == '_' {
		_, n := utf8.DecodeRuneInString(text)
		return n, 1, true
	}
	if c == '\\' && len(pattern) > 1 && (pattern[1] == '%' || pattern[1] == '_' || pattern[1] == '\\') {
		return 1, 2, text[0] == pattern[1]
	}
	return 1, 1, text[0] == c
}
