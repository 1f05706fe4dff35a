package convert

import (
	"fmt"
	"regexp"

	"github.com/bunting-flags/bunting/flags"
)

// part is flagd's starts_with or ends_with.
func (l *logic) part(n *node, p part, args []*node) formula {
	if len(args) != 2 {
		return never
	}
	o, constant, swapped := l.sides(n, args[0], args[1])
	text, isText := constant.(string)
	if swapped || o.flag {
		l.refuse(n, "must compare an attribute with a constant text")
	}
	if !isText {
		return never
	}
	if !o.id {
		l.b.noteText(l.at, o.key)
	}
	return p.exactly(l.at, o.key, text)
}

// Versions as flagd takes them: minor and patch may be absent, a v or V before.
const looseVersion = `^[vV]?` + versionNumber + `(?:\.` + versionNumber + `(?:\.` + versionNumber + versionPre + versionBuild + `)?)?$`

var loose = regexp.MustCompile(`^[vV]?(` + versionNumber + `)(?:\.(` + versionNumber + `)(?:\.(` + versionNumber + versionPre + `)(?:\+.*)?)?)?$`)

func (l *logic) semVer(n *node, args []*node) formula {
	if len(args) != 3 {
		return never
	}
	o, op, target := l.operand(args[0]), l.operand(args[1]), l.operand(args[2])
	opText, isOp := op.constant.(string)
	text, isText := target.constant.(string)
	if !o.isVar || !isOp || !isText || o.flag {
		l.refuse(n, "must compare an attribute with a version in quotes")
	}
	if !o.id {
		l.b.noteText(l.at, o.key)
	}
	parts := loose.FindStringSubmatch(text)
	if !regexp.MustCompile(looseVersion).MatchString(text) || parts == nil {
		l.refuse(n, "compares with %q, which is not a version", short(text))
	}
	major, minor, rest := parts[1], orZero(parts[2]), orZero(parts[3])
	valid := pattern(o.key, looseVersion)
	full := major + "." + minor + "." + rest
	same := versionEquals(major, minor, rest)
	var f formula
	switch opText {
	case "=":
		f = pattern(o.key, same)
	case "!=":
		f = person(o.key, flags.NotRegex, same)
	case "^":
		f = pattern(o.key, `^[vV]?`+major+`(?:\.|$)`)
	case "~":
		f = pattern(o.key, `^[vV]?`+major+`\.`+minor+`(?:\.|$)`)
		if minor == "0" {
			f = anyOf(f, pattern(o.key, `^[vV]?`+major+`$`))
		}
	case "<", "<=", ">", ">=":
		l.b.note(l.at, fmt.Sprintf("answers differ where the version in the attribute %q begins with a capital V", short(o.key)))
		f = l.versionOrder(o.key, opText, full, same)
	default:
		return never
	}
	return allOf(valid, f)
}

// versionOrder compares without regard to builds, which count in ours.
func (l *logic) versionOrder(key, op, full, same string) formula {
	switch op {
	case "<":
		return allOf(person(key, flags.SemverLess, full), person(key, flags.NotRegex, same))
	case "<=":
		return anyOf(person(key, flags.SemverLess, full), pattern(key, same))
	case ">":
		return allOf(person(key, flags.SemverGreater, full), person(key, flags.NotRegex, same))
	}
	return anyOf(person(key, flags.SemverGreater, full), pattern(key, same))
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
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
