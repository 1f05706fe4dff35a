package sdklint

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/internal/dates"
	"github.com/bunting-flags/bunting/flags/internal/rustregexp"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// This file describes how SDKs read operators and values, compared with the server (§11).

// lazy returns a function that compiles an expression when it is first called: most programs that
// link this package need few of its expressions, or none.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// family returns the operator's family, 0 for requirements on cohorts and flags, and
// unknownFamily for an operator that SDKs do not support.
func (p *filter) family() family {
	if p.Type == flags.CohortProperty || p.Type == flags.FlagProperty {
		return 0
	}
	if f := families[p.op]; f != 0 {
		return f
	}
	return unknownFamily
}

// testFamily returns a test for operators of one family.
func testFamily(f family) test {
	return testFilter(func(_ *check, p *filter) bool { return p.family() == f })
}

// reading is the result of an SDK that reads a filter's value.
type reading uint8

const (
	readsSame    reading = iota // the same as the server's
	readsOther                  // a different value
	readsNothing                // the SDK cannot read the value
)

func nothingIf(b bool) reading {
	if b {
		return readsNothing
	}
	return readsSame
}

func otherIf(b bool) reading {
	if b {
		return readsOther
	}
	return readsSame
}

// testReading returns a test for operators of some families. It succeeds if read returns
// want.
func testReading(families family, read func(*filter) reading, want reading) test {
	return testFilter(func(_ *check, p *filter) bool { return p.family()&families != 0 && read(p) == want })
}

// text returns the text form of the value, empty if it has none.
func (p *filter) text() string {
	text, _ := values.Text(nil, p.Value)
	return string(text)
}

func isPlainASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// goUndecided reports whether posthog-go reports the requirement as undecidable, in which
// case it continues with the next requirement of a cohort.
func goUndecided(p *filter) bool {
	switch p.family() {
	case unknownFamily:
		return true
	case presence:
		return p.op == flags.IsNotSet
	case equality:
		return hasInteger(p.Value)
	case versions:
		return goVersion(p) == readsNothing
	}
	return false
}

// hasInteger reports whether a value is or contains a whole number. After decoding, SDKs
// cannot distinguish 5 from 5.0.
func hasInteger(v any) bool {
	switch v := v.(type) {
	case int64, uint64, values.Decimal:
		return true
	case float64:
		return v == math.Trunc(v)
	case []any:
		for i := range v {
			if hasInteger(v[i]) {
				return true
			}
		}
	case map[string]any:
		for k := range v {
			if hasInteger(v[k]) {
				return true
			}
		}
	}
	return false
}

// The functions below compare text forms of values: JSON on the server (§4.2), and in an SDK
// the form of its programming language.

func goText(p *filter) reading   { return decodedText(p.Value, p.Value == nil) }
func nodeText(p *filter) reading { return decodedText(p.Value, !p.hasValue()) }

// decodedText is for languages that decode all JSON numbers to one type.
func decodedText(v any, null bool) reading {
	other := null
	switch v := v.(type) {
	case []any, map[string]any, uint64, values.Decimal: // 5.0 becomes 5
		other = true
	case int64:
		other = v > 1<<53 || v < -1<<53
	case float64: // exponents are formatted differently
		other = math.Abs(v) >= values.ExactInt || math.Abs(v) < 1e-5 && v != 0 || v == 0 && math.Signbit(v)
	}
	return otherIf(other)
}

// pythonText compares text forms in Python. A list for exact and is_not is compared element
// by element.
func pythonText(p *filter) reading {
	if list, ok := p.Value.([]any); ok && p.family() == equality {
		return otherIf(slices.ContainsFunc(list, otherInPython))
	}
	return otherIf(otherInPython(p.Value))
}

// otherInPython reports whether the text form of a value in Python differs from the server's.
func otherInPython(v any) bool {
	switch v := v.(type) {
	case nil, []any, map[string]any:
		return true
	case float64:
		return v != 0 && (math.Abs(v) < 1e-4 || math.Abs(v) >= 1e16)
	}
	return false
}

// plainNumber matches the numbers that all SDKs and the server read alike.
var plainNumber = lazy(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

// goNumber compares strconv.ParseFloat with the server's parser: it also reads hexadecimal
// numbers, for example.
func goNumber(p *filter) reading {
	text, isText := p.Value.(string)
	if !isText {
		_, ok := values.Number(p.Value)
		return nothingIf(!ok)
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
		return readsNothing
	case !plainNumber().MatchString(text):
		return readsOther
	}
	return readsSame
}

// nodeNumber compares JavaScript's parsing of numbers, which falls back to text, with the
// server's.
func nodeNumber(p *filter) reading {
	text, isText := p.Value.(string)
	_, isNumber := values.Number(p.Value)
	if isNumber && (!isText || plainNumber().MatchString(text)) {
		return readsSame
	}
	return readsOther
}

// Escapes and constructs that other languages' regular expressions read differently from
// Rust's.
var (
	escaped     = lazy(`(?s)\\.`)
	asciiInRE2  = lazy(`^\\[dDwWsSbBQ0-7<>]$`)
	setsOfSets  = lazy(`\[[^\]]*(&&|--|~~|\[[^:])`)
	notInPython = lazy(`^\\[zGKhHRQ<>]$`)
	rustOnly    = lazy(`\\[pPux]\{|\\[pP]\w|\(\?<[^=!]|\(\?[a-z]*-?[a-z]*[RU]|.\(\?[a-z]+\)|\[\[:|&&`)
)

// goExpression compares RE2 in Go's syntax, which posthog-go uses, with the server. Patterns
// that are invalid in both never match in both.
func goExpression(p *filter) reading {
	pattern := p.text()
	_, goErr := regexp.Compile(pattern)
	_, err := rustregexp.Compile(pattern)
	switch {
	case goErr != nil && err == nil:
		return readsNothing
	case goErr == nil && (err != nil || hasEscape(pattern, asciiInRE2()) || setsOfSets().MatchString(withoutEscapes(pattern))):
		return readsOther
	}
	return readsSame
}

// pythonExpression finds patterns that Python rejects or reads differently from Rust.
func pythonExpression(p *filter) reading {
	pattern := p.text()
	if _, err := rustregexp.Compile(pattern); err == nil && (hasEscape(pattern, notInPython()) || rustOnly().MatchString(pattern)) {
		return readsOther
	}
	return readsSame
}

func nodeExpression(p *filter) reading { return nothingIf(!isPortableExpression(p.text())) }

// hasEscape reports whether some escape of the pattern matches a regular expression.
func hasEscape(pattern string, want *regexp.Regexp) bool {
	for _, e := range escaped().FindAllString(pattern, -1) {
		if want.MatchString(e) {
			return true
		}
	}
	return false
}

func withoutEscapes(pattern string) string { return escaped().ReplaceAllString(pattern, "x") }

// goDate checks whether posthog-go reads a date: a text in one of a few layouts, or a
// relative date.
func goDate(p *filter) reading {
	text, _ := p.Value.(string)
	if _, ok := dates.ParseStepBack(text); ok {
		return readsSame
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, time.DateTime, "2006-01-02T15:04:05"} {
		if _, err := time.Parse(layout, text); err == nil {
			return readsSame
		}
	}
	return readsNothing
}

// notInDate matches a number beyond all years, or a number with a letter.
var notInDate = lazy(`^[+-]?(\d{7,}|\d+[a-z])$`)

// nodeDate checks whether posthog-node reads a date: a relative date, or a text that
// JavaScript's Date accepts. Date accepts more than the server, and reads some texts
// differently.
func nodeDate(p *filter) reading {
	text, isText := p.Value.(string)
	if _, isNumber := values.Number(p.Value); isNumber && !isText {
		return readsOther
	}
	if _, ok := dates.ParseStepBack(text); ok {
		return readsSame
	}
	if !strings.ContainsAny(text, "0123456789") || notInDate().MatchString(text) {
		return readsNothing
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if _, err := time.Parse(layout, strings.Replace(text, " ", "T", 1)); err == nil {
			return readsSame
		}
	}
	return readsOther
}

// testMonthsBack returns a test for relative dates of at least that many months. Years count only
// if atLeast is 1.
func testMonthsBack(atLeast int) test {
	return testFilter(func(_ *check, p *filter) bool {
		text, _ := p.Value.(string)
		back, ok := dates.ParseStepBack(text)
		return ok && p.family() == dating && (back.Unit == 'm' && back.Count >= atLeast || back.Unit == 'y' && atLeast == 1 && back.Count > 0)
	})
}

// Forms of versions (§4.8). All SDKs read plain forms like the server.
var (
	plainVersion  = lazy(`^v?` + versionPart + `(\.` + versionPart + `){0,2}$`)
	plainWildcard = lazy(`^v?` + versionPart + `(\.` + versionPart + `)?\.\*$`)
	sdkVersion    = lazy(`^[vV]?` + versionPart + `(\.` + versionPart + `(\.` + versionPart + `(\.[^-+]*)?)?)?([-+].*)?$`)
	jsVersion     = lazy(`^[vV]?` + jsPart + `(\.` + jsPart + `?(\.` + jsPart + `?(\.[^-+]*)?)?)?([-+].*)?$`)
	goWildcard    = lazy(`^\.*` + versionPart + `(\.+` + versionPart + `(\.+` + versionPart + `(\..*)?)?)?\.*$`)
	jsWildcard    = lazy(`^` + jsPart + `(\.` + jsPart + `(\..*)?)?$`)
)

const (
	versionPart = `(0|[1-9]\d{0,17})`
	jsPart      = `(0|[1-9]\d*)`
)

// goVersion is pythonVersion, except that posthog-go reads strings only.
func goVersion(p *filter) reading {
	if _, isText := p.Value.(string); !isText {
		return readsNothing
	}
	return pythonVersion(p)
}

// pythonVersion uses posthog-go's rules, as §11 describes posthog-python.
func pythonVersion(p *filter) reading {
	if p.op == flags.SemverWildcard {
		return readVersion(p, goWildcard(), func(s string) string { return strings.ReplaceAll(s, "*", "") })
	}
	return readVersion(p, sdkVersion(), nil)
}

// nodeVersion checks whether posthog-node reads a version.
func nodeVersion(p *filter) reading {
	if p.op == flags.SemverWildcard {
		return readVersion(p, jsWildcard(), func(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, ".*"), "*") })
	}
	return readVersion(p, jsVersion(), nil)
}

// readVersion compares an SDK that accepts versions of the given form with the server. For
// wildcards, change is applied before the form is checked.
func readVersion(p *filter, form *regexp.Regexp, change func(string) string) reading {
	text, plain := p.text(), plainVersion
	read := strings.TrimSpace(text)
	if change != nil {
		plain = plainWildcard
		read = change(strings.TrimPrefix(strings.TrimPrefix(read, "v"), "V"))
	}
	switch {
	case plain().MatchString(text):
		return readsSame
	case !p.hasValue() || !form.MatchString(read):
		return readsNothing
	}
	return readsOther
}
