package rustregexp

import (
	"strconv"
	"strings"
)

// lookarounds are the four assertions, by the opening of their group. "?<=" and "?<!" precede "?<".
var lookarounds = []struct {
	open            string
	behind, negated bool
}{
	{"?=", false, false}, {"?!", false, true}, {"?<=", true, false}, {"?<!", true, true},
}

// groupNode reads any construct that begins with "(".
func (p *parser) groupNode() (*node, error) {
	start := p.pos
	// The parser is recursive, so the depth limits the stack.
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxGroups {
		return nil, p.errorf(start, "groups nest deeper than %d", maxGroups)
	}
	p.pos++
	if err := p.skipBlanks(); err != nil {
		return nil, err
	}
	for _, look := range lookarounds {
		if p.accept(look.open) {
			sub, err := p.closed()
			return &node{op: opLook, subs: []*node{sub}, behind: look.behind, negated: look.negated, pos: start}, err
		}
	}
	// The case "?" must be the last one, since the other prefixes begin with it.
	switch {
	case p.accept("?P="):
		return p.reference("", ")", false)
	case p.hasPrefix("?P>"):
		return nil, p.errorf(start, "group calls are not supported")
	case p.accept("?>"):
		sub, err := p.closed()
		return &node{op: opAtomic, subs: []*node{sub}}, err
	case p.accept("?("):
		return p.condition()
	case p.hasPrefix("?P<") || p.hasPrefix("?<") || p.hasPrefix("?'"):
		return p.namedGroup()
	case p.hasPrefix("?"):
		return p.flagGroup()
	}
	return p.capture("")
}

// capture reads the contents of a capture group, which is named if name is not empty.
func (p *parser) capture(name string) (*node, error) {
	// Groups are numbered by their opening parenthesis, so the number is taken before the contents.
	p.groups++
	group := p.groups
	if name != "" {
		p.names[name] = group
	}
	sub, err := p.closed()
	return &node{op: opGroup, subs: []*node{sub}, group: group}, err
}

// closed reads alternatives and the ")" after them.
func (p *parser) closed() (*node, error) {
	start := p.pos
	// An unclosed group is reported at its contents.
	node, err := p.alternation()
	if err != nil {
		return nil, err
	}
	return node, p.closeParen(start)
}

// closeParen reads the ")" of the group that begins at start.
func (p *parser) closeParen(start int) error {
	if err := p.skipBlanks(); err != nil {
		return err
	}
	if !p.accept(")") {
		return p.errorf(start, "unclosed group")
	}
	return nil
}

// namedGroup reads (?<name>…), (?P<name>…) or (?'name'…). A later group with the same name replaces
// the earlier one.
func (p *parser) namedGroup() (*node, error) {
	start := p.pos
	p.pos++
	// The "?" has been skipped; an optional P follows, then the opening quotation mark or bracket.
	p.accept("P")
	closing := ">"
	if p.src[p.pos] == '\'' {
		closing = "'"
	}
	p.pos++
	name := p.name()
	if name == "" || !p.accept(closing) {
		return nil, p.errorf(start, "bad group name")
	}
	return p.capture(name)
}

// name reads the runes of a group name. The result is "" if there is no name.
func (p *parser) name() string {
	rest := p.src[p.pos:]
	end := strings.IndexFunc(rest, func(r rune) bool { return !isNameRune(r) })
	if end < 0 {
		end = len(rest)
	}
	p.pos += end
	return rest[:end]
}

// reference reads a back-reference to a group between opening and closing: by name, by number or,
// if relative is true, by distance, as in <-1>.
func (p *parser) reference(opening, closing string, relative bool) (*node, error) {
	start := p.pos
	if !p.accept(opening) {
		return nil, p.errorf(start, "bad group name")
	}
	name := p.name()
	distance, hasDistance := 0, false
	// A sign begins a distance, or after a name a recursion level, which is refused below.
	if !p.hasPrefix(closing) && relative && (p.hasPrefix("+") || p.hasPrefix("-")) {
		sign := p.src[p.pos]
		p.pos++
		n, ok := p.decimal()
		if !ok || n == 0 && name == "" {
			return nil, p.errorf(start, "bad group name")
		}
		if distance, hasDistance = n, true; sign == '-' {
			distance = -n
		}
	}
	if !p.accept(closing) || name == "" && !hasDistance {
		return nil, p.errorf(start, "bad group name")
	}
	// \k<name+1> is Oniguruma's syntax for a recursion level.
	if name != "" && hasDistance {
		return nil, p.errorf(start, "references at a recursion level are not supported")
	}
	group, ok := p.names[name]
	switch {
	case ok:
	// A name takes precedence; otherwise it is a number, which parse checks after all groups are
	// known.
	case name != "":
		n, err := strconv.Atoi(name)
		if err != nil {
			return nil, p.errorf(start, "unknown group %q", name)
		}
		group = n
	// A negative distance counts back from the last opened group, -1 is that group itself.
	case distance < 0:
		group = p.groups + distance + 1
	default:
		group = p.groups + distance
	}
	p.refs = append(p.refs, groupRef{group, start})
	return &node{op: opBackref, group: group, fold: p.flags.fold}, nil
}

// condition reads the text after "(?(": a reference to a group or an expression, then one or two
// branches.
func (p *parser) condition() (*node, error) {
	start := p.pos
	if p.atEnd() {
		return nil, p.errorf(start, "unclosed group")
	}
	var cond *node
	var err error
	switch c := p.src[p.pos]; {
	case c == '\'':
		cond, err = p.reference("'", "')", true)
	case c == '<':
		cond, err = p.reference("<", ">)", true)
	case c == '+' || c == '-' || '0' <= c && c <= '9':
		cond, err = p.reference("", ")", true)
	default:
		cond, err = p.closed()
	}
	if err != nil {
		return nil, err
	}
	// A back-reference as condition means that its group has matched.
	isRef := cond.op == opBackref
	if isRef {
		cond = &node{op: opExists, group: cond.group}
	}
	before := p.pos
	branches, err := p.alternation()
	if err != nil {
		return nil, err
	}
	if p.pos == before && !isRef {
		return nil, p.errorf(p.pos, "condition without a branch")
	}
	// Without a second branch the condition that fails matches the empty text. All alternatives
	// after the first belong to the second branch.
	yes, no := branches, emptyNode()
	if branches.op == opAlternate {
		yes, no = branches.subs[0], branches.subs[1]
		if len(branches.subs) > 2 {
			no = &node{op: opAlternate, subs: branches.subs[1:]}
		}
	}
	if err := p.closeParen(start); err != nil {
		return nil, err
	}
	if yes.op == opEmpty && no.op == opEmpty {
		return cond, nil
	}
	return &node{op: opCondition, subs: []*node{cond, yes, no}}, nil
}

// flagGroup reads (?flags) and (?flags:…), from the "?". As in fancy_regex, flags of the first form
// apply until changed, even beyond the end of the enclosing group.
func (p *parser) flagGroup() (*node, error) {
	// The flags of the enclosing group, which apply again after (?flags:…).
	start, before := p.pos, p.flags
	p.pos++
	first, negated := p.pos, false
	for {
		if err := p.skipBlanks(); err != nil {
			return nil, err
		}
		if p.atEnd() {
			return nil, p.errorf(start, "unclosed group")
		}
		switch c := p.src[p.pos]; c {
		case 'i':
			p.flags.fold = !negated
		case 'm':
			p.flags.multiLine = !negated
		case 's':
			p.flags.dotAll = !negated
		case 'U':
			p.flags.swapGreed = !negated
		case 'R':
			p.flags.crlf = !negated
		case 'x':
			p.flags.verbose = !negated
		case 'u':
			if negated {
				return nil, p.errorf(p.pos, "Unicode cannot be switched off")
			}
		case '-':
			if negated {
				return nil, p.errorf(p.pos, "unknown flag")
			}
			negated = true
		case ')', ':':
			// (?-), (?-:…) and (?) are refused; (?:…) is a group without flags.
			if negated && p.pos == first+1 || c == ')' && p.pos == first {
				return nil, p.errorf(p.pos, "no flag")
			}
			p.pos++
			if c == ')' {
				return emptyNode(), nil
			}
			// Flags in front of a colon apply only to the group.
			sub, err := p.closed()
			p.flags = before
			return sub, err
		default:
			return nil, p.errorf(p.pos, "unknown flag")
		}
		p.pos++
	}
}
