package convert

import (
	"encoding/json"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Limits of regular expressions, in bytes. The engine accepts 16 KiB (flags: Bounds) and some
// 20,000 steps.
const (
	longestPattern = 12 << 10
	maxPiece       = 5_000 // limit of a source's expression, and of each expression that a list is converted into
)

// maxValues is the maximum number of values in a rule's list.
const maxValues = 10_000

// oneOf is case-sensitive equality with any of the strings.
func (a attribute) oneOf(texts []string) formula {
	texts = slices.Compact(slices.Sorted(slices.Values(texts)))
	if len(texts) == 0 {
		return never
	}
	if !slices.ContainsFunc(texts, func(s string) bool { return strings.ContainsFunc(s, notCaseless) }) {
		values := make([]any, len(texts))
		for i, s := range texts {
			values[i] = s
		}
		return a.compare(flags.Exact, values)
	}
	var parts []formula
	for len(texts) > 0 {
		size, n := 0, 0
		var quoted []string
		for ; n < len(texts) && (n == 0 || size+len(texts[n]) < longestPattern/2); n++ {
			q := regexp.QuoteMeta(texts[n])
			quoted, size = append(quoted, q), size+len(q)+1
		}
		expr := quoted[0]
		if n > 1 {
			expr = "(?:" + strings.Join(quoted, "|") + ")"
		}
		parts, texts = append(parts, a.matches("^"+expr+"$")), texts[n:]
	}
	return anyOf(parts...)
}

// notCaseless reports whether case may matter for r. It is false for ASCII characters that are not
// letters.
func notCaseless(r rune) bool { return r >= 0x80 || unicode.IsLetter(r) }

// equalFold is equality of text regardless of case: both sides are converted to lower case.
func (a attribute) equalFold(text string) formula {
	if lower := strings.ToLower(text); lower == "true" || lower == "false" {
		return a.matches("^" + foldCase(text) + "$") // the operator exact treats these differently (§4.6)
	}
	return a.compare(flags.Exact, text)
}

// foldCase returns a pattern for a text regardless of case: every letter is replaced by all letters
// with the same lower case.
func foldCase(text string) string {
	var b strings.Builder
	for _, r := range text {
		low := unicode.ToLower(r)
		all := []rune{low}
		for f := unicode.SimpleFold(low); f != low; f = unicode.SimpleFold(f) {
			if unicode.ToLower(f) == low {
				all = append(all, f)
			}
		}
		if low == 'i' {
			all = append(all, 'İ')
		}
		if len(all) == 1 {
			b.WriteString(regexp.QuoteMeta(string(low)))
			continue
		}
		slices.Sort(all)
		b.WriteString("[" + string(all) + "]")
	}
	return b.String()
}

// part is the position of a text within another text.
type part struct {
	fold          flags.Operator // for ASCII, regardless of case
	before, after string         // for patterns
}

var (
	contains   = part{flags.IContains, "", ""}
	startsWith = part{flags.StartsWith, "^", ""}
	endsWith   = part{flags.EndsWith, "", "$"}
)

// has is true if text is a part of the attribute, with its case. It is never true for null.
func (a attribute) has(p part, text string) formula {
	return a.unlessNull(text, a.bounded(p, regexp.QuoteMeta(text)))
}

// hasFold is has regardless of case.
func (a attribute) hasFold(p part, text string) formula {
	f := a.compare(p.fold, text)
	if strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }) {
		f = a.bounded(p, foldCase(text))
	}
	return a.unlessNull(strings.ToLower(text), f)
}

// unlessNull excludes null if the text "null" contains the part.
func (a attribute) unlessNull(part string, f formula) formula {
	if a.isKey() || !strings.Contains("null", part) {
		return f
	}
	return allOf(f, a.compare(flags.IsNot, "null"))
}

func (a attribute) bounded(p part, expr string) formula {
	if len(expr) > longestPattern {
		a.src.refuse("has a text that is too long for a pattern, more than %d bytes", longestPattern)
	}
	return a.matches(p.before + expr + p.after)
}

// element matches an element of a list of scalars, as compact JSON; inText matches the text between
// the quotes of a string; isContainer matches a list or an object.
const (
	inText      = `(?:[^"\\]|\\.)*`
	scalarForm  = `-?[0-9][0-9.eE+-]*|true|false|null`
	element     = `(?:"` + inText + `"|` + scalarForm + `)`
	isContainer = `(?s)\A(?:\[(?:\]|(?:["\[{]|` + scalarForm + `).*\])|\{(?:\}|".*\}))\z`
)

// inList returns a pattern for a list of which one element matches.
func inList(pattern string) string {
	return `\[(?:` + element + `,)*(?:` + pattern + `)(?:,` + element + `)*\]`
}

// in is true if the attribute, or an element of it, equals one of the scalars: as text, or
// regardless of case if fold is set. Null and non-scalar values are never equal.
func (a attribute) in(values []*node, fold bool) formula {
	if len(values) > maxValues {
		a.src.refuse("lists more than %d values", maxValues)
	}
	var plain, quoted []string
	add := func(text, inJSON string) {
		plain, quoted = append(plain, regexp.QuoteMeta(text)), append(quoted, regexp.QuoteMeta(inJSON))
	}
	for _, v := range values {
		switch x := v.value.(type) {
		case string:
			if looksTyped(x) {
				a.noteSame()
			}
			add(x, string(wire.MustEncode(x)))
		case bool:
			a.noteSame()
			add(strconv.FormatBool(x), strconv.FormatBool(x))
		case json.Number:
			a.noteSame()
			for _, text := range numberTexts(v) {
				add(text, text)
			}
		}
	}
	if len(plain) == 0 {
		return never
	}
	return a.alternatives(plain, quoted, fold)
}

// alternatives matches any of the plain patterns for the whole text, or any of the quoted ones for
// an element. It uses as many regular expressions as their size requires.
func (a attribute) alternatives(plain, quoted []string, fold bool) formula {
	prefix := ""
	if fold {
		prefix = "(?i)"
	}
	var out []formula
	for len(plain) > 0 {
		n, size := 0, 0
		for ; n < len(plain) && (n == 0 || size+len(plain[n])+len(quoted[n]) <= maxPiece); n++ {
			size += len(plain[n]) + len(quoted[n])
		}
		if size > 2*maxPiece {
			a.src.refuse("has a value longer than %d bytes", maxPiece)
		}
		pattern := strings.Join(plain[:n], "|")
		if a.lists {
			pattern += "|" + inList(strings.Join(quoted[:n], "|"))
		}
		out = append(out, a.matches(prefix+`\A(?:`+pattern+`)\z`))
		plain, quoted = plain[n:], quoted[n:]
	}
	return anyOf(out...)
}

// numberTexts returns the texts that a number can have here: an integer may have a decimal point.
func numberTexts(n *node) []string {
	f := n.number()
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return []string{text, text + ".0"}
	}
	if abs := math.Abs(f); abs >= 1e15 || abs < 1e-4 {
		n.refuse("a number of this size has several texts")
	}
	return []string{text}
}

// hasInAny is has for an attribute, or for an element of it if it may be a list. Lists and objects
// have no text.
func (a attribute) hasInAny(p part, text string) formula {
	if strings.Trim(text, "-+0123456789.eE") == "" || strings.Contains("true", text) || strings.Contains("false", text) || strings.Contains("null", text) {
		a.noteSame()
	}
	if len(text) > maxPiece/2 {
		a.src.refuse("has a value longer than %d bytes", maxPiece/2)
	}
	quotedPattern, quoted := regexp.QuoteMeta(text), string(wire.MustEncode(text))
	quoted = regexp.QuoteMeta(quoted[1 : len(quoted)-1])
	if p.before == "" {
		quotedPattern, quoted = `(?s:.*)`+quotedPattern, inText+quoted
	}
	if p.after == "" {
		quotedPattern, quoted = quotedPattern+`(?s:.*)`, quoted+inText
	}
	f := a.matches(`\A(?:` + quotedPattern + `)\z`)
	if a.textOnly {
		return f
	}
	f = allOf(not(a.container()), f)
	if a.lists {
		f = anyOf(f, a.matches(`\A`+inList(`"`+quoted+`"`)+`\z`))
	}
	return f
}

// container is true for lists and objects, whose text is JSON for our operators.
func (a attribute) container() formula { return a.matches(isContainer) }

// pattern is true if a regular expression in Go's syntax matches the text. src is its position.
func (a attribute) pattern(src *node, expr string) formula {
	if len(expr) > maxPiece {
		a.src.refuse("the regular expression is longer than %d bytes", maxPiece)
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		src.refuse("is not a regular expression in Go's syntax: SDKs of other languages may accept it")
	}
	if hasWordBoundary(parsed) {
		a.src.refuse(`the regular expression has \b or \B, which treat other letters as words here`)
	}
	f := a.matches(parsed.String()) // classes such as \d are spelled out, since they match more here
	if a.textOnly {
		return f
	}
	a.noteTyped("attribute %q: a number or boolean and its text are the same here, a list matches no regular expression")
	return allOf(not(a.container()), f)
}

func hasWordBoundary(r *syntax.Regexp) bool {
	return r.Op == syntax.OpWordBoundary || r.Op == syntax.OpNoWordBoundary || slices.ContainsFunc(r.Sub, hasWordBoundary)
}
