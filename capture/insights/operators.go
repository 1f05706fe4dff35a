package insights

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/bunting-flags/bunting/flags"
)

// operator is a row of the table of §3.2.3.
type operator struct {
	names []string
	// missing is the answer for a property that is not there.
	missing bool
	// negated turns round what test says of one that is.
	negated bool
	// noValue: the filter's value is not looked at.
	noValue bool
	compile func(c *comparison) func(raw string) bool
}

// comparison is what an operator is compiled of.
type comparison struct {
	node     // of the filter
	operator string
	value    node
	calendar func() calendar // of the run
	now      func() time.Time
	paths    []cleaning
}

// maxPattern bounds regular expressions, in bytes (§5.4).
const maxPattern = 1000

// operators are all there are. Add one here: a row, and rows in operators_test.go.
var operators = []operator{
	{names: []string{"exact", "in"}, compile: equalTo},
	{names: []string{"is_not", "not_in"}, missing: true, negated: true, compile: equalTo},
	{names: []string{"icontains", "icontains_multi"}, compile: folded(strings.Contains)},
	{names: []string{"not_icontains", "not_icontains_multi"}, missing: true, negated: true, compile: folded(strings.Contains)},
	{names: []string{"starts_with"}, compile: folded(strings.HasPrefix)},
	{names: []string{"not_starts_with"}, missing: true, negated: true, compile: folded(strings.HasPrefix)},
	{names: []string{"ends_with"}, compile: folded(strings.HasSuffix)},
	{names: []string{"not_ends_with"}, missing: true, negated: true, compile: folded(strings.HasSuffix)},
	{names: []string{"regex"}, compile: matching},
	{names: []string{"not_regex"}, missing: true, negated: true, compile: matching},
	{names: []string{"gt"}, compile: ordered(func(x, v float64) bool { return x > v })},
	{names: []string{"gte", "min"}, compile: ordered(func(x, v float64) bool { return x >= v })},
	{names: []string{"lt"}, compile: ordered(func(x, v float64) bool { return x < v })},
	{names: []string{"lte", "max"}, compile: ordered(func(x, v float64) bool { return x <= v })},
	{names: []string{"between"}, compile: between(true)},
	{names: []string{"not_between"}, compile: between(false)},
	{names: []string{"is_set"}, noValue: true, compile: always},
	{names: []string{"is_not_set"}, missing: true, negated: true, noValue: true, compile: always},
	{names: []string{"is_date_exact"}, compile: dated(func(x, v time.Time) bool { return x.Equal(v) })},
	{names: []string{"is_date_before"}, compile: dated(time.Time.Before)},
	{names: []string{"is_date_after"}, compile: dated(time.Time.After)},
	{names: []string{"is_cleaned_path_exact"}, compile: cleanedPath},
	{names: []string{"semver_eq", "semver_neq", "semver_gt", "semver_gte", "semver_lt", "semver_lte", "semver_tilde", "semver_caret", "semver_wildcard"}, compile: version},
}

// test makes the condition of an operator on a property's JSON text.
func (c *comparison) test() func(raw string) bool {
	i := slices.IndexFunc(operators, func(o operator) bool { return slices.Contains(o.names, c.operator) })
	if i < 0 {
		c.get("operator").fail(invalidChoice, "Operator %q is not supported for the property %s.", c.operator, describe(c.get("key").value))
		return nil
	}
	o := operators[i]
	if l, ok := c.value.value.([]any); ok && len(l) == 0 && slices.Contains([]string{"exact", "in", "is_not", "not_in"}, c.operator) {
		return always(c)
	}
	if c.value.absent() && !o.noValue {
		c.value.fail(required, "Operator %q of the property %s needs a value.", c.operator, describe(c.get("key").value))
		return nil
	}
	hold := o.compile(c)
	if c.failed() {
		return nil
	}
	return func(raw string) bool {
		if missing(raw) {
			return o.missing
		}
		return hold(raw) != o.negated
	}
}

func always(*comparison) func(string) bool { return func(string) bool { return true } }

// jsonTexts are the filter's value, or those of a list, as JSON texts; null among
// them is left out.
func (c *comparison) jsonTexts() []string {
	list, ok := c.value.value.([]any)
	if !ok {
		list = []any{c.value.value}
	}
	var out []string
	for _, v := range list {
		if v != nil {
			out = append(out, string(node{value: v}.raw()))
		}
	}
	return out
}

func equalTo(c *comparison) func(string) bool {
	texts := map[string]bool{}
	var numbers []float64 // of JSON numbers
	var written []float64 // of texts that are numbers
	for _, raw := range c.jsonTexts() {
		t, _ := textOf(raw)
		texts[t] = true
		if f, ok := numberOf(raw); ok && isNumber(raw) {
			numbers = append(numbers, f)
		} else if ok {
			written = append(written, f)
		}
	}
	return func(raw string) bool {
		if t, _ := textOf(raw); texts[t] {
			return true
		}
		if len(numbers)+len(written) == 0 {
			return false
		}
		f, ok := numberOf(raw)
		return ok && (slices.Contains(numbers, f) || isNumber(raw) && slices.Contains(written, f))
	}
}

// folded compares ignoring case.
func folded(holds func(s, part string) bool) func(c *comparison) func(string) bool {
	return func(c *comparison) func(string) bool {
		var parts []string
		for _, raw := range c.jsonTexts() {
			t, _ := textOf(raw)
			parts = append(parts, fold(t))
		}
		return func(raw string) bool {
			t, _ := textOf(raw)
			t = fold(t)
			return slices.ContainsFunc(parts, func(part string) bool { return holds(t, part) })
		}
	}
}

func matching(c *comparison) func(string) bool {
	var patterns []*regexp.Regexp
	for _, raw := range c.jsonTexts() {
		t, _ := textOf(raw)
		patterns = append(patterns, c.value.pattern(t))
	}
	return func(raw string) bool {
		t, _ := textOf(raw)
		return slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(t) })
	}
}

// pattern compiles a regular expression in which a point matches line breaks too.
func (n node) pattern(text string) *regexp.Regexp {
	if len(text) > maxPattern {
		n.fail(tooLarge, "A regular expression may have %d bytes.", maxPattern)
		return nil
	}
	p, err := regexp.Compile("(?s)" + text)
	if err != nil {
		n.fail(invalidInput, "%s is no regular expression (RE2): %v.", describe(text), err)
	}
	return p
}

// single is the one value of an operator that takes one: of a list the only
// element.
func (c *comparison) single() string {
	texts := c.jsonTexts()
	if len(texts) != 1 {
		c.value.fail(invalidInput, "Operator %q of the property %s takes one value.", c.operator, describe(c.get("key").value))
		return ""
	}
	return texts[0]
}

func ordered(holds func(x, v float64) bool) func(c *comparison) func(string) bool {
	return func(c *comparison) func(string) bool {
		v, ok := numberOf(c.single())
		return func(raw string) bool {
			x, is := numberOf(raw)
			return ok && is && holds(x, v)
		}
	}
}

func between(inside bool) func(c *comparison) func(string) bool {
	return func(c *comparison) func(string) bool {
		var bounds []float64
		for _, raw := range c.jsonTexts() {
			if f, ok := numberOf(raw); ok {
				bounds = append(bounds, f)
			}
		}
		if len(bounds) != 2 || bounds[0] > bounds[1] {
			c.value.fail(invalidInput, "Operator %q of the property %s takes a list of two numbers, the lower one first.", c.operator, describe(c.get("key").value))
			return nil
		}
		return func(raw string) bool {
			x, ok := numberOf(raw)
			return ok && (bounds[0] <= x && x <= bounds[1]) == inside
		}
	}
}

func dated(holds func(x, v time.Time) bool) func(c *comparison) func(string) bool {
	return func(c *comparison) func(string) bool {
		text, _ := textOf(c.single())
		d, ok := parseDate(text, false)
		if !ok {
			c.value.fail(invalidInput, "%s is no date: want one such as 2026-01-31, 2026-01-31T10:00:00Z or -7d.", describe(text))
			return nil
		}
		return func(raw string) bool {
			x, ok := c.instant(raw)
			return ok && holds(x, c.calendar().resolve(d, c.now()))
		}
	}
}

// instant reads a property as a date: a text, without an offset of the project's
// zone, or seconds since 1970.
func (c *comparison) instant(raw string) (time.Time, bool) {
	if isNumber(raw) {
		f, ok := numberOf(raw)
		if !ok || f < -1e11 || f > 1e11 {
			return time.Time{}, false
		}
		return time.UnixMicro(int64(f * 1e6)), true
	}
	text, _ := textOf(raw)
	d, ok := parseAbsolute(text)
	if !ok {
		return time.Time{}, false
	}
	return c.calendar().resolve(d, time.Time{}), true
}

// version compares versions as flags do (flags.md §4.8).
func version(c *comparison) func(string) bool {
	v, _ := textOf(c.single())
	holds := asFlag(flags.Definitions{}, flags.Property{Key: "x", Type: flags.PersonProperty, Operator: flags.Operator(c.operator), Value: v, HasValue: true})
	sub := &flags.Subject{DistinctID: "x", Person: flags.Properties{}}
	return func(raw string) bool {
		sub.Person["x"], _ = textOf(raw)
		return holds(sub, time.Time{})
	}
}

// asFlag is a filter as flags evaluate it: with its answer for a subject.
func asFlag(d flags.Definitions, p flags.Property) func(sub *flags.Subject, at time.Time) bool {
	const key = "insights"
	d.Flags = []flags.Flag{{ID: 1, Key: key, Active: true, Conditions: []flags.Condition{{Properties: []flags.Property{p}}}}}
	set := flags.Compile(d)
	var out flags.Decisions
	return func(sub *flags.Subject, at time.Time) bool {
		decision, ok := set.EvaluateFlag(key, sub, at, &out)
		return ok && decision.Enabled && decision.Undecided == nil
	}
}

// cleaning is one step of a project's path_cleaning_filters.
type cleaning struct {
	pattern *regexp.Regexp
	alias   string
}

func cleanedPath(c *comparison) func(string) bool {
	v, _ := textOf(c.single())
	v = clean(c.paths, v)
	return func(raw string) bool {
		t, _ := textOf(raw)
		return clean(c.paths, t) == v
	}
}

func clean(steps []cleaning, path string) string {
	for _, s := range steps {
		path = s.pattern.ReplaceAllString(path, s.alias)
	}
	return path
}

// cleanings reads a project's path_cleaning_filters; what cannot be compiled is
// left out.
func cleanings(list json.RawMessage) []cleaning {
	var given []struct{ Alias, Regex string }
	if len(list) == 0 || json.Unmarshal(list, &given) != nil {
		return nil
	}
	var out []cleaning
	for _, g := range given {
		if p, err := regexp.Compile(g.Regex); err == nil {
			out = append(out, cleaning{p, strings.ReplaceAll(g.Alias, "$", "$$")})
		}
	}
	return out
}

// fold is a text for comparing without case: Unicode's simple folding.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return strings.Map(foldRune, s)
		}
	}
	return strings.ToLower(s)
}

// foldRune is the least of the runes that are the same but for case, ASCII letters
// in lower case.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if least >= 'A' && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
