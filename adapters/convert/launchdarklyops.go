package convert

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// ldOperators are the operators of a clause: any of the values is enough. Values
// of a wrong type never match.
var ldOperators = map[string]func(a trait, values []*node) formula{
	"in":                 func(a trait, values []*node) formula { return a.in(values, false) },
	"contains":           ldPart(anywhere),
	"startsWith":         ldPart(atStart),
	"endsWith":           ldPart(atEnd),
	"matches":            ldMatches,
	"lessThan":           ldNumber(flags.LessThan),
	"lessThanOrEqual":    ldNumber(flags.LessOrEqual),
	"greaterThan":        ldNumber(flags.GreaterThan),
	"greaterThanOrEqual": ldNumber(flags.GreaterOrEqual),
	"before":             ldDate(flags.IsDateBefore, flags.LessThan),
	"after":              ldDate(flags.IsDateAfter, flags.GreaterOrEqual),
	"semVerEqual":        ldVersion(0),
	"semVerLessThan":     ldVersion(-1),
	"semVerGreaterThan":  ldVersion(1),
}

func ldPart(where textMatch) func(trait, []*node) formula {
	return func(a trait, values []*node) formula {
		var of []formula
		for _, v := range values {
			if text, ok := v.value.(string); ok {
				of = append(of, a.part(where, text))
			}
		}
		return anyOf(of...)
	}
}

func ldMatches(a trait, values []*node) formula {
	var of []formula
	for _, v := range values {
		if text, ok := v.value.(string); ok {
			f, valid := a.pattern(text)
			if !valid {
				v.refuse("is no regular expression of Go's syntax: SDKs of other languages may know it")
			}
			of = append(of, f)
		}
	}
	return anyOf(of...)
}

func ldNumber(op flags.Operator) func(trait, []*node) formula {
	return func(a trait, values []*node) formula {
		var of []formula
		for _, v := range values {
			if _, ok := v.value.(json.Number); ok && !a.textOnly {
				of = append(of, a.number(op, v.number()))
			}
		}
		return anyOf(of...)
	}
}

// ldTime are the times that LaunchDarkly reads: RFC 3339. Days that a month does
// not have are read differently, and are left to the note.
const ldTime = `\A\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)\z`

// ldDate compares times: texts, or numbers of milliseconds since 1970.
func ldDate(text, number flags.Operator) func(trait, []*node) formula {
	return func(a trait, values []*node) formula {
		var of []formula
		for _, v := range values {
			var at time.Time
			switch x := v.value.(type) {
			case string:
				t, err := time.Parse(time.RFC3339, x)
				if err != nil {
					v.refuse("is no time such as 2026-01-31T12:00:00Z")
				}
				at = t
			case json.Number:
				at = time.UnixMilli(int64(v.number())).UTC()
			default:
				continue
			}
			if at.Year() < 1 || at.Year() > 9999 || at.Nanosecond()%1e6 != 0 {
				v.refuse("is a time out of the years 1 to 9999, or finer than a millisecond")
			}
			texts := allOf(a.matches(ldTime), person(a.key, text, at.UTC().Format(time.RFC3339Nano)))
			if a.textOnly {
				of = append(of, texts)
				continue
			}
			a.b.note(a.at, fmt.Sprintf("attribute %q: a text that is a number counts as milliseconds here, a list and a time of another form than 2026-01-31T12:00:00Z never match", short(a.key)))
			limit := float64(at.UnixMilli())
			if number == flags.GreaterOrEqual {
				limit++ // parts of a millisecond do not count
			}
			of = append(of, texts, compared(a.key, number, limit))
		}
		return anyOf(of...)
	}
}

// ldVersions are the versions that LaunchDarkly reads.
const ldVersions = `^` + versionNumber + `(?:\.` + versionNumber + `){0,2}` + versionPre + versionBuild + `$`

func ldVersion(sign int) func(trait, []*node) formula {
	return func(a trait, values []*node) formula {
		var of []formula
		for _, v := range values {
			if text, ok := v.value.(string); ok {
				if !a.textOnly {
					a.b.note(a.at, fmt.Sprintf("attribute %q: a number is a version here, a list never matches", short(a.key)))
				}
				of = append(of, a.versions(sign, text, ldVersions))
			}
		}
		return anyOf(of...)
	}
}
