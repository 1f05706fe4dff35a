package hogql

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// textFunctions are the functions for strings (§2.9.8).
var textFunctions = []function{
	{name: "lower", args: "s", result: constantType(TextType), one: mapText(strings.ToLower)},
	{name: "lowerUTF8", args: "s", result: constantType(TextType), one: mapText(strings.ToLower)},
	{name: "upper", args: "s", result: constantType(TextType), one: mapText(strings.ToUpper)},
	{name: "upperUTF8", args: "s", result: constantType(TextType), one: mapText(strings.ToUpper)},
	{name: "length", args: "a", result: constantType(countType), one: func(s *site, v Value) Value { return IntOf(int64(s.length(v))) }},
	{name: "lengthUTF8", args: "s", result: constantType(countType), one: func(_ *site, v Value) Value { return IntOf(int64(utf8.RuneCountInString(v.s))) }},
	{name: "empty", args: "a", result: constantType(testType), one: func(s *site, v Value) Value { return boolInt(s.length(v) == 0) }},
	{name: "notEmpty", args: "a", result: constantType(testType), one: func(s *site, v Value) Value { return boolInt(s.length(v) != 0) }},
	{name: "reverse", args: "s", result: constantType(TextType), one: func(s *site, v Value) Value {
		if !s.allocate(5 * len(v.s)) { // 4 bytes for each character, and the string
			return Value{}
		}
		r := []rune(v.s)
		slices.Reverse(r)
		return TextOf(string(r))
	}},
	{name: "trim", args: "s", result: constantType(TextType), one: mapText(func(t string) string { return strings.Trim(t, " ") })},
	{name: "trimLeft", args: "s", result: constantType(TextType), one: mapText(func(t string) string { return strings.TrimLeft(t, " ") })},
	{name: "trimRight", args: "s", result: constantType(TextType), one: mapText(func(t string) string { return strings.TrimRight(t, " ") })},
	{name: "concat", args: "a+", result: constantType(TextType), acceptsNulls: true, all: concat},
	{name: "substring", args: "sii?", result: constantType(TextType), all: func(_ *site, args []Value) Value {
		n := int64(1) << 40
		if len(args) == 3 {
			n = args[2].n
		}
		return TextOf(substring(args[0].s, args[1].n, n))
	}},
	{name: "left", args: "si", result: constantType(TextType), two: func(_ *site, v, n Value) Value {
		size := n.n
		if size < 0 {
			size = max(0, int64(utf8.RuneCountInString(v.s))+size)
		}
		return TextOf(substring(v.s, 1, size))
	}},
	{name: "right", args: "si", result: constantType(TextType), two: func(_ *site, v, n Value) Value {
		skip := -n.n
		if n.n >= 0 {
			skip = max(0, int64(utf8.RuneCountInString(v.s))-n.n)
		}
		return TextOf(substring(v.s, skip+1, 1<<40))
	}},
	{name: "position", args: "ss", result: constantType(countType), two: func(_ *site, v, t Value) Value { return position(v.s, t.s) }},
	{name: "positionCaseInsensitive", args: "ss", result: constantType(countType), two: func(_ *site, v, t Value) Value {
		return position(strings.ToLower(v.s), strings.ToLower(t.s))
	}},
	{name: "startsWith", args: "ss", result: constantType(testType), two: func(_ *site, v, t Value) Value { return boolInt(strings.HasPrefix(v.s, t.s)) }},
	{name: "endsWith", args: "ss", result: constantType(testType), two: func(_ *site, v, t Value) Value { return boolInt(strings.HasSuffix(v.s, t.s)) }},
	{name: "replaceOne", args: "sss", result: constantType(TextType), all: func(s *site, args []Value) Value { return s.replace(args, 1) }},
	{name: "replaceAll", args: "sss", result: constantType(TextType), all: func(s *site, args []Value) Value { return s.replace(args, -1) }},
	{name: "replace", args: "sss", result: constantType(TextType), all: func(s *site, args []Value) Value { return s.replace(args, -1) }},
	{name: "splitByChar", args: "ss", result: constantType(TextType.ListOf()), two: func(s *site, by, v Value) Value { return s.split(v.s, by.s) }},
	{name: "splitByString", args: "ss", result: constantType(TextType.ListOf()), two: func(s *site, by, v Value) Value { return s.split(v.s, by.s) }},
	{name: "multiSearchAnyCaseInsensitive", args: "sl", result: constantType(testType), two: func(s *site, v, l Value) Value {
		text := strings.ToLower(v.s)
		return boolInt(slices.ContainsFunc(l.List(), func(e Value) bool { return strings.Contains(text, strings.ToLower(s.env.text(e))) }))
	}},
	{name: "like", args: "ss", special: pattern(likeFunction(false, false))},
	{name: "ilike", args: "ss", special: pattern(likeFunction(true, false))},
	{name: "notLike", args: "ss", special: pattern(likeFunction(false, true))},
	{name: "notILike", args: "ss", special: pattern(likeFunction(true, true))},
	// The operators =~ and =~* are calls of match and $imatch.
	{name: "match", args: "ss", special: pattern(matchFunction(false))},
	{name: "$imatch", args: "ss", special: pattern(matchFunction(true))},
	// extract returns the first group of the first match, or the whole match if there are no
	// groups.
	{name: "extract", args: "ss", special: pattern(&function{args: "ss", regexp: true, result: constantType(TextType), two: func(s *site, v, p Value) Value {
		re := s.regexp(p.s, v.s, false)
		if re == nil {
			return Value{}
		}
		groups := re.FindStringSubmatch(v.s)
		if len(groups) == 0 {
			return TextOf("")
		}
		return TextOf(groups[min(1, len(groups)-1)])
	}})},
	{name: "replaceRegexpOne", args: "sss", special: pattern(replaceFunction(true))},
	{name: "replaceRegexpAll", args: "sss", special: pattern(replaceFunction(false))},
}

// mapText adapts a function of strings. It counts the size of the result, which is about that
// of the argument.
//
// The result is null after an error of the query.
func mapText(f func(string) string) func(*site, Value) Value {
	return func(s *site, v Value) Value {
		if !s.allocate(len(v.s)) {
			return Value{}
		}
		return TextOf(f(v.s))
	}
}

// length returns the number of elements of a list, or of bytes of a string.
func (s *site) length(v Value) int {
	if v.kind == List || v.kind == Tuple {
		return len(v.List())
	}
	return len(s.env.text(v))
}

// concat joins the text of its arguments. Null is the empty string.
func concat(s *site, args []Value) Value {
	s.buf = s.buf[:0]
	for _, v := range args {
		if v.kind != Null {
			s.buf = s.env.appendText(s.buf, v)
		}
		if len(s.buf) > maxRowBytes {
			break
		}
	}
	if !s.allocate(len(s.buf)) {
		return Value{}
	}
	return TextOf(string(s.buf))
}

// substring returns n characters beginning at the position from. Positions begin at 1;
// negative ones count from the end. If from is 0, the result is empty.
//
// A negative position before the beginning of the string shortens the result accordingly.
func substring(text string, from, n int64) string {
	size := int64(utf8.RuneCountInString(text))
	switch {
	case from == 0 || from > size:
		return ""
	case from < 0:
		from += size
		if from < 0 {
			n += from
			from = 0
		}
	default:
		from--
	}
	if n <= 0 {
		return ""
	}
	to := min(size, from+n)
	// If each character is one byte, the offsets are the positions.
	if size == int64(len(text)) {
		return text[from:to]
	}
	start := runeOffset(text, from)
	return text[start : start+runeOffset(text[start:], to-from)]
}

// runeOffset returns the length of the first n characters, in bytes.
func runeOffset(text string, n int64) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// position returns the position of part in characters, from 1, or 0 if text does not contain
// it.
func position(text, part string) Value {
	at := strings.Index(text, part)
	if at < 0 {
		return IntOf(0)
	}
	return IntOf(int64(utf8.RuneCountInString(text[:at])) + 1)
}

// replace replaces the first n occurrences of args[1] by args[2], or all if n is negative.
func (s *site) replace(args []Value, n int) Value {
	text, from, to := args[0].s, args[1].s, args[2].s
	if from == "" {
		return TextOf(text)
	}
	// The size of the result is checked before it is created.
	if growth := len(to) - len(from); growth > 0 {
		count := strings.Count(text, from)
		if n > 0 {
			count = min(n, count)
		}
		if !s.allocate(len(text) + count*growth) {
			return Value{}
		}
	}
	return TextOf(strings.Replace(text, from, to, n))
}

// split returns a list of the parts between separators. If the separator is empty, the parts
// are the characters.
func (s *site) split(text, separator string) Value {
	if !s.fits((strings.Count(text, separator) + 1) * (valueSize + 16)) { // including the slice that strings.Split allocates
		return Value{}
	}
	parts := strings.Split(text, separator)
	all := make([]Value, len(parts))
	for i, p := range parts {
		all[i] = TextOf(p)
	}
	return s.list(all)
}
