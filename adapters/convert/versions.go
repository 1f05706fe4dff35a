package convert

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// Versions of three numbers without leading zeros, as SemVer 2.0 has them.
const (
	versionNumber = `(?:0|[1-9][0-9]{0,14})`
	versionPre    = `(?:-(?:0|[1-9][0-9]{0,14}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]{0,14}|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?`
	versionBuild  = `(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`
	strictVersion = `^` + versionNumber + `\.` + versionNumber + `\.` + versionNumber + versionPre + versionBuild + `$`
)

var (
	strict = regexp.MustCompile(strictVersion)
	// versionForm may lack the second and third number.
	versionForm = regexp.MustCompile(`^(` + versionNumber + `)(?:\.(` + versionNumber + `))?(?:\.(` + versionNumber + `))?(` + versionPre + `)` + versionBuild + `$`)
)

// versionOps are comparisons of versions without regard to their build, which
// counts in ours.
var versionOps = map[string]func(a attribute, v, build string) formula{
	"eq": func(a attribute, v, _ string) formula { return a.matches(`^` + regexp.QuoteMeta(v) + `(?:\+.*)?$`) },
	"lt": func(a attribute, v, _ string) formula { return a.is(flags.SemverLess, v) },
	"ge": func(a attribute, v, _ string) formula { return a.is(flags.SemverGreaterEqual, v) },
	"le": func(a attribute, v, build string) formula {
		return anyOf(a.is(flags.SemverLessEqual, v), a.matches(build))
	},
	"gt": func(a attribute, v, build string) formula {
		return allOf(a.is(flags.SemverGreater, v), a.is(flags.NotRegex, build))
	},
}

// version compares one that is a strict version with v.
func (a attribute) version(op, v string) formula {
	if !strict.MatchString(v) || strings.Contains(v, "+") {
		a.at.refuse("compares with %q, which is not a version such as 1.2.3", short(v))
	}
	return allOf(a.matches(strictVersion), versionOps[op](a, v, `^`+regexp.QuoteMeta(v)+`\+`))
}

// shortVersion compares one of a form that the source reads with a version that
// may lack its second and third number, as those of users may: eq, lt or gt.
func (a attribute) shortVersion(op, than, form string) formula {
	m := versionForm.FindStringSubmatch(than)
	if m == nil {
		a.at.refuse("%q is not a version of the form 1.2.3", short(than))
	}
	minor, patch := cmp.Or(m[2], "0"), cmp.Or(m[3], "0")
	equal := m[1] + `\.` + minor + `\.` + patch
	switch {
	case minor == "0" && patch == "0":
		equal = m[1] + `(?:\.0(?:\.0)?)?`
	case patch == "0":
		equal = m[1] + `\.` + minor + `(?:\.0)?`
	}
	same := allOf(a.matches(form), a.matches(`\Av?`+equal+regexp.QuoteMeta(m[4])+`(?:\+[0-9A-Za-z.-]+)?\z`))
	if op == "eq" {
		return same
	}
	order := map[string]flags.Operator{"lt": flags.SemverLess, "gt": flags.SemverGreater}[op]
	return allOf(a.matches(form), a.is(order, m[1]+"."+minor+"."+patch+m[4]), not(same))
}
