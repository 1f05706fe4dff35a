package rustregexp

import "unicode/utf8"

// maxClassNesting is the maximum depth of nested bracket classes.
const maxClassNesting = 250

// classEscapes are the letters whose escapes have a meaning only outside classes; in a class each
// is a literal character.
var classEscapes = map[byte]rune{'b': '\b', 'B': 'B', 'A': 'A', 'z': 'z', 'k': 'k', 'K': 'K', 'G': 'G'}

// asciiClasses are the names of [[:name:]].
var asciiClasses = map[string]runeSet{
	"alnum":  {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}},
	"alpha":  {{'A', 'Z'}, {'a', 'z'}},
	"ascii":  {{0, 0x7F}},
	"blank":  {{'\t', '\t'}, {' ', ' '}},
	"cntrl":  {{0, 0x1F}, {0x7F, 0x7F}},
	"digit":  {{'0', '9'}},
	"graph":  {{'!', '~'}},
	"lower":  {{'a', 'z'}},
	"print":  {{' ', '~'}},
	"punct":  {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}},
	"space":  {{'\t', '\r'}, {' ', ' '}},
	"upper":  {{'A', 'Z'}},
	"word":   {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
	"xdigit": {{'0', '9'}, {'A', 'F'}, {'a', 'f'}},
}

// class reads a bracket class, from its "[". It first finds the end of the class, by counting
// brackets, as fancy_regex does to cut out the text that it passes to regex-syntax.
func (p *parser) class() (*node, error) {
	start := p.pos
	p.pos++
	var items []classItem
	// raw adds an unescaped rune and moves behind it.
	raw := func(r rune, size int) {
		items = append(items, classItem{r: r, raw: true})
		p.pos += size
	}
	for _, c := range "^]" { // a "]" immediately after the opening is literal
		if p.hasPrefix(string(c)) {
			raw(c, 1)
		}
	}
	for nesting := 1; nesting > 0; {
		if p.atEnd() {
			return nil, p.errorf(start, "unclosed class")
		}
		r, size := utf8.DecodeRuneInString(p.src[p.pos:])
		switch r {
		case '\\':
			item, err := p.classEscape()
			if err != nil {
				return nil, err
			}
			// An escape is one item, so an escaped bracket does not count.
			items = append(items, item)
			continue
		case '[':
			nesting++
		case ']':
			nesting--
		}
		raw(r, size)
	}
	// The second pass interprets the items, in the way of regex-syntax.
	c := &classParser{parser: p, start: start, items: items, fold: p.flags.fold}
	set, msg := c.bracket()
	if c.tooMuch != nil {
		return nil, c.tooMuch
	}
	// The second pass ended before the last bracket.
	if msg == "" && c.next < len(items) {
		msg = "unopened bracket"
	}
	if msg != "" {
		return nil, p.errorf(start, "class: %s", msg)
	}
	return setNode(set), nil
}

// classEscape reads an escape in a class. Digits are refused: a class cannot contain a
// back-reference.
func (p *parser) classEscape() (classItem, error) {
	if p.pos+1 < len(p.src) {
		c := p.src[p.pos+1]
		if r, ok := classEscapes[c]; ok {
			p.pos += 2
			return classItem{r: r}, nil
		}
		if '0' <= c && c <= '9' {
			return classItem{}, p.errorf(p.pos, "reference to a group in a class")
		}
	}
	return p.sharedEscape()
}

// classParser evaluates the items of a bracket class: unions of items, joined from left to right by
// && (intersection), -- (difference) and ~~ (symmetric difference). All operators have the same
// precedence, and each takes the whole union on its right as its operand.
type classParser struct {
	parser *parser
	// The class in the pattern, as items; next is the index of the next item.
	start int // of the class in the pattern
	items []classItem
	next  int
	// depth is the number of open brackets, fold the flag (?i).
	depth   int
	fold    bool
	tooMuch error // error if the work on sets exceeds maxSetWork
}

// useBudget adds work on sets to the total, before it is done. It returns false if the total is too
// high.
func (c *classParser) useBudget(work int) bool {
	if c.tooMuch == nil {
		c.tooMuch = c.parser.useBudget(c.start, work)
	}
	return c.tooMuch == nil
}

// isRaw reports whether the item at the offset ahead is the unescaped r.
func (c *classParser) isRaw(ahead int, r rune) bool {
	i := c.next + ahead
	return i < len(c.items) && c.items[i].raw && c.items[i].r == r
}

// acceptRaw skips the next item if it is the unescaped r, and reports whether it did.
func (c *classParser) acceptRaw(r rune) bool {
	if !c.isRaw(0, r) {
		return false
	}
	c.next++
	return true
}

// join returns the result of an operator on two sets; without an operator (0) it is right.
func (c *classParser) join(left runeSet, op rune, right runeSet) runeSet {
	if op == 0 {
		return right
	}
	work := len(left) + len(right)
	if c.fold {
		work += foldWork(left) + foldWork(right)
	}
	if !c.useBudget(work) {
		return nil
	}
	// With (?i) both operands must be folded before the operator: [a&&A] is not empty.
	if c.fold {
		left, right = left.fold(), right.fold()
	}
	switch op {
	case '&':
		return left.intersect(right)
	case '-':
		return left.subtract(right)
	}
	return left.union(right).subtract(left.intersect(right))
}

// bracket evaluates the items after a "[" up to its "]". msg is empty unless there is an error.
func (c *classParser) bracket() (set runeSet, msg string) {
	// bracket is recursive, so the depth limits the stack.
	if c.depth++; c.depth > maxClassNesting {
		return nil, "brackets nest too deep"
	}
	defer func() { c.depth-- }()
	var (
		ranges []runeRange // single items of the current operand
		sets   runeSet     // classes of the current operand
		left   runeSet     // result of all before the last operator
		op     rune        // the operator's character, 0 before the first
	)
	// operand ends the current operand, and returns the result of the class up to here.
	operand := func() runeSet {
		if !c.useBudget(len(ranges) + len(sets)) {
			return nil
		}
		right := newRuneSet(ranges).union(sets)
		ranges, sets = nil, nil
		return c.join(left, op, right)
	}
	negated := c.acceptRaw('^')
	for c.acceptRaw('-') {
		ranges = append(ranges, runeRange{'-', '-'})
	}
	if len(ranges) == 0 && c.acceptRaw(']') {
		ranges = append(ranges, runeRange{']', ']'})
	}
	for !c.acceptRaw(']') {
		if c.next >= len(c.items) {
			return nil, "missing ]"
		}
		if o := c.operator(); o != 0 {
			left, op = operand(), o
			continue
		}
		var item runeSet
		if ascii, ok := c.asciiClass(); ok {
			item = ascii
		} else if c.acceptRaw('[') {
			item, msg = c.bracket()
		} else {
			item, msg = c.classRange(&ranges)
		}
		if msg != "" {
			return nil, msg
		}
		// Classes are joined immediately; single items are collected, and sorted once per operand.
		if len(item) > 0 && c.useBudget(len(sets)+len(item)) {
			sets = sets.union(item)
		}
	}
	set = operand()
	// The result is folded before it is negated, so that (?i)[^a] excludes A as well.
	if c.fold && c.useBudget(foldWork(set)) {
		set = set.fold()
	}
	if negated && c.useBudget(len(set)) {
		set = set.negate()
	}
	return set, ""
}

// operator reads &&, -- or ~~ and returns its character, or 0.
func (c *classParser) operator() rune {
	for _, r := range "&-~" {
		if c.isRaw(0, r) && c.isRaw(1, r) {
			c.next += 2
			return r
		}
	}
	return 0
}

// asciiClass reads [:name:] or [:^name:]. Any other text that begins with [: is a nested class.
func (c *classParser) asciiClass() (runeSet, bool) {
	if !c.isRaw(0, '[') || !c.isRaw(1, ':') {
		return nil, false
	}
	// Remember the position: text that only begins like a class is read again as a nested class.
	start := c.next
	c.next += 2
	negated := c.acceptRaw('^')
	var name []rune
	for c.next < len(c.items) && c.items[c.next].raw && c.items[c.next].r != ':' {
		name = append(name, c.items[c.next].r)
		c.next++
	}
	set, ok := asciiClasses[string(name)]
	if !ok || !c.acceptRaw(':') || !c.acceptRaw(']') {
		c.next = start
		return nil, false
	}
	if c.fold {
		set = set.fold()
	}
	if negated {
		set = set.negate()
	}
	return set, true
}

// classRange reads a single item or a range a-z. It returns a set and appends runes to ranges.
func (c *classParser) classRange(ranges *[]runeRange) (set runeSet, msg string) {
	first := c.items[c.next]
	c.next++
	if !c.isRaw(0, '-') || c.isRaw(1, ']') || c.isRaw(1, '-') {
		if first.isSet {
			return first.set, ""
		}
		*ranges = append(*ranges, runeRange{first.r, first.r})
		return nil, ""
	}
	c.next++
	if c.next >= len(c.items) {
		return nil, "missing ]"
	}
	last := c.items[c.next]
	c.next++
	if first.isSet || last.isSet {
		return nil, "a range between classes"
	}
	if first.r > last.r {
		return nil, "a range from high to low"
	}
	*ranges = append(*ranges, runeRange{first.r, last.r})
	return nil, ""
}
