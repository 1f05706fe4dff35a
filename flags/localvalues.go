package flags

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/internal/dates"
	"github.com/bunting-flags/bunting/flags/internal/rustregexp"
)

// How SDKs read operators and the values of filters, beside the server (§11).

// family is 0 for cohorts and flags.
func (p *localFilter) family() operatorFamily {
	if p.Type == CohortProperty || p.Type == FlagProperty {
		return 0
	}
	if op := operators[p.op]; op != nil && op.name == p.op && op.sdks != 0 { // no SDK knows an alias
		return op.sdks
	}
	return unknownFamily
}

func family(f operatorFamily) localTest {
	return testFilter(func(_ *localCheck, p *localFilter) bool { return p.family() == f })
}

// reading is what an SDK makes of a filter's value.
type reading uint8

const (
	readsSame    reading = iota // what the server makes of it
	readsOther                  // something else
	readsNothing                // nothing
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

// testReading is a test of what an SDK makes of the values of operators.
func testReading(families operatorFamily, read func(*localFilter) reading, want reading) localTest {
	return testFilter(func(_ *localCheck, p *localFilter) bool { return p.family()&families != 0 && read(p) == want })
}

func (p *localFilter) text() string {
	text, _ := appendText(nil, p.Value)
	return string(text)
}

func isPlainASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// goUndecided: posthog-go says so, and does not end the flag there and then.
func goUndecided(p *localFilter) bool {
	switch p.family() {
	case unknownFamily:
		return true
	case presence:
		return p.op == IsNotSet
	case equality:
		return hasInteger(p.Value)
	case versions:
		return goVersion(p) == readsNothing
	}
	return false
}

// hasInteger: for an SDK that has decoded it, 5 and 5.0 are the same.
func hasInteger(v any) bool {
	switch v := v.(type) {
	case int64, uint64, decimalFloat:
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

// Texts of values: JSON on the server (§4.2), the language's own in an SDK.

func goText(p *localFilter) reading   { return decodedText(p.Value, p.Value == nil) }
func nodeText(p *localFilter) reading { return decodedText(p.Value, !p.hasValue()) }

// decodedText is for languages that decode every JSON number alike.
func decodedText(v any, null bool) reading {
	other := null
	switch v := v.(type) {
	case []any, map[string]any, uint64, decimalFloat: // 5.0 is 5 there
		other = true
	case int64:
		other = v > 1<<53 || v < -1<<53
	case float64: // exponents are written otherwise
		other = math.Abs(v) >= exactInt || math.Abs(v) < 1e-5 && v != 0 || v == 0 && math.Signbit(v)
	}
	return otherIf(other)
}

// pythonText: a list of exact and is_not is a list of texts.
func pythonText(p *localFilter) reading {
	if list, ok := p.Value.([]any); ok && p.family() == equality {
		return otherIf(slices.ContainsFunc(list, otherInPython))
	}
	return otherIf(otherInPython(p.Value))
}

func otherInPython(v any) bool {
	switch v := v.(type) {
	case nil, []any, map[string]any:
		return true
	case float64:
		return v != 0 && (math.Abs(v) < 1e-4 || math.Abs(v) >= 1e16)
	}
	return false
}

var plainNumber = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

func goNumber(p *localFilter) reading {
	text, isText := p.Value.(string)
	if !isText {
		_, ok := number(p.Value)
		return nothingIf(!ok)
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
		return readsNothing
	case !plainNumber.MatchString(text):
		return readsOther
	}
	return readsSame
}

func nodeNumber(p *localFilter) reading {
	text, isText := p.Value.(string)
	_, isNumber := number(p.Value)
	if isNumber && (!isText || plainNumber.MatchString(text)) {
		return readsSame
	}
	return readsOther
}

var (
	escaped     = regexp.MustCompile(`(?s)\\.`)
	asciiInRE2  = regexp.MustCompile(`^\\[dDwWsSbBQ0-7<>]$`)
	setsOfSets  = regexp.MustCompile(`\[[^\]]*(&&|--|~~|\[[^:])`)
	notInPython = regexp.MustCompile(`^\\[zGKhHRQ<>]$`)
	rustOnly    = regexp.MustCompile(`\\[pPux]\{|\\[pP]\w|\(\?<[^=!]|\(\?[a-z]*-?[a-z]*[RU]|.\(\?[a-z]+\)|\[\[:|&&`)
)

// goExpression: posthog-go matches with RE2, in Go's syntax. What both refuse
// matches nowhere.
func goExpression(p *localFilter) reading {
	pattern := p.text()
	_, goErr := regexp.Compile(pattern)
	_, err := rustregexp.Compile(pattern)
	switch {
	case goErr != nil && err == nil:
		return readsNothing
	case goErr == nil && (err != nil || hasEscape(pattern, asciiInRE2) || setsOfSets.MatchString(withoutEscapes(pattern))):
		return readsOther
	}
	return readsSame
}

func pythonExpression(p *localFilter) reading {
	pattern := p.text()
	if _, err := rustregexp.Compile(pattern); err == nil && (hasEscape(pattern, notInPython) || rustOnly.MatchString(pattern)) {
		return readsOther
	}
	return readsSame
}

func nodeExpression(p *localFilter) reading { return nothingIf(!portableExpression(p.text())) }

func hasEscape(pattern string, want *regexp.Regexp) bool {
	for _, e := range escaped.FindAllString(pattern, -1) {
		if want.MatchString(e) {
			return true
		}
	}
	return false
}

func withoutEscapes(pattern string) string { return escaped.ReplaceAllString(pattern, "x") }

// goDate: posthog-go reads texts in five layouts, and relative ones.
func goDate(p *localFilter) reading {
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

// notInDate is a number beyond all years, or one with a letter.
var notInDate = regexp.MustCompile(`^[+-]?(\d{7,}|\d+[a-z])$`)

// nodeDate: posthog-node reads relative texts, and what JavaScript's Date
// takes, which is more than the server does and partly something else.
func nodeDate(p *localFilter) reading {
	text, isText := p.Value.(string)
	if _, isNumber := number(p.Value); isNumber && !isText {
		return readsOther
	}
	if _, ok := dates.ParseStepBack(text); ok {
		return readsSame
	}
	if !strings.ContainsAny(text, "0123456789") || notInDate.MatchString(text) {
		return readsNothing
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if _, err := time.Parse(layout, strings.Replace(text, " ", "T", 1)); err == nil {
			return readsSame
		}
	}
	return readsOther
}

// monthsBack: a relative date of so many months or more. Above 1, years do not
// count.
func monthsBack(atLeast int) localTest {
	return testFilter(func(_ *localCheck, p *localFilter) bool {
		text, _ := p.Value.(string)
		back, ok := dates.ParseStepBack(text)
		return ok && p.family() == dating && (back.Unit == 'm' && back.Count >= atLeast || back.Unit == 'y' && atLeast == 1 && back.Count > 0)
	})
}

// Versions (§4.8). The plain ones mean the same everywhere.
var (
	plainVersion  = regexp.MustCompile(`^v?` + versionPart + `(\.` + versionPart + `){0,2}$`)
	plainWildcard = regexp.MustCompile(`^v?` + versionPart + `(\.` + versionPart + `)?\.\*$`)
	sdkVersion    = regexp.MustCompile(`^[vV]?` + versionPart + `(\.` + versionPart + `(\.` + versionPart + `(\.[^-+]*)?)?)?([-+].*)?$`)
	jsVersion     = regexp.MustCompile(`^[vV]?` + jsPart + `(\.` + jsPart + `?(\.` + jsPart + `?(\.[^-+]*)?)?)?([-+].*)?$`)
	goWildcard    = regexp.MustCompile(`^\.*` + versionPart + `(\.+` + versionPart + `(\.+` + versionPart + `(\..*)?)?)?\.*$`)
	jsWildcard    = regexp.MustCompile(`^` + jsPart + `(\.` + jsPart + `(\..*)?)?$`)
)

const (
	versionPart = `(0|[1-9]\d{0,17})`
	jsPart      = `(0|[1-9]\d*)`
)

func goVersion(p *localFilter) reading {
	if _, isText := p.Value.(string); !isText {
		return readsNothing
	}
	return pythonVersion(p)
}

// pythonVersion: §11 has posthog-go's rules for posthog-python.
func pythonVersion(p *localFilter) reading {
	if p.op == SemverWildcard {
		return readVersion(p, goWildcard, func(s string) string { return strings.ReplaceAll(s, "*", "") })
	}
	return readVersion(p, sdkVersion, nil)
}

func nodeVersion(p *localFilter) reading {
	if p.op == SemverWildcard {
		return readVersion(p, jsWildcard, func(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, ".*"), "*") })
	}
	return readVersion(p, jsVersion, nil)
}

// readVersion reads a version as an SDK does that takes what matches form, for a
// wildcard after change.
func readVersion(p *localFilter, form *regexp.Regexp, change func(string) string) reading {
	text, plain := p.text(), plainVersion
	read := strings.TrimSpace(text)
	if change != nil {
		plain = plainWildcard
		read = change(strings.TrimPrefix(strings.TrimPrefix(read, "v"), "V"))
	}
	switch {
	case plain.MatchString(text):
		return readsSame
	case !p.hasValue() || !form.MatchString(read):
		return readsNothing
	}
	return readsOther
}
