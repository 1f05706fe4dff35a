package convert

import (
	"cmp"
)

// part converts flagd's starts_with and ends_with.
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

// looseVersion matches versions that flagd accepts: minor and patch may be missing, and a v or V
// may precede.
const looseVersion = `^[vV]?` + versionNumber + `(?:\.` + versionNumber + `(?:\.` + versionNumber + versionPre + versionBuild + `)?)?$`

var flagdOperand = lazy(`^[vV]?(` + versionNumber + `)(?:\.(` + versionNumber + `)(?:\.(` + versionNumber + `)(` + versionPre + `)` + versionBuild + `)?)?$`)

var flagdVersionOps = map[string]string{"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

// semVer converts flagd's sem_ver. The operator ^ compares the major number, and ~ the major and
// the minor number.
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
	operand := flagdOperand().FindStringSubmatch(text)
	if operand == nil {
		l.refuse(n, "compares with %q, which is not a version", short(text))
	}
	major, minor := operand[1], cmp.Or(operand[2], "0")
	switch opText {
	case "^":
		return allOf(a.matches(looseVersion), a.matches(`^[vV]?`+major+`(?:\.|$)`))
	case "~":
		f := a.matches(`^[vV]?` + major + `\.` + minor + `(?:\.|$)`)
		if minor == "0" {
			f = anyOf(f, a.matches(`^[vV]?`+major+`$`))
		}
		return allOf(a.matches(looseVersion), f)
	case "<", "<=", ">", ">=":
		a.note("answers differ where the version in the attribute %q begins with a capital V")
	}
	if flagdVersionOps[opText] == "" {
		return never
	}
	return a.version(flagdVersionOps[opText], operand, looseVersion)
}
