package convert

import (
	"cmp"
	"regexp"

	"github.com/bunting-flags/bunting/flags"
)

// The parts of a version, as in SemVer 2.0.
const (
	versionNumber = `(?:0|[1-9][0-9]{0,14})`
	versionPre    = `(?:-(?:0|[1-9][0-9]{0,14}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]{0,14}|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?`
	versionBuild  = `(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`
)

// strictVersion matches versions of three numbers, which Unleash and GO Feature Flag require.
const strictVersion = `^` + versionNumber + `\.` + versionNumber + `\.` + versionNumber + versionPre + versionBuild + `$`

// Operands of rules: the submatches are the three numbers and the pre-release.
var (
	strictOperand = lazy(`^(` + versionNumber + `)\.(` + versionNumber + `)\.(` + versionNumber + `)(` + versionPre + `)$`)
	// shortOperand may omit the second and third number.
	shortOperand = lazy(`^(` + versionNumber + `)(?:\.(` + versionNumber + `))?(?:\.(` + versionNumber + `))?(` + versionPre + `)` + versionBuild + `$`)
)

// version compares an attribute that has the given form in the source with an operand, whose
// missing numbers are 0. op is eq, ne or a key of orders. The source ignores build metadata, but
// our operators order a version with it after the same version without.
func (a attribute) version(op string, operand []string, form string) formula {
	major, minor, patch, pre := operand[1], cmp.Or(operand[2], "0"), cmp.Or(operand[3], "0"), operand[4]
	optional := func(isZero bool, expr string) string {
		if isZero {
			return `(?:` + expr + `)?`
		}
		return expr
	}
	suffix := optional(minor == "0" && patch == "0", `\.`+minor+optional(patch == "0", `\.`+patch))
	same := a.matches(`\A[vV]?` + major + suffix + regexp.QuoteMeta(pre) + `(?:\+.*)?\z`)
	is := func(op flags.Operator) formula { return a.compare(op, major+"."+minor+"."+patch+pre) }
	return allOf(a.matches(form), map[string]formula{
		"eq": same, "ne": not(same), "lt": is(flags.SemverLess), "le": anyOf(is(flags.SemverLess), same),
		"gt": allOf(is(flags.SemverGreater), not(same)), "ge": is(flags.SemverGreaterEqual),
	}[op])
}

// compareStrict is version for operands of three numbers.
func (a attribute) compareStrict(op, text string) formula {
	operand := strictOperand().FindStringSubmatch(text)
	if operand == nil {
		a.src.refuse("compares with %q, which is not a version such as 1.2.3", short(text))
	}
	return a.version(op, operand, strictVersion)
}

// compareLoose is version for operands that may omit numbers.
func (a attribute) compareLoose(op, text, form string) formula {
	operand := shortOperand().FindStringSubmatch(text)
	if operand == nil {
		a.src.refuse("%q is not a version of the form 1.2.3", short(text))
	}
	return a.version(op, operand, form)
}
