package sdktest

import (
	"regexp"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// disagreement is one rule by which an SDK with local evaluation differs from the server.
type disagreement struct {
	sdks    string // "go", "node" or both
	clause  string // of the specification; "not in §11" if its table has no row
	reason  string
	kind    kind
	applies func(pair) bool
}

// kind describes whether sdklint.Problems can detect a disagreement.
type kind uint8

const (
	// expectedDisagreement depends only on the definition, and sdklint lists the flag.
	expectedDisagreement kind = iota
	// data depends on the subject's properties.
	data
)

// disagreements is the table of disagreements. The first row that applies explains a difference; a
// row that explains none fails the test.
var disagreements = []disagreement{
	{"go node", "§11 Long distinct_id", "a distinct id of more than 200 bytes is not cut", data, func(at pair) bool {
		return len(at.Subject.DistinctID) > 200 && at.hashed()
	}},
	{"go node", "§11 Runtime/context filters", "the evaluation runtime is not looked at", expectedDisagreement, func(at pair) bool {
		return at.anyFlag(func(f *flags.Flag) bool { return f.Runtime == "client" })
	}},
	{"go node", "§11 Early access enrollment", "early access enrollment is ignored", expectedDisagreement, func(at pair) bool {
		return at.anyFlag(func(f *flags.Flag) bool { return f.Enrollment && at.has("$feature_enrollment/"+f.Key) })
	}},
	{"go", "§11 Holdout", "the holdout is ignored", expectedDisagreement, func(at pair) bool {
		return at.anyFlag(func(f *flags.Flag) bool { return f.Holdout != nil })
	}},
	{"go", "§8.4, not in §11", "the device id in person properties is not looked at", expectedDisagreement, func(at pair) bool {
		id, _ := at.Subject.Person["$device_id"].(string)
		return at.anyFlag(func(f *flags.Flag) bool { return f.DeviceBucketing }) && id != ""
	}},
	{"go", "§11 Device bucketing, no device id", "the distinct id is hashed instead", expectedDisagreement, func(at pair) bool {
		return at.anyFlag(func(f *flags.Flag) bool { return f.DeviceBucketing }) && at.Subject.DeviceID == nil
	}},

	{"go node", "§7, not in §11", "an empty group key is a group", data, func(at pair) bool {
		return at.grouped() && at.Subject.Groups["company"] == ""
	}},
	{"go node", "§11 $group_key", "a $group_key in the group's properties wins over groups", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool { return p.Key == "$group_key" }) && at.Subject.GroupProperties["company"]["$group_key"] != nil
	}},
	{"go node", "§4.1, not in §11", "a filter on another group's property is read from the condition's group", expectedDisagreement, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			return p.Type == flags.GroupProperty && p.GroupType != nil && at.Flag.Group != nil && *p.GroupType != *at.Flag.Group
		})
	}},
	{"go node", "§4.1 and §12.4 row 91, not in §11", "a cohort of a group flag is read from the group's properties", expectedDisagreement, func(at pair) bool {
		return at.Flag.Group != nil && at.anyProperty(func(p *flags.Property) bool { return p.Type == flags.CohortProperty })
	}},
	{"go", "§1.3 and §12.2 row 47, not in §11", "an explicit person condition in a group flag is decided for the group", expectedDisagreement, func(at pair) bool {
		return at.personCondition()
	}},
	{"node", "§1.3 and §12.2 row 47, not in §11", "an explicit person condition in a group flag is decided as one of the group", expectedDisagreement, func(at pair) bool {
		return at.personCondition()
	}},
	{"go node", "§4.1, not in §11", "a person filter in a group condition is read from the group's properties", expectedDisagreement, func(at pair) bool {
		return at.Flag.Group != nil && at.anyProperty(func(p *flags.Property) bool { return p.Type == flags.PersonProperty })
	}},

	{"go", "§11 Cohort operator", "not_in of a cohort is read as in", expectedDisagreement, func(at pair) bool {
		return at.cohortOperator(flags.NotIn)
	}},
	{"go node", "§11 Cohort operator", "exact of a cohort is read as in", expectedDisagreement, func(at pair) bool { return at.cohortOperator(flags.Exact) }},
	{"go node", "§5.1 and §12.4 row 83, not in §11", "the id of a cohort may be text", expectedDisagreement, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			_, text := p.Value.(string)
			return p.Type == flags.CohortProperty && text
		})
	}},
	{"go", "§11 Empty AND / OR group", "everybody is in a cohort without conditions", expectedDisagreement, func(at pair) bool {
		return at.anyCohort(func(c flags.Cohort) bool {
			return !c.Static && (c.Tree == nil || c.Tree.Any && len(c.Tree.Children) == 0)
		})
	}},
	{"go", "§11 Cohort leaf error", "a property that was not given ends an AND of a cohort", data, func(at pair) bool {
		return at.anyCohort(func(flags.Cohort) bool { return true }) && at.anyProperty(func(p *flags.Property) bool { return !at.has(p.Key) })
	}},

	{"go", "§4.4 and §12.3 row 79, not in §11", "a filter without value compares with null", expectedDisagreement, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool { return !p.HasValue && p.Operator == flags.IsNot })
	}},
	{"go", "§11 regex", "what RE2 refuses never matches, look-around for one", expectedDisagreement, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			_, err := regexp.Compile(asText(p.Value))
			return isRegex(p) && err != nil
		})
	}},
	{"go", "§11 regex", "\\d is ASCII in RE2, Unicode in Rust", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			return isRegex(p) && strings.Contains(asText(p.Value), `\d`) && !isASCII(at.text(p))
		})
	}},
	{"go node", "§11 Inconclusive condition", "a later condition decides when an earlier one lacks a property", data, func(at pair) bool {
		return len(at.Flag.Conditions) > 1 && at.anyProperty(func(p *flags.Property) bool { return !at.has(p.Key) })
	}},
	{"go", "§11 null property", "the text of null is <nil>", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool { x, ok := at.value(p); return isTextual(p) && ok && x == nil })
	}},
	{"go node", "§4.2, not in §11", "the text of an array or object is not JSON", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool { return isTextual(p) && isComposite(at.Subject.Person[p.Key]) })
	}},
	{"go", "§4.5, not in §11", "a hexadecimal float is a number", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool { return isOrder(p) && strings.HasPrefix(at.text(p), "0x") })
	}},

	{"go node", "§4.8, not in §11", "a wildcard without * is not a caret", expectedDisagreement, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			return p.Operator == flags.SemverWildcard && !strings.Contains(asText(p.Value), "*")
		})
	}},
	{"go node", "§11 Semver", "pre-release and build are ignored", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			return isSemver(p) && strings.ContainsAny(at.text(p)+asText(p.Value), "-+")
		})
	}},
	{"go node", "§11 Semver", "V, extra parts and blanks around a version are accepted", data, func(at pair) bool {
		text := func(p *flags.Property) string { return at.text(p) }
		return at.anyProperty(func(p *flags.Property) bool {
			return isSemver(p) && (strings.HasPrefix(text(p), "V") || strings.Count(text(p), ".") > 2 || strings.TrimSpace(text(p)) != text(p))
		})
	}},
	{"node", "§11 Flag dependency: wrong operator", "the operator of a dependency is not looked at", expectedDisagreement, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			return p.Type == flags.FlagProperty && p.Operator != flags.FlagEvaluatesTo
		})
	}},
	{"node", "§1.1 match_mode, not in §11", "one context is enough for a flag that wants all of its contexts", expectedDisagreement, func(at pair) bool {
		return at.anyFlag(func(f *flags.Flag) bool { return f.ContextsAll })
	}},
	{"node", "§8.4, not in §11", "a device id may be a number", data, func(at pair) bool {
		_, number := at.Subject.Person["$device_id"].(int64)
		return number && at.anyFlag(func(f *flags.Flag) bool { return f.DeviceBucketing })
	}},
	{"node", "§11 gt…lte", "what is no number is compared as text, or by the number that it begins with", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			x, ok := at.value(p)
			return isOrder(p) && ok && (!isNumber(x) || !isNumber(p.Value))
		})
	}},
	{"node", "§11 null property", "a null property is false for operators that posthog-node does not know", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			x, ok := at.value(p)
			return (p.Operator == flags.NotBetween || p.Operator == flags.NotIContainsMulti) && ok && x == nil
		})
	}},
	{"node", "§11 Dates", "numbers are epoch milliseconds, digits a year", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool { x, ok := at.value(p); return isDate(p) && ok && isNumber(x) })
	}},
	{"node", "§11 Dates", "a time without a zone is in that of the process", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			return isDate(p) && (localTime.MatchString(at.text(p)) || localTime.MatchString(asText(p.Value)))
		})
	}},
	{"node", "§11 Dates", "Date makes a date of many a text", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool { return isDate(p) && !isoDate.MatchString(at.text(p)) && at.text(p) != "" })
	}},
	{"go node", "§4.7 and §11 Dates", "a date without a zone is in UTC, not in the project's zone", expectedDisagreement, func(at pair) bool {
		return at.Project.Definitions.Timezone != "" && at.anyProperty(isDate)
	}},
	{"node", "§4.8, not in §11", "an empty part of a version is 0", data, func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool { return isSemver(p) && strings.Contains(at.text(p), "..") })
	}},
	{"go node", "§4, partly in §11", "the value of a filter is read otherwise", expectedDisagreement, func(at pair) bool { return at.Project.Name == "values" || at.Flag.Key == "semver_wildcard-3" }},
}

// payloads are the disagreements about payloads only.
var payloads = []disagreement{
	{"go node", "§3.4 and §11 Early access enrollment", "who has opted out gets no payload", expectedDisagreement, func(at pair) bool {
		return at.anyFlag(func(f *flags.Flag) bool {
			return f.Enrollment && at.Subject.Person["$feature_enrollment/"+f.Key] == false
		})
	}},
	{"node", "not in §11", "a payload that JavaScript takes for false is none", expectedDisagreement, func(at pair) bool {
		for _, raw := range at.Flag.Payloads {
			switch nodePayload(raw) {
			case "0", "false", `""`:
				return true
			}
		}
		return false
	}},
}

// explain returns the row for a difference, or nil if no row applies.
func explain(pr pair, mine, server answer) *disagreement {
	table := disagreements
	if mine.Value == server.Value {
		table = payloads
	}
	for i := range table {
		if strings.Contains(table[i].sdks, pr.SDK) && table[i].applies(pr) {
			return &table[i]
		}
	}
	return nil
}

// undecided are the reasons why an SDK leaves a flag to the server although it has all properties
// of the flag, and that are not visible in the definition.
var undecided = []struct {
	sdks, why string
	applies   func(pair) bool
}{
	{"go", "posthog-go compares numbers, and texts that are numbers", func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool { x, ok := at.value(p); return isOrder(p) && ok && !isNumber(x) })
	}},
	{"go node", "dates and versions are texts in a form that the SDK reads", func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			x, ok := at.value(p)
			return ok && (isDate(p) && !isoDate.MatchString(asText(x)) || isSemver(p) && !plainVersion.MatchString(asText(x)))
		})
	}},
	{"node", "a whole number may be 5 or 5.0", func(at pair) bool {
		if _, number := at.Subject.Groups["company"].(int64); number {
			return at.grouped()
		}
		return at.anyProperty(func(p *flags.Property) bool {
			x, ok := at.value(p)
			_, isInteger := x.(int64)
			return ok && isInteger && (p.Operator == flags.Exact || p.Operator == flags.IsNot || p.Operator == "")
		})
	}},
	{"node", "regular expressions are for ASCII", func(at pair) bool {
		return at.anyProperty(func(p *flags.Property) bool {
			return isRegex(p) && (!isASCII(at.text(p)) || strings.Contains(at.text(p), "\r"))
		})
	}},
}

// unseen are the problems that sdklint lists correctly although they occur for no subject.
var unseen = []struct {
	sdks, flags, why string // regular expressions
	reason           string
}{
	{"go", ".*", "^relative months and years", "only at the end of a month, see TestGo_LocalMonths"},
	{"go", "^strict ", "time zone", "only within hours of the date"},
	{"go node", "^main later-match-missing$", "^is_not_set", "another condition decides"},
	{"go", "^main cohort-not-or-empty$", "^not_in", "in, of a cohort with everybody in it, comes to the same"},
	{"node", "^values semver_[a-z]*-21$", "^a version", "only for versions beyond 64 bits"},
	{"go", "^main cohort-(not-)?whole-number$", "whole number", "an AND of a cohort ends without it"},
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 127 }) < 0
}

func isComposite(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

func asText(v any) string { s, _ := v.(string); return s }

func isRegex(p *flags.Property) bool {
	return p.Operator == flags.Regex || p.Operator == flags.NotRegex
}

func isOrder(p *flags.Property) bool {
	switch p.Operator {
	case flags.GreaterThan, flags.GreaterOrEqual, flags.LessThan, flags.LessOrEqual:
		return true
	}
	return false
}

func isDate(p *flags.Property) bool {
	return p.Operator == flags.IsDateBefore || p.Operator == flags.IsDateAfter
}

var (
	decimal      = regexp.MustCompile(`^[+-]?\d*\.?\d+([eE][+-]?\d+)?$`)
	isoDate      = regexp.MustCompile(`^\d{4}-\d\d-\d\d`)
	plainVersion = regexp.MustCompile(`^v?(0|[1-9]\d*)(\.(0|[1-9]\d*)){0,2}$`)
	localTime    = regexp.MustCompile(`^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?$`)
)

// isNumber reports whether v is a number, or text that is a number.
func isNumber(v any) bool {
	switch v := v.(type) {
	case int64, float64:
		return true
	case string:
		return decimal.MatchString(v)
	}
	return false
}

func isSemver(p *flags.Property) bool { return strings.HasPrefix(string(p.Operator), "semver_") }

// isTextual reports whether the operator compares strings, except exact.
func isTextual(p *flags.Property) bool {
	name := string(p.Operator)
	return isRegex(p) || strings.Contains(name, "contains") || strings.Contains(name, "_with")
}
