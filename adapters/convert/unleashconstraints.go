package convert

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// constraint is one requirement of a strategy or a segment.
func (u *unleash) constraint(c *node) formula {
	c.object()
	c.onlyMembers("contextName", "operator", "values", "value", "inverted", "caseInsensitive")
	name := c.at("contextName").text()
	op := c.at("operator").text()
	read, ok := unleashOperators[op]
	if !ok {
		c.at("operator").refuse("%s cannot be said here", short(op))
	}
	f := read(u, c, u.field(c.at("contextName"), name), op)
	if c.at("inverted").boolOr(false) {
		return not(f)
	}
	return f
}

var unleashOperators = map[string]func(u *unleash, c *node, key, op string) formula{
	"IN": (*unleash).constraintIn, "NOT_IN": (*unleash).constraintIn,
	"STR_CONTAINS": (*unleash).constraintText, "STR_STARTS_WITH": (*unleash).constraintText, "STR_ENDS_WITH": (*unleash).constraintText,
	"NUM_EQ": (*unleash).constraintNumber, "NUM_GT": (*unleash).constraintNumber, "NUM_GTE": (*unleash).constraintNumber,
	"NUM_LT": (*unleash).constraintNumber, "NUM_LTE": (*unleash).constraintNumber,
	"SEMVER_EQ": (*unleash).constraintVersion, "SEMVER_GT": (*unleash).constraintVersion, "SEMVER_LT": (*unleash).constraintVersion,
	"SEMVER_GTE": (*unleash).constraintVersion, "SEMVER_LTE": (*unleash).constraintVersion,
	"REGEX": (*unleash).constraintPattern,
	"DATE_AFTER": func(_ *unleash, c *node, _, _ string) formula {
		c.refuse("asks for the time of the request, which definitions here do not")
		return never
	},
	"DATE_BEFORE": func(_ *unleash, c *node, _, _ string) formula {
		c.refuse("asks for the time of the request, which definitions here do not")
		return never
	},
}

// cleanValues are the values without blanks around them, and without empty ones.
func cleanValues(c *node) []string {
	var out []string
	for _, v := range c.at("values").texts() {
		if v != "" {
			out = append(out, strings.TrimSpace(v))
		}
	}
	return out
}

func (u *unleash) constraintIn(c *node, key, op string) formula {
	f := textIn(key, cleanValues(c))
	if op == "NOT_IN" {
		return not(f)
	}
	return f
}

var unleashParts = map[string]part{"STR_CONTAINS": contains, "STR_STARTS_WITH": startsWith, "STR_ENDS_WITH": endsWith}

func (u *unleash) constraintText(c *node, key, op string) formula {
	fold := c.at("caseInsensitive").boolOr(false)
	var of []formula
	for _, v := range cleanValues(c) {
		if fold {
			of = append(of, unleashParts[op].folding(c, key, v))
		} else {
			of = append(of, unleashParts[op].exactly(c, key, v))
		}
	}
	return anyOf(of...)
}

// valueText is the value of a constraint, text or number.
func valueText(c *node) string {
	if num, ok := c.at("value").value.(json.Number); ok {
		return string(num)
	}
	return c.at("value").text()
}

var unleashOrders = map[string]string{"NUM_GT": ">", "NUM_GTE": ">=", "NUM_LT": "<", "NUM_LTE": "<="}

// constraintNumber compares as JavaScript does, where a blank text is 0.
func (u *unleash) constraintNumber(c *node, key, op string) formula {
	n := parseNumber(c.at("value"), valueText(c))
	if op == "NUM_EQ" {
		if n == 0 {
			return anyOf(equalTo(key, 0), pattern(key, isBlank))
		}
		return equalTo(key, n)
	}
	order := numberOrders[unleashOrders[op]]
	f := compared(key, order.op, n)
	if order.holds(0, n) || order.orSame && n == 0 {
		return anyOf(f, pattern(key, isBlank))
	}
	return f
}

var unleashVersions = map[string]string{"SEMVER_EQ": "eq", "SEMVER_GT": "gt", "SEMVER_GTE": "ge", "SEMVER_LT": "lt", "SEMVER_LTE": "le"}

func (u *unleash) constraintVersion(c *node, key, op string) formula {
	return compareVersion(c.at("value"), key, unleashVersions[op], valueText(c))
}

// constraintPattern is a regular expression in RE2's syntax. Go's parser, which
// has the same, writes it out in what Rust's syntax has too.
func (u *unleash) constraintPattern(c *node, key, _ string) formula {
	at := c.at("value")
	mode := syntax.Perl
	if c.at("caseInsensitive").boolOr(false) {
		mode |= syntax.FoldCase
	}
	tree, err := syntax.Parse(valueText(c), mode)
	if err != nil {
		at.refuse("is a pattern that cannot be read: %s", short(err.Error()))
	}
	if asksForWords(tree) {
		at.refuse("is a pattern with \\b or \\B, which know other letters here")
	}
	expr := tree.String()
	if len(expr) > longestPattern {
		at.refuse("is a pattern that is too long, more than %d bytes", longestPattern)
	}
	f := person(key, flags.Regex, expr)
	if compiled, err := regexp.Compile(expr); key == distinctID || err == nil && !compiled.MatchString("null") {
		return f
	}
	return allOf(f, person(key, flags.IsNot, "null"))
}

func asksForWords(re *syntax.Regexp) bool {
	if re.Op == syntax.OpWordBoundary || re.Op == syntax.OpNoWordBoundary {
		return true
	}
	for _, sub := range re.Sub {
		if asksForWords(sub) {
			return true
		}
	}
	return false
}
