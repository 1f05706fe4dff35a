package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bunting-flags/bunting/flags"
)

// This file says what other systems ask of an attribute with our operators.
// Unless noted a missing attribute matches none of them.

// distinctID is the property that holds the id of a user (§8.1).
const distinctID = "distinct_id"

// propertyName is the property of an attribute's name. Those that the server fills
// in by itself would be there although nobody has sent them.
func propertyName(at *node, name string) string {
	switch {
	case name == "":
		at.refuse("needs the name of an attribute")
	case name == distinctID || strings.HasPrefix(name, "$initial_") || strings.HasPrefix(name, "$geoip_"):
		at.refuse("asks for the attribute %q, which the server fills in by itself here", name)
	}
	return name
}

// Values whose text is that of a JSON value are one with it for our operators.
func looksTyped(text string) bool {
	var v any
	if json.Unmarshal([]byte(strings.ToLower(text)), &v) != nil {
		return false
	}
	_, isText := v.(string)
	return !isText
}

// noteText notes that an attribute is compared by its text.
func (b *builder) noteText(at *node, key string) {
	b.note(at, fmt.Sprintf("the attribute %q is compared as text: answers differ where it is a number, a boolean, a list or an object", short(key)))
}

// noteNumber notes that texts count as the numbers that they are.
func (b *builder) noteNumber(at *node, key string) {
	b.note(at, fmt.Sprintf("answers differ where the attribute %q is a text that reads as a number, such as \"5\"", short(key)))
}

// noteBoolean notes that texts count as the booleans that they read as.
func (b *builder) noteBoolean(at *node, key string) {
	b.note(at, fmt.Sprintf("answers differ where the attribute %q is the text \"true\" or \"false\" instead of a boolean", short(key)))
}

// noteTyped notes it where texts and other values of the same text are one here.
func (b *builder) noteTyped(at *node, key string, texts ...string) {
	if slices.ContainsFunc(texts, looksTyped) {
		b.noteText(at, key)
	}
}

const longestPattern = 12 << 10 // the engine's limit is 16 KiB (flags: Bounds)

// pattern is a regular expression that is found in the text.
func pattern(key, expr string) formula { return person(key, flags.Regex, expr) }

// textIn is case-sensitive equality with any of the texts.
func textIn(key string, texts []string) formula {
	texts = slices.Compact(slices.Sorted(slices.Values(texts)))
	if len(texts) == 0 {
		return never
	}
	if !slices.ContainsFunc(texts, func(s string) bool { return strings.ContainsFunc(s, notCaseless) }) {
		return person(key, flags.Exact, listOf(texts))
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
		parts, texts = append(parts, pattern(key, "^"+expr+"$")), texts[n:]
	}
	return anyOf(parts...)
}

// notCaseless is false for what no letter has as its lower case.
func notCaseless(r rune) bool { return r >= 0x80 || unicode.IsLetter(r) }

func listOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

// textIs is equality of text regardless of case, both sides in lower case.
func textIs(key, text string) formula {
	if lower := strings.ToLower(text); lower == "true" || lower == "false" {
		return pattern(key, "^"+folded(text)+"$") // exact has another meaning for these (§4.6)
	}
	return person(key, flags.Exact, text)
}

// folded is a pattern for a text regardless of case: every letter with all that
// have the same lower case.
func folded(text string) string {
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

// part says where a text is sought in another.
type part struct {
	fold          flags.Operator // for ASCII, regardless of case
	before, after string         // for patterns
}

var (
	contains   = part{flags.IContains, "", ""}
	startsWith = part{flags.StartsWith, "^", ""}
	endsWith   = part{flags.EndsWith, "", "$"}
)

// exactly is the part of an attribute, with its case. Null has no parts.
func (p part) exactly(at *node, key, text string) formula {
	return p.unlessNull(key, text, p.bounded(at, key, regexp.QuoteMeta(text)))
}

// folding is the part regardless of case. Null has no parts.
func (p part) folding(at *node, key, text string) formula {
	f := person(key, p.fold, text)
	if strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }) {
		f = p.bounded(at, key, folded(text))
	}
	return p.unlessNull(key, strings.ToLower(text), f)
}

// unlessNull excludes null where its text has the part.
func (p part) unlessNull(key, text string, f formula) formula {
	if key == distinctID || !strings.Contains("null", text) {
		return f
	}
	return allOf(f, person(key, flags.IsNot, "null"))
}

func (p part) bounded(at *node, key, expr string) formula {
	if len(expr) > longestPattern {
		at.refuse("has a text that is too long for a pattern, more than %d bytes", longestPattern)
	}
	return pattern(key, p.before+expr+p.after)
}

// Of a number, or of a text that reads as one.

func equalTo(key string, n float64) formula {
	v := plainNumber(n)
	return person(key, flags.Between, []any{v, v})
}

func compared(key string, op flags.Operator, n float64) formula {
	return person(key, op, plainNumber(n))
}

// plainNumber is a number as a definition holds it.
func plainNumber(n float64) any {
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return int64(n)
	}
	return n
}

var (
	isBlank = `^\s*$`
	isYes   = `^true$`
	isNo    = `^false$`
)

// absent is an attribute that is missing or null.
func absent(key string) formula {
	return anyOf(person(key, flags.Exact, "null"), one(flags.Property{Key: key, Type: flags.PersonProperty, Operator: flags.IsNotSet}))
}

func isSet(key string) formula {
	return one(flags.Property{Key: key, Type: flags.PersonProperty, Operator: flags.IsSet})
}

// Versions of three numbers without leading zeros, as SemVer 2.0 has them.
const (
	versionNumber = `(?:0|[1-9][0-9]{0,14})`
	versionPre    = `(?:-(?:0|[1-9][0-9]{0,14}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]{0,14}|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?`
	versionBuild  = `(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`
	strictVersion = `^` + versionNumber + `\.` + versionNumber + `\.` + versionNumber + versionPre + versionBuild + `$`
)

var (
	strict       = regexp.MustCompile(strictVersion)
	anyNumber, _ = regexp.Compile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`)
)

// versionOps are comparisons of versions without regard to their build, which
// counts in ours.
var versionOps = map[string]func(key, v string) formula{
	"eq": func(key, v string) formula { return pattern(key, `^`+regexp.QuoteMeta(v)+`(?:\+.*)?$`) },
	"lt": func(key, v string) formula { return person(key, flags.SemverLess, v) },
	"ge": func(key, v string) formula { return person(key, flags.SemverGreaterEqual, v) },
	"le": func(key, v string) formula {
		return anyOf(person(key, flags.SemverLessEqual, v), pattern(key, `^`+regexp.QuoteMeta(v)+`\+`))
	},
	"gt": func(key, v string) formula {
		return allOf(person(key, flags.SemverGreater, v), person(key, flags.NotRegex, `^`+regexp.QuoteMeta(v)+`\+`))
	},
}

// compareVersion compares an attribute that is a strict version with one.
func compareVersion(at *node, key, op, v string) formula {
	if !strict.MatchString(v) || strings.Contains(v, "+") {
		at.refuse("compares with %q, which is not a version such as 1.2.3", short(v))
	}
	return allOf(pattern(key, strictVersion), versionOps[op](key, v))
}

func parseNumber(at *node, text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if !anyNumber.MatchString(text) || err != nil {
		at.refuse("compares with %q, which is not a number", short(text))
	}
	return f
}
