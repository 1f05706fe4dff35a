package convert

import (
	"cmp"
	"regexp"

	"github.com/bunting-flags/bunting/flags"
)

// part is flagd's starts_with or ends_with.
func (l *logic) part(n *node, p part, args []*node) formula {
	if len(args) != 2 {
		return never
	}
	a, constant, swapped := l.sides(n, args[0], args[1])
	text, isText := constant.(string)
	if swapped || a.boolean {
		l.refuse(n, "must compare an attribute with a constant text")
	}
	if !isText {
		return never
	}
	a.noteText()
	return a.has(p, text)
}

// Versions as flagd takes them: minor and patch may be absent, a v or V before.
const looseVersion = `^[vV]?` + versionNumber + `(?:\.` + versionNumber + `(?:\.` + versionNumber + versionPre + versionBuild + `)?)?$`

var loose = regexp.MustCompile(`^[vV]?(` + versionNumber + `)(?:\.(` + versionNumber + `)(?:\.(` + versionNumber + versionPre + `)` + versionBuild + `)?)?$`)

func (l *logic) semVer(n *node, args []*node) formula {
	if len(args) != 3 {
		return never
	}
	a, op, target := l.operand(args[0]).attribute, l.operand(args[1]), l.operand(args[2])
	opText, isOp := op.constant.(string)
	text, isText := target.constant.(string)
	if a == nil || !isOp || !isText || a.boolean {
		l.refuse(n, "must compare an attribute with a version in quotes")
	}
	a.noteText()
	parts := loose.FindStringSubmatch(text)
	if parts == nil {
		l.refuse(n, "compares with %q, which is not a version", short(text))
	}
	major, minor, rest := parts[1], cmp.Or(parts[2], "0"), cmp.Or(parts[3], "0")
	same := versionEquals(major, minor, rest)
	var f formula
	switch opText {
	case "=":
		f = a.matches(same)
	case "!=":
		f = a.is(flags.NotRegex, same)
	case "^":
		f = a.matches(`^[vV]?` + major + `(?:\.|$)`)
	case "~":
		f = a.matches(`^[vV]?` + major + `\.` + minor + `(?:\.|$)`)
		if minor == "0" {
			f = anyOf(f, a.matches(`^[vV]?`+major+`$`))
		}
	case "<", "<=", ">", ">=":
		a.note("answers differ where the version in the attribute %q begins with a capital V")
		order := flags.SemverLess
		if opText[0] == '>' {
			order = flags.SemverGreater
		}
		f = a.is(order, major+"."+minor+"."+rest)
		if len(opText) > 1 { // builds count in ours
			f = anyOf(f, a.matches(same))
		} else {
			f = allOf(f, a.is(flags.NotRegex, same))
		}
	default:
		return never
	}
	return allOf(a.matches(looseVersion), f)
}

// versionEquals is a pattern for a version, with or without what is 0 at its end.
func versionEquals(major, minor, rest string) string {
	tail := `\.` + regexp.QuoteMeta(rest) + `(?:\+.*)?`
	if rest == "0" {
		tail = `(?:` + tail + `)?`
	}
	tail = `\.` + minor + tail
	if rest == "0" && minor == "0" {
		tail = `(?:` + tail + `)?`
	}
	return `^[vV]?` + major + tail + `$`
}
