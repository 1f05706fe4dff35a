package filter

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/boundedre"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
)

// comparison is the operator and value of a filter. Operators have the same meaning as in feature
// flags (§3.2.3, decision 40).
type comparison struct {
	// node is the filter.
	document.Node
	operator string
	value    document.Node
	// settings are those with which flags compare; paths are the path cleaning rules of the
	// project.
	settings flags.FilterSettings
	paths    []cleaning
}

// operatorAliases are the names of operators that queries have in addition to those of flags.
var operatorAliases = map[string]flags.Operator{"in": flags.Exact, "not_in": flags.IsNot}

// cleanedPathExact is the only operator that flags do not have.
const cleanedPathExact = "is_cleaned_path_exact"

// readComparison parses and validates the operator and value of a filter.
func readComparison(n document.Node, p *port.Project, s flags.FilterSettings) comparison {
	s.Zone, s.PropertyMatchingVersion = p.Location, p.PropertyMatchingVersion
	c := comparison{Node: n, operator: n.Get("operator").Text(string(flags.Exact)), value: n.Get("value"), settings: s, paths: parseCleanings(p.PathCleaning)}
	// Building the test records the faults of the filter.
	c.test()
	return c
}

// eventFilterSettings returns the settings of filters on values of events: they are case-sensitive,
// and numbers are compared by value.
func eventFilterSettings(key string) flags.FilterSettings {
	return flags.FilterSettings{Verbatim: true, Elements: flags.ComparesElements(key)}
}

// flagOperator returns the operator of flags, and false if flags do not have it for properties.
func (c *comparison) flagOperator() (flags.OperatorInfo, bool) {
	name, other := operatorAliases[c.operator]
	if !other {
		name = flags.Operator(c.operator)
	}
	info, ok := name.Info()
	return info, ok && info.Only == ""
}

// isNegative reports whether the operator is a negation, which must be true for all values that a
// property has.
func (c *comparison) isNegative() bool {
	info, _ := c.flagOperator()
	return info.Negative
}

// test returns a function that reports whether a property satisfies the comparison. raw is the
// property as JSON text, "" if it is absent. test returns nil if the filter has a fault.
func (c *comparison) test() func(raw string, now time.Time) bool {
	info, ok := c.flagOperator()
	if !ok && c.operator != cleanedPathExact {
		c.Get("operator").Fail(document.InvalidChoice, "Operator %q is not supported for the property %s.", c.operator, c.property())
		return nil
	}
	// An empty list of values does not restrict the result.
	if l, isList := c.value.Value.([]any); isList && len(l) == 0 && (info.Name == flags.Exact || info.Name == flags.IsNot) {
		return func(string, time.Time) bool { return true }
	}
	if c.value.IsAbsent() && info.Name != flags.IsSet && info.Name != flags.IsNotSet {
		c.value.Fail(document.Required, "Operator %q of the property %s needs a value.", c.operator, c.property())
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

// filter returns the comparison as a filter of flags, nil if it has a fault.
func (c *comparison) filter(operator flags.Operator) *flags.Filter {
	if operator == flags.Regex || operator == flags.NotRegex {
		for _, raw := range c.jsonTexts() {
			if text, _ := scan.Text(raw); len(text) > maxPattern {
				c.value.Fail(document.TooLarge, "A regular expression of the property %s may have at most %d bytes.", c.property(), maxPattern)
				return nil
			}
		}
	}
	f, err := flags.NewFilter(flags.Property{Operator: operator, Value: c.value.Value, HasValue: true}, c.settings)
	var fault *flags.DefinitionError
	if errors.As(err, &fault) {
		c.Get(fault.Path).Fail(document.InvalidInput, "Operator %q of the property %s: %s.", c.operator, c.property(), fault.Problem)
		return nil
	}
	return f
}

// property describes the key of the filter in error messages.
func (c *comparison) property() string { return document.Describe(c.Get("key").Value) }

// bindTest returns the test for one run. If matching a regular expression takes too long, the run
// fails.
func (c *comparison) bindTest(r *scan.Run) func(raw string) bool {
	if info, ok := c.flagOperator(); ok && (info.Name == flags.Regex || info.Name == flags.NotRegex) {
		f := c.filter(info.Name)
		return func(raw string) bool {
			// After the timeout, do not try the other events of the batch.
			if r.Fault != nil {
				return false
			}
			holds := f.HoldsJSON(raw, r.Now)
			if f.TimedOut() {
				r.Fault = document.NewFault(document.TooLarge, c.value.Attr, "The regular expression of the property %s takes too long to evaluate.", c.property())
			}
			return holds
		}
	}
	if info, ok := c.flagOperator(); ok && info.Operand == flags.DateOperand {
		r.Volatile = true // the date may be relative to now
	}
	test := c.test()
	return func(raw string) bool { return test(raw, r.Now) }
}

// jsonTexts returns the values of the filter as JSON text: the elements of a list, or the single
// value. Null is left out.
func (c *comparison) jsonTexts() []string {
	list, ok := c.value.Value.([]any)
	if !ok {
		list = []any{c.value.Value}
	}
	var out []string
	for _, v := range list {
		if v != nil {
			out = append(out, string(document.Node{Value: v}.Raw()))
		}
	}
	return out
}

// maxPattern is the maximum length of a regular expression in bytes (§5.4).
const maxPattern = 1000

// readPattern compiles a regular expression in which a dot also matches line breaks. It returns nil
// after a fault.
func readPattern(n document.Node, text string) *boundedre.Pattern {
	if len(text) > maxPattern {
		n.Fail(document.TooLarge, "A regular expression may have at most %d bytes.", maxPattern)
		return nil
	}
	p, err := boundedre.Compile("(?s)" + text)
	if err != nil {
		n.Fail(document.InvalidInput, "%s is not a valid regular expression (RE2): %v.", document.Describe(text), err)
	}
	return p
}

// evaluateAsFlag returns a function that evaluates a property filter like a flag with this single
// condition. It exists to have exactly the semantics of flags; the function reuses its state and
// must not be called concurrently.
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

// cleaning is one rule of a project's path_cleaning_filters: it replaces matches of pattern by
// alias.
type cleaning struct {
	pattern *boundedre.Pattern
	alias   string
}

// cleanedPath returns the test of the operator is_cleaned_path_exact: the property and the value
// are equal after both are cleaned.
func (c *comparison) cleanedPath() func(raw string) bool {
	texts := c.jsonTexts()
	if len(texts) != 1 {
		c.value.Fail(document.InvalidInput, "Operator %q of the property %s takes one value.", c.operator, document.Describe(c.Get("key").Value))
		return nil
	}
	v, _ := scan.Text(texts[0])
	v = clean(c.paths, v)
	return func(raw string) bool {
		t, ok := scan.Text(raw)
		return ok && clean(c.paths, t) == v
	}
}

// maxCleanedPath is the maximum length of a path that is cleaned, in bytes. Longer ones stay as
// they are: the work of a replacement can grow with the square of the length.
const maxCleanedPath = 8 << 10

// clean applies the rules to a path, one after the other.
func clean(steps []cleaning, path string) string {
	for _, s := range steps {
		if len(path) <= maxCleanedPath && s.pattern.Fits(path) {
			path = s.pattern.ReplaceAllString(path, s.alias)
		}
	}
	return path
}

// parseCleanings parses a project's path_cleaning_filters. Rules that cannot be compiled are
// skipped.
func parseCleanings(list json.RawMessage) []cleaning {
	var rules []struct{ Alias, Regex string }
	if len(list) == 0 || json.Unmarshal(list, &rules) != nil {
		return nil
	}
	var out []cleaning
	for _, g := range rules {
		if p, err := boundedre.Compile(g.Regex); err == nil {
			// A dollar sign is literal in an alias.
			out = append(out, cleaning{p, strings.ReplaceAll(g.Alias, "$", "$$")})
		}
	}
	return out
}
