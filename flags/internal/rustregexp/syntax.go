package rustregexp

import "unicode/utf8"

// This file parses patterns with the grammar of the Rust crate fancy_regex 0.17, which PostHog's
// flags service uses, and the flag (?R), which release 0.18 adopted from the crate regex. Bracket
// classes follow the crate regex-syntax 0.8, to which fancy_regex passes them. Groups are in
// group.go, escapes in escape.go, bracket classes in class.go, and the state in parser.go.

// parse parses a whole pattern. It returns the tree and the groups that have references.
func parse(src string) (*node, map[int]bool, error) {
	p := &parser{src: src, names: make(map[string]int), sets: make(map[propertyName]runeSet)}
	node, err := p.alternation()
	if err != nil {
		return nil, nil, err
	}
	if p.pos < len(src) {
		return nil, nil, p.errorf(p.pos, "unopened group")
	}
	// Groups may be referred to before they are opened, so references are checked at the end.
	refs := make(map[int]bool, len(p.refs))
	for _, ref := range p.refs {
		if ref.group < 1 || ref.group > p.groups {
			return nil, nil, p.errorf(ref.pos, "reference to group %d, which does not exist", ref.group)
		}
		refs[ref.group] = true
	}
	return node, refs, nil
}

// alternation reads alternatives separated by "|", up to a ")" or the end of the pattern.
func (p *parser) alternation() (*node, error) {
	first, err := p.sequence()
	if err != nil {
		return nil, err
	}
	if !p.hasPrefix("|") {
		// As in fancy_regex, this is an error only if there are no alternatives.
		if p.numeric && len(p.names) > 0 {
			return nil, p.errorf(p.pos, "a pattern with named groups cannot refer to groups by number")
		}
		return first, nil
	}
	subs := []*node{first}
	for p.accept("|") {
		next, err := p.sequence()
		if err != nil {
			return nil, err
		}
		subs = append(subs, next)
	}
	return &node{op: opAlternate, subs: subs}, nil
}

// sequence reads pieces up to "|", ")" or the end of the pattern.
func (p *parser) sequence() (*node, error) {
	var subs []*node
	for !p.atEnd() {
		start := p.pos
		node, err := p.piece()
		if err != nil {
			return nil, err
		}
		// The piece read no character, so the sequence ends here.
		if p.pos == start {
			break
		}
		if node.op != opEmpty {
			subs = append(subs, node)
		}
	}
	switch len(subs) {
	case 0:
		return emptyNode(), nil
	case 1:
		return subs[0], nil
	}
	return &node{op: opConcat, subs: subs}, nil
}

// piece reads an atom and its repetition.
func (p *parser) piece() (*node, error) {
	atom, err := p.atom()
	if err != nil {
		return nil, err
	}
	if err := p.skipBlanks(); err != nil {
		return nil, err
	}
	start := p.pos
	lo, hi, ok := p.quantifier()
	if !ok {
		return atom, nil
	}
	// fancy_regex refuses to repeat these atoms, which match no text.
	switch atom.op {
	case opEmpty, opLook, opKeep, opContinue, opExists:
		return nil, p.errorf(start, "nothing to repeat")
	}
	// Such as {3,1}.
	if hi != unlimited && lo > hi {
		return nil, p.errorf(start, "repetition {%d,%d} is upside down", lo, hi)
	}
	if err := p.skipBlanks(); err != nil {
		return nil, err
	}
	lazy := p.accept("?")
	repeat := &node{op: opRepeat, subs: []*node{atom}, lo: lo, hi: hi, lazy: lazy != p.flags.swapGreed}
	if p.accept("+") {
		// A possessive repetition, such as a*+, is an atomic group.
		repeat = &node{op: opAtomic, subs: []*node{repeat}}
	}
	return repeat, nil
}

// quantifier reads ?, *, + or {n,m}. Braces that are not a repetition are literal text; it does not
// skip them.
func (p *parser) quantifier() (lo, hi int, ok bool) {
	switch {
	case p.accept("?"):
		return 0, 1, true
	case p.accept("*"):
		return 0, unlimited, true
	case p.accept("+"):
		return 1, unlimited, true
	case p.hasPrefix("{"):
		start := p.pos
		p.pos++
		if lo, hi, ok = p.counts(); !ok {
			p.pos = start
		}
	}
	return lo, hi, ok
}

// counts reads the text after the "{" of {n}, {n,}, {n,m} or {,m}.
func (p *parser) counts() (lo, hi int, ok bool) {
	blanks := func() bool { return p.skipBlanks() == nil && !p.atEnd() }
	if !blanks() {
		return 0, 0, false
	}
	if !p.hasPrefix(",") {
		if lo, ok = p.decimal(); !ok || !blanks() {
			return 0, 0, false
		}
	}
	hi = lo
	if p.accept(",") {
		if !blanks() {
			return 0, 0, false
		}
		if hi, ok = p.decimal(); !ok {
			hi = unlimited
		} else if !blanks() {
			return 0, 0, false
		}
	}
	return lo, hi, p.accept("}")
}

// atom reads one atom, or returns emptyNode if there is none.
func (p *parser) atom() (*node, error) {
	if err := p.skipBlanks(); err != nil || p.atEnd() {
		return emptyNode(), err
	}
	// choose returns the node of an anchor for the current flags (?m) and (?R).
	choose := func(text, line, lineCRLF nodeOp) *node {
		p.pos++
		switch {
		case !p.flags.multiLine:
			return &node{op: text}
		case p.flags.crlf:
			return &node{op: lineCRLF}
		}
		return &node{op: line}
	}
	switch p.src[p.pos] {
	case '+', '*', '?', '|', ')':
		return emptyNode(), nil
	case '.':
		p.pos++
		switch {
		case p.flags.dotAll:
			return setNode(anySet), nil
		case p.flags.crlf:
			return setNode(notNewlineCRLF), nil
		}
		return setNode(notNewline), nil
	case '^':
		return choose(opTextStart, opLineStart, opLineStartCRLF), nil
	case '$':
		return choose(opTextEnd, opLineEnd, opLineEndCRLF), nil
	case '(':
		return p.groupNode()
	case '\\':
		return p.escape()
	case '[':
		return p.class()
	}
	// Any other character is literal.
	r, size := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += size
	return p.foldable(r), nil
}

// foldable returns a node for the literal r, in both cases if (?i) applies.
func (p *parser) foldable(r rune) *node {
	node := literalNode(r)
	if p.flags.fold {
		node.set = node.set.fold()
	}
	return node
}
