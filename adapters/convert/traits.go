package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// trait is what another system knows of a user, as a person property.
type trait struct {
	b   *builder
	at  *node // the rule that asks
	key string
	// lists: one of several values in a list is enough.
	lists bool
	// textOnly: it is never anything but text, so there is nothing to mistake.
	textOnly bool
}

// userKey is the user's own key: the distinct id.
func userKey(b *builder, at *node) trait {
	return trait{b: b, at: at, key: "distinct_id", textOnly: true}
}

// custom is an attribute of that name. Names to which our evaluation gives a
// meaning of its own are refused.
func custom(b *builder, at *node, key string) trait {
	if key == "distinct_id" || strings.HasPrefix(key, "$initial_") || strings.HasPrefix(key, "$geoip_") {
		at.refuse("the attribute %q has a meaning of its own here", short(key))
	}
	return trait{b: b, at: at, key: key, lists: true}
}

func (a trait) set() formula   { return person(a.key, flags.IsSet, "is_set") }
func (a trait) unset() formula { return not(a.set()) }

func (a trait) matches(pattern string) formula { return person(a.key, flags.Regex, pattern) }

// mistakes notes that only the text of the attribute is compared.
func (a trait) mistakes() {
	if !a.textOnly {
		a.b.note(a.at, fmt.Sprintf("attribute %q: a number or boolean and its text are the same here", short(a.key)))
	}
}

// maxValues bounds the values that one rule lists.
const maxValues = 10_000

// element is any element of a list of scalars, as compact JSON; inText is what
// stands between the quotes of a text. isContainer is a list or an object.
const (
	inText      = `(?:[^"\\]|\\.)*`
	scalarForm  = `-?[0-9][0-9.eE+-]*|true|false|null`
	element     = `(?:"` + inText + `"|` + scalarForm + `)`
	isContainer = `(?s)\A(?:\[(?:\]|(?:["\[{]|` + scalarForm + `).*\])|\{(?:\}|".*\}))\z`
)

// inList is a list of which one element matches.
func inList(pattern string) string {
	return `\[(?:` + element + `,)*(?:` + pattern + `)(?:,` + element + `)*\]`
}

// in holds when the attribute, or an element of it, is one of the scalars: of the
// same text in the same case. Null and other values are never equal.
func (a trait) in(values []*node, fold bool) formula {
	if len(values) > maxValues {
		a.at.refuse("lists more than %d values", maxValues)
	}
	var plain, quoted []string
	for _, v := range values {
		switch x := v.value.(type) {
		case string:
			if looksTyped(x) {
				a.mistakes()
			}
			plain = append(plain, regexp.QuoteMeta(x))
			quoted = append(quoted, regexp.QuoteMeta(string(encode(x))))
		case bool:
			a.mistakes()
			plain, quoted = append(plain, strconv.FormatBool(x)), append(quoted, strconv.FormatBool(x))
		case json.Number:
			a.mistakes()
			for _, text := range numberTexts(v) {
				plain, quoted = append(plain, regexp.QuoteMeta(text)), append(quoted, regexp.QuoteMeta(text))
			}
		}
	}
	if len(plain) == 0 {
		return never
	}
	return a.alternatives(plain, quoted, fold)
}

// maxPiece bounds a regular expression of a source, and those made here of a
// list, in bytes: the engine takes some 20,000 steps.
const maxPiece = 5_000

// alternatives is any of these patterns for the whole text, or any of the quoted
// ones for an element, in as many regular expressions as they need.
func (a trait) alternatives(plain, quoted []string, fold bool) formula {
	var out []formula
	for len(plain) > 0 {
		n, size := 0, 0
		for ; n < len(plain) && (n == 0 || size+len(plain[n])+len(quoted[n]) <= maxPiece); n++ {
			size += len(plain[n]) + len(quoted[n])
		}
		if size > 2*maxPiece {
			a.at.refuse("has a value longer than %d bytes", maxPiece)
		}
		pattern := strings.Join(plain[:n], "|")
		if a.lists {
			pattern += "|" + inList(strings.Join(quoted[:n], "|"))
		}
		prefix := ""
		if fold {
			prefix = "(?i)"
		}
		out = append(out, a.matches(prefix+`\A(?:`+pattern+`)\z`))
		plain, quoted = plain[n:], quoted[n:]
	}
	return anyOf(out...)
}

// numberTexts are the texts that a number can have here: a whole one has or has
// not a point.
func numberTexts(n *node) []string {
	f := n.number()
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		text := strconv.FormatFloat(f, 'f', -1, 64)
		return []string{text, text + ".0"}
	}
	if abs := math.Abs(f); abs >= 1e15 || abs < 1e-4 {
		n.refuse("a number of this size has several texts")
	}
	return []string{strconv.FormatFloat(f, 'f', -1, 64)}
}

// textMatch says where in a text a part must stand.
type textMatch uint8

const (
	anywhere textMatch = iota
	atStart
	atEnd
)

// part holds when a part stands in the text of the attribute, in the same case.
// Lists and objects have no text, elements of a list do.
func (a trait) part(where textMatch, part string) formula {
	if strings.Trim(part, "-+0123456789.eE") == "" || strings.Contains("true", part) || strings.Contains("false", part) || strings.Contains("null", part) {
		a.mistakes()
	}
	if len(part) > maxPiece/2 {
		a.at.refuse("has a value longer than %d bytes", maxPiece/2)
	}
	quoted := string(encode(part))
	quoted = regexp.QuoteMeta(quoted[1 : len(quoted)-1])
	text, element := regexp.QuoteMeta(part), ""
	switch where {
	case atStart:
		text, element = text+`(?s:.*)`, quoted+inText
	case atEnd:
		text, element = `(?s:.*)`+text, inText+quoted
	default:
		text, element = `(?s:.*)`+text+`(?s:.*)`, inText+quoted+inText
	}
	whole := a.matches(`\A(?:` + text + `)\z`)
	if a.textOnly {
		return whole
	}
	whole = allOf(not(a.container()), whole)
	if a.lists {
		whole = anyOf(whole, a.matches(`\A`+inList(`"`+element+`"`)+`\z`))
	}
	return whole
}

// container holds for lists and objects, which our operators see as JSON.
func (a trait) container() formula { return a.matches(isContainer) }

// pattern holds when a regular expression of Go's syntax matches the text. False
// when it is no such expression.
func (a trait) pattern(expr string) (formula, bool) {
	if len(expr) > maxPiece {
		a.at.refuse("the regular expression is longer than %d bytes", maxPiece)
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return never, false
	}
	if hasWordBoundary(parsed) {
		a.at.refuse(`the regular expression has \b or \B, which know other letters here`)
	}
	f := a.matches(parsed.String()) // classes such as \d are spelled out: they are larger here
	if a.textOnly {
		return f, true
	}
	a.b.note(a.at, fmt.Sprintf("attribute %q: a number or boolean and its text are the same here, a list matches no regular expression", short(a.key)))
	return allOf(not(a.container()), f), true
}

func hasWordBoundary(r *syntax.Regexp) bool {
	return r.Op == syntax.OpWordBoundary || r.Op == syntax.OpNoWordBoundary || slices.ContainsFunc(r.Sub, hasWordBoundary)
}

// number compares with a number.
func (a trait) number(op flags.Operator, than float64) formula {
	a.b.note(a.at, fmt.Sprintf("attribute %q: a text that is a number counts as one here, a list never does", short(a.key)))
	return compared(a.key, op, than)
}

// versionForm is a semantic version with or without its second and third number.
// Build data decides nothing.
var versionForm = regexp.MustCompile(`^(` + versionNumber + `)(?:\.(` + versionNumber + `))?(?:\.(` + versionNumber + `))?(` + versionPre + `)` + versionBuild + `$`)

// versions compare with a version: -1, 0 or 1. valid is the form that the
// attribute must have.
func (a trait) versions(sign int, than, valid string) formula {
	m := versionForm.FindStringSubmatch(than)
	if m == nil {
		a.at.refuse("%q is not a version of the form 1.2.3", short(than))
	}
	minor, patch := cmp.Or(m[2], "0"), cmp.Or(m[3], "0")
	core := m[1] + "." + minor + "." + patch
	equal := m[1] + `\.` + minor + `\.` + patch
	switch {
	case minor == "0" && patch == "0":
		equal = m[1] + `(?:\.0(?:\.0)?)?`
	case patch == "0":
		equal = m[1] + `\.` + minor + `(?:\.0)?`
	}
	if m[4] != "" {
		core += m[4]
		equal += regexp.QuoteMeta(m[4])
	}
	same := allOf(a.matches(valid), a.matches(`\Av?`+equal+`(?:\+[0-9A-Za-z.-]+)?\z`))
	switch {
	case sign == 0:
		return same
	case sign < 0:
		return allOf(a.matches(valid), person(a.key, flags.SemverLess, core), not(same))
	}
	return allOf(a.matches(valid), person(a.key, flags.SemverGreater, core), not(same))
}

// nameValues gives each value the name of its variant: its own text where that
// can be the key of one, else value-1 and so on. Equal values have one name.
func nameValues(values []*node) []*node {
	if len(values) > maxConditions {
		values[0].parent.refuse("has more than %d values", maxConditions)
	}
	texts, taken := map[string]*node{}, map[string]bool{}
	out := make([]*node, len(values))
	for i, v := range values {
		text := string(v.json())
		if same := texts[text]; same != nil {
			out[i] = same
			continue
		}
		name, isText := v.value.(string)
		if !isText {
			name = text
		}
		named := &node{value: v.value, parent: v.parent, name: name}
		if refused(func() { checkVariant(named) }) != nil || taken[name] {
			named.name = "value-" + strconv.Itoa(i+1)
			for n := 2; taken[named.name]; n++ {
				named.name = "value-" + strconv.Itoa(i+1) + "." + strconv.Itoa(n)
			}
		}
		taken[named.name], texts[text] = true, named
		out[i] = named
	}
	return out
}

// distinct are the values of several names, each once.
func distinct(names []*node) []*node {
	var out []*node
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
