package insights

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// comparison is the operator and value of a filter, which mean what they do in flags
// (§3.2.3, decision 40).
type comparison struct {
	node     // of the filter
	operator string
	value    node
	settings flags.FilterSettings
	paths    []cleaning
}

// operatorAliases are names of operators that questions have beside those of flags.
var operatorAliases = map[string]flags.Operator{"in": flags.Exact, "not_in": flags.IsNot}

// cleanedPathExact is the one operator that flags do not have.
const cleanedPathExact = "is_cleaned_path_exact"

// comparison reads operator and value of a filter, and checks them.
func (n node) comparison(p *Project, s flags.FilterSettings) comparison {
	s.Zone, s.PropertyMatchingVersion = p.Location, p.PropertyMatchingVersion
	c := comparison{node: n, operator: n.get("operator").text(string(flags.Exact)), value: n.get("value"), settings: s, paths: parseCleanings(p.PathCleaning)}
	c.test()
	return c
}

// eventFilterSettings are the settings of a filter of what events say: there case counts, and numbers
// are compared by value.
func eventFilterSettings(key string) flags.FilterSettings {
	return flags.FilterSettings{Verbatim: true, Elements: flags.ComparesElements(key)}
}

// flagOperator is the operator as flags name it; false where they do not have it for
// properties.
func (c *comparison) flagOperator() (flags.OperatorInfo, bool) {
	name, other := operatorAliases[c.operator]
	if !other {
		name = flags.Operator(c.operator)
	}
	info, ok := name.Info()
	return info, ok && info.Only == ""
}

// isNegative says whether the operator has to hold of all values that a property has.
func (c *comparison) isNegative() bool {
	info, _ := c.flagOperator()
	return info.Negative
}

// test makes the condition of a property's JSON text, "" for one that is not there, nil
// where the filter is at fault.
func (c *comparison) test() func(raw string, now time.Time) bool {
	info, ok := c.flagOperator()
	if !ok && c.operator != cleanedPathExact {
		c.get("operator").fail(invalidChoice, "Operator %q is not supported for the property %s.", c.operator, c.property())
		return nil
	}
	if l, isList := c.value.value.([]any); isList && len(l) == 0 && (info.Name == flags.Exact || info.Name == flags.IsNot) {
		return func(string, time.Time) bool { return true }
	}
	if c.value.isAbsent() && info.Name != flags.IsSet && info.Name != flags.IsNotSet {
		c.value.fail(required, "Operator %q of the property %s needs a value.", c.operator, c.property())
		return nil
	}
	if !ok {
		holds := c.cleanedPath()
		return func(raw string, _ time.Time) bool { return holds(raw) }
	}
	f := c.filter(info.Name)
	if f == nil {
		return nil
	}
	return f.HoldsJSON
}

// filter is the comparison as flags make it, nil where it is at fault.
func (c *comparison) filter(operator flags.Operator) *flags.Filter {
	if operator == flags.Regex || operator == flags.NotRegex {
		for _, raw := range c.jsonTexts() {
			if text, _ := textOf(raw); len(text) > maxPattern {
				c.value.fail(tooLarge, "A regular expression of the property %s may have %d bytes.", c.property(), maxPattern)
				return nil
			}
		}
	}
	f, err := flags.NewFilter(flags.Property{Operator: operator, Value: c.value.value, HasValue: true}, c.settings)
	var fault *flags.DefinitionError
	if errors.As(err, &fault) {
		c.get(fault.Path).fail(invalidInput, "Operator %q of the property %s: %s.", c.operator, c.property(), fault.Problem)
		return nil
	}
	return f
}

func (c *comparison) property() string { return describe(c.get("key").value) }

// bindTest is the comparison's test for one run. A search for a regular expression that takes
// too long ends the run.
func (c *comparison) bindTest(r *run) func(raw string) bool {
	if info, ok := c.flagOperator(); ok && (info.Name == flags.Regex || info.Name == flags.NotRegex) {
		f := c.filter(info.Name)
		return func(raw string) bool {
			if r.fault != nil {
				return false
			}
			holds := f.HoldsJSON(raw, r.now)
			if f.TimedOut() {
				r.fault = newError(tooLarge, c.value.attr, "The regular expression of the property %s takes too long to look for.", c.property())
			}
			return holds
		}
	}
	test := c.test()
	return func(raw string) bool { return test(raw, r.now) }
}

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

// maxPattern bounds regular expressions, in bytes (§5.4).
const maxPattern = 1000

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

// evaluateAsFlag is a filter as flags evaluate it: with its answer for a subject.
func evaluateAsFlag(d flags.Definitions, p flags.Property) func(sub *flags.Subject, now time.Time) bool {
	const key = "insights"
	d.Flags = []flags.Flag{{ID: 1, Key: key, Active: true, Conditions: []flags.Condition{{Properties: []flags.Property{p}}}}}
	set := flags.Compile(d)
	var out flags.Decisions
	return func(sub *flags.Subject, now time.Time) bool {
		decision, ok := set.EvaluateFlag(key, sub, now, &out)
		return ok && decision.Enabled && decision.Undecided == nil
	}
}

// cleaning is one step of a project's path_cleaning_filters.
type cleaning struct {
	pattern *regexp.Regexp
	alias   string
}

// cleanedPath compares paths after both were cleaned.
func (c *comparison) cleanedPath() func(raw string) bool {
	texts := c.jsonTexts()
	if len(texts) != 1 {
		c.value.fail(invalidInput, "Operator %q of the property %s takes one value.", c.operator, describe(c.get("key").value))
		return nil
	}
	v, _ := textOf(texts[0])
	v = clean(c.paths, v)
	return func(raw string) bool {
		t, ok := textOf(raw)
		return ok && clean(c.paths, t) == v
	}
}

func clean(steps []cleaning, path string) string {
	for _, s := range steps {
		path = s.pattern.ReplaceAllString(path, s.alias)
	}
	return path
}

// parseCleanings reads a project's path_cleaning_filters; what cannot be compiled is
// left out.
func parseCleanings(list json.RawMessage) []cleaning {
	var rules []struct{ Alias, Regex string }
	if len(list) == 0 || json.Unmarshal(list, &rules) != nil {
		return nil
	}
	var out []cleaning
	for _, g := range rules {
		if p, err := regexp.Compile(g.Regex); err == nil {
			out = append(out, cleaning{p, strings.ReplaceAll(g.Alias, "$", "$$")})
		}
	}
	return out
}
