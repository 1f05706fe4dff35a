package rustregexp

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// classItem is a character or an escape of a bracket class. classParser evaluates a class from a
// list of items, after class has found its end.
type classItem struct {
	r     rune
	set   runeSet
	isSet bool // the item is set, not r
	raw   bool // r is unescaped and may be an operator
	folds bool // (?i) applies to r also outside classes, as for hexadecimal escapes
}

// Escapes of a single rune, inside and outside classes.
var runeEscapes = map[byte]rune{
	'a': '\a', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', 'e': 0x1B,
}

// hexEscapes have this number of digits, or one to eight digits in braces.
var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// setEscapes match one rune of a set.
var setEscapes = map[byte]func() runeSet{
	'd': digitSet, 's': spaceSet, 'w': wordSet, 'h': func() runeSet { return hexSet },
}

// assertionEscapes have this meaning outside classes only; in a class these are errors or letters.
var assertionEscapes = map[byte]nodeOp{
	'A': opTextStart, 'z': opTextEnd, 'K': opKeep, 'G': opContinue, 'b': opBoundary, 'B': opNotBoundary,
	'<': opWordStart, '>': opWordEnd,
}

// boundaryNames are the words of \b{word}.
var boundaryNames = map[string]nodeOp{
	"start": opWordStart, "end": opWordEnd, "start-half": opHalfStart, "end-half": opHalfEnd,
}

// escape reads an escape outside a class, from its backslash.
func (p *parser) escape() (*node, error) {
	start := p.pos
	if start+1 >= len(p.src) {
		return nil, p.errorf(start, "backslash at the end")
	}
	c := p.src[start+1]
	if op, ok := assertionEscapes[c]; ok {
		p.pos += 2
		// Only \b and \B may have a word in braces.
		if c == 'b' || c == 'B' {
			return p.boundary(start, op)
		}
		return &node{op: op}, nil
	}
	switch {
	case '0' <= c && c <= '9':
		p.pos++
		// Each group takes at least two bytes of the pattern, so a higher number cannot exist.
		group, ok := p.decimal()
		if !ok || group >= len(p.src)/2 {
			return nil, p.errorf(start, "reference to a group that does not exist")
		}
		p.numeric = true
		p.refs = append(p.refs, groupRef{group, start})
		return &node{op: opBackref, group: group, fold: p.flags.fold}, nil
	case c == 'k':
		p.pos += 2
		if p.hasPrefix("'") {
			return p.reference("'", "'", true)
		}
		return p.reference("<", ">", true)
	case c == 'Z': // the end of the text, ignoring newlines
		p.pos += 2
		newlines := &node{op: opRepeat, subs: []*node{literalNode('\n')}, hi: unlimited}
		end := &node{op: opConcat, subs: []*node{newlines, {op: opTextEnd}}}
		return &node{op: opLook, subs: []*node{end}}, nil
	case c == 'O':
		p.pos += 2
		return setNode(anySet), nil
	case c == 'g':
		return nil, p.errorf(start, "group calls are not supported")
	}
	item, err := p.sharedEscape()
	if err != nil {
		return nil, err
	}
	// Only hexadecimal escapes are affected by (?i) here; other escaped runes match exactly.
	switch {
	case item.isSet:
		return setNode(item.set), nil
	case item.folds:
		return p.foldable(item.r), nil
	}
	return literalNode(item.r), nil
}

// boundary reads the braces of \b{start} after \b, unless they are a repetition count.
func (p *parser) boundary(start int, op nodeOp) (*node, error) {
	// The parser returns to this position if there is no word in braces.
	after := p.pos
	if err := p.skipBlanks(); err != nil {
		return nil, err
	}
	if !p.accept("{") {
		p.pos = after
		return &node{op: op}, nil
	}
	if err := p.skipBlanks(); err != nil {
		return nil, err
	}
	if !p.atEnd() && strings.IndexByte("0123456789,", p.src[p.pos]) >= 0 {
		p.pos = after
		return &node{op: op}, nil
	}
	var word []byte
	for !p.atEnd() && !p.hasPrefix("}") {
		word = append(word, p.src[p.pos])
		p.pos++
		if err := p.skipBlanks(); err != nil {
			return nil, err
		}
	}
	named, ok := boundaryNames[string(word)]
	if !ok || op == opNotBoundary || !p.accept("}") {
		return nil, p.errorf(start, "unknown word boundary")
	}
	return &node{op: named}, nil
}

// sharedEscape reads an escape with the same meaning inside and outside classes: a rune or a set.
func (p *parser) sharedEscape() (classItem, error) {
	start := p.pos
	if start+1 >= len(p.src) {
		return classItem{}, p.errorf(start, "backslash at the end")
	}
	c := p.src[start+1]
	p.pos += 2
	if r, ok := runeEscapes[c]; ok {
		return classItem{r: r}, nil
	}
	if digits, ok := hexEscapes[c]; ok {
		return p.hex(digits)
	}
	// An upper-case letter is the negation of the lower-case one.
	if set, ok := setEscapes[c|0x20]; ok {
		item := classItem{set: set(), isSet: true}
		if c&0x20 == 0 {
			if err := p.useBudget(start, len(item.set)); err != nil {
				return classItem{}, err
			}
			item.set = item.set.negate()
		}
		return item, nil
	}
	if c|0x20 == 'p' && !p.atEnd() {
		return p.property(start, c == 'P')
	}
	if c|0x20 >= 'a' && c|0x20 <= 'z' {
		return classItem{}, p.errorf(start, "unknown escape \\%c", c)
	}
	// Any other escaped rune is literal, such as \. or \-.
	p.pos = start + 1
	r, size := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += size
	return classItem{r: r}, nil
}

// hex reads the hexadecimal digits of \x, \u or \U: a fixed number, or in braces.
func (p *parser) hex(digits int) (classItem, error) {
	if err := p.skipBlanks(); err != nil {
		return classItem{}, err
	}
	start := p.pos
	text := ""
	if end := start + digits; end <= len(p.src) && isHex(p.src[start:end]) {
		text = p.src[start:end]
		p.pos = end
	} else if p.accept("{") {
		for len(text) <= 8 {
			if err := p.skipBlanks(); err != nil {
				return classItem{}, err
			}
			if p.atEnd() || p.src[p.pos] == '}' {
				break
			}
			text += p.src[p.pos : p.pos+1]
			p.pos++
		}
		if len(text) > 8 || !isHex(text) || !p.accept("}") {
			return classItem{}, p.errorf(start, "bad hexadecimal escape")
		}
	} else {
		return classItem{}, p.errorf(start, "bad hexadecimal escape")
	}
	n, err := strconv.ParseUint(text, 16, 32)
	if err != nil || n > maxScalar || n >= firstSurrogate && n <= lastSurrogate {
		return classItem{}, p.errorf(start, "not a Unicode scalar value")
	}
	return classItem{r: rune(n), folds: true}, nil
}

// isHex reports whether s is not empty and has only hexadecimal digits.
func isHex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// property reads the name after \p or \P: one rune, or a name in braces.
func (p *parser) property(start int, negated bool) (classItem, error) {
	var name string
	if p.accept("{") {
		end := strings.IndexByte(p.src[p.pos:], '}')
		if end < 0 {
			return classItem{}, p.errorf(start, "unclosed property name")
		}
		name = p.src[p.pos : p.pos+end]
		p.pos += end + 1
	} else {
		_, size := utf8.DecodeRuneInString(p.src[p.pos:])
		name = p.src[p.pos : p.pos+size]
		p.pos += size
	}
	set, err := p.propertySet(start, propertyName{name, p.flags.fold, negated})
	return classItem{set: set, isSet: true}, err
}

// propertySet returns the set of a property, which is computed once for a pattern.
func (p *parser) propertySet(start int, property propertyName) (runeSet, error) {
	set, ok := p.sets[property]
	if ok {
		return set, nil
	}
	set, slow, err := propertySet(property.name)
	if err != nil {
		return nil, p.errorf(start, "%v", err)
	}
	work := 2 * len(set) // it is computed, and possibly negated
	if slow {
		work = engineSetWork
	}
	if property.fold {
		work += foldWork(set)
	}
	if err := p.useBudget(start, work); err != nil {
		return nil, err
	}
	if property.fold {
		set = set.fold()
	}
	if property.negated {
		set = set.negate()
	}
	p.sets[property] = set
	return set, nil
}
