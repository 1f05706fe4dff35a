package convert

import (
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// ldOperators are the operators of a clause, which is true if any of its values matches. Values of
// a wrong type never match.
var ldOperators = map[string]func(a attribute, values []*node) formula{
	"in":                 func(a attribute, values []*node) formula { return a.in(values, false) },
	"contains":           ldPart(contains),
	"startsWith":         ldPart(startsWith),
	"endsWith":           ldPart(endsWith),
	"matches":            ldTest(attribute.pattern),
	"lessThan":           ldNumber("lt"),
	"lessThanOrEqual":    ldNumber("le"),
	"greaterThan":        ldNumber("gt"),
	"greaterThanOrEqual": ldNumber("ge"),
	"before":             ldDate(flags.IsDateBefore, "lt"),
	"after":              ldDate(flags.IsDateAfter, "ge"),
	"semVerEqual":        ldVersion("eq"),
	"semVerLessThan":     ldVersion("lt"),
	"semVerGreaterThan":  ldVersion("gt"),
}

// ldTest applies test to each value that has the type T.
func ldTest[T any](test func(a attribute, at *node, value T) formula) func(attribute, []*node) formula {
	return func(a attribute, values []*node) formula {
		return anyOf(mapFormulas(values, func(v *node) formula {
			if value, ok := v.value.(T); ok {
				return test(a, v, value)
			}
			return never
		})...)
	}
}

func ldPart(p part) func(attribute, []*node) formula {
	return ldTest(func(a attribute, _ *node, text string) formula { return a.hasInAny(p, text) })
}

func ldNumber(op string) func(attribute, []*node) formula {
	return ldTest(func(a attribute, src *node, _ json.Number) formula {
		if a.textOnly {
			return never
		}
		return a.ordered(op, src.number())
	})
}

// ldTime matches the times that LaunchDarkly parses: RFC 3339. Days that a month does not have are
// parsed differently, which the note covers.
const ldTime = `\A\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)\z`

// ldDate compares times: strings, or numbers of milliseconds since 1970.
func ldDate(text flags.Operator, number string) func(attribute, []*node) formula {
	return ldTest(func(a attribute, v *node, value any) formula {
		var moment time.Time
		switch x := value.(type) {
		case string:
			t, err := time.Parse(time.RFC3339, x)
			if err != nil {
				v.refuse("is not a time such as 2026-01-31T12:00:00Z")
			}
			moment = t
		case json.Number:
			moment = time.UnixMilli(int64(v.number())).UTC()
		default:
			return never
		}
		if moment.Year() < 1 || moment.Year() > 9999 || moment.Nanosecond()%1e6 != 0 {
			v.refuse("is a time outside the years 1 to 9999, or more precise than a millisecond")
		}
		texts := allOf(a.matches(ldTime), a.compare(text, moment.UTC().Format(time.RFC3339Nano)))
		if a.textOnly {
			return texts
		}
		a.note("attribute %q: a text that is a number counts as milliseconds here, a list and a time of another form than 2026-01-31T12:00:00Z never match")
		limit := float64(moment.UnixMilli())
		if number == "ge" {
			limit++ // fractions of a millisecond are ignored
		}
		return anyOf(texts, a.number(number, limit))
	})
}

// ldVersions matches the versions that LaunchDarkly parses.
const ldVersions = `^` + versionNumber + `(?:\.` + versionNumber + `){0,2}` + versionPre + versionBuild + `$`

func ldVersion(op string) func(attribute, []*node) formula {
	return ldTest(func(a attribute, _ *node, text string) formula {
		a.noteTyped("attribute %q: a number is a version here, a list never matches")
		return a.compareLoose(op, text, ldVersions)
	})
}
