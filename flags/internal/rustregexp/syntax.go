package rustregexp

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file parses patterns with the grammar of the Rust crate fancy_regex 0.17, which PostHog's
// flags service uses, and the flag (?R), which release 0.18 adopted from the crate regex. Bracket
// classes follow the crate regex-syntax 0.8, to which fancy_regex passes them. Groups are in
// group.go, escapes in escape.go, bracket classes in class.go.

// maxGroups is the maximum depth of nested groups (fancy_regex refuses the 64th level).
const maxGroups = 63

// nodeOp is the type of a node.
type nodeOp uint8

const (
	opEmpty         nodeOp = iota
	opSet                  // one rune of set
	opConcat               // subs in order
	opAlternate            // the first of subs that matches
	opRepeat               // subs[0], lo to hi times
	opGroup                // subs[0], captured as group
	opAtomic               // subs[0], without backtracking into it
	opLook                 // subs[0], matched without consuming; behind, negated
	opBackref              // the text of group; fold
	opExists               // group has matched
	opCondition            // if subs[0] then subs[1] else subs[2]
	opKeep                 // \K: moves the start of the match, which is not used here
	opTextStart            // ^ \A
	opContinue             // \G: the position where the search began, here the start
	opTextEnd              // $ \z
	opLineStart            // (?m)^
	opLineEnd              // (?m)$
	opLineStartCRLF        // (?Rm)^: a line ends at \r\n, \r or \n
	opLineEndCRLF          // (?Rm)$
	opBoundary             // \b
	opNotBoundary          // \B
	opWordStart            // \< \b{start}
	opWordEnd              // \> \b{end}
	opHalfStart            // \b{start-half}
	opHalfEnd              // \b{end-half}
)

// unlimited is the value of hi for a repetition without an upper bound.
const unlimited = -1

// node is a node of a parsed pattern. The meaning of the fields depends on op, see nodeOp.
type node struct {
	// subs are the parts of the node.
	op   nodeOp
	subs []*node
	set  runeSet
	// lo and hi are the bounds of opRepeat, group the number of a capture group.
	lo, hi int // hi may be unlimited
	group  int
	// lazy is set for repetitions like *?, behind and negated for opLook, fold for a back-reference
	// with (?i).
	lazy    bool
	behind  bool
	negated bool
	fold    bool
	pos     int       // of opLook in the pattern
	facts   nodeFacts // facts and counted are set by analyzer
	counted int
}

// emptyNode returns a node that matches the empty text.
func emptyNode() *node { return &node{op: opEmpty} }

// literalNode returns a node that matches one rune exactly.
func literalNode(r rune) *node { return setNode(runeSet{{r, r}}) }

// setNode returns a node that matches one rune of a set.
func setNode(set runeSet) *node { return &node{op: opSet, set: set} }

// syntaxError is an error at a byte offset of a pattern, counted from 0.
type syntaxError struct {
	pos int
	msg string
}

// Error implements error.
func (e *syntaxError) Error() string {
	return fmt.Sprintf("pattern: position %d: %s", e.pos, e.msg)
}

// parseFlags are the inline flags that affect parsing; (?u) is always on.
type parseFlags struct{ fold, multiLine, dotAll, swapGreed, verbose, crlf bool }

// parser is the state of parsing one pattern. pos is the byte offset of the next character.
type parser struct {
	src     string
	pos     int
	depth   int
	flags   parseFlags
	groups  int            // capture groups opened so far
	names   map[string]int // group by name
	numeric bool           // there is a reference to a group by number
	refs    []groupRef
	sets    map[propertyName]runeSet // computed once for a pattern
	work    int                      // see maxSetWork
}

// groupRef is a reference to a group. It is checked after all groups have been read.
type groupRef struct{ group, pos int }

// errorf returns a syntaxError at a byte offset.
func (p *parser) errorf(pos int, format string, args ...any) error {
	return &syntaxError{pos, fmt.Sprintf(format, args...)}
}

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

// atEnd reports whether the whole pattern has been read.
func (p *parser) atEnd() bool { return p.pos >= len(p.src) }

// hasPrefix reports whether the rest of the pattern begins with prefix.
func (p *parser) hasPrefix(prefix string) bool {
	return strings.HasPrefix(p.src[p.pos:], prefix)
}

// accept skips prefix if the rest of the pattern begins with it.
func (p *parser) accept(prefix string) bool {
	if !p.hasPrefix(prefix) {
		return false
	}
	p.pos += len(prefix)
	return true
}

// skipBlanks skips (?#comments) and, in verbose mode, white space and # comments.
func (p *parser) skipBlanks() error {
	for !p.atEnd() {
		switch c := p.src[p.pos]; {
		case p.flags.verbose && c == '#':
			if i := strings.IndexByte(p.src[p.pos:], '\n'); i >= 0 {
				p.pos += i + 1
			} else {
				p.pos = len(p.src)
			}
		case p.flags.verbose && strings.IndexByte(" \r\n\t", c) >= 0:
			p.pos++
		case p.hasPrefix("(?#"):
			start := p.pos
			for p.pos += len("(?#"); ; p.pos++ {
				if p.atEnd() {
					return p.errorf(start, "unclosed comment")
				}
				// A backslash escapes the next character of a comment.
				if p.src[p.pos] == '\\' {
					p.pos++
				} else if p.src[p.pos] == ')' {
					p.pos++
					break
				}
			}
		default:
			return nil
		}
	}
	return nil
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

// decimal reads digits that fit 64 bits. It reduces numbers beyond maxSize to maxSize, so that no
// sum overflows; the size limit refuses them later, like the original number.
func (p *parser) decimal() (int, bool) {
	end := p.pos
	for end < len(p.src) && '0' <= p.src[end] && p.src[end] <= '9' {
		end++
	}
	n, err := strconv.ParseUint(p.src[p.pos:end], 10, 64)
	if err != nil {
		return 0, false
	}
	p.pos = end
	return int(min(n, maxSize)), true
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

// isNameRune reports whether r may appear in a group name (letters, numbers, "_").
func isNameRune(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.Other_Alphabetic)
}
