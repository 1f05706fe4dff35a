package rustregexp

// A pattern is refused above maxSize, the limit of the crate regex, which is estimated as follows.
// Rust uses some 80 bytes for each non-ASCII range of a class (\w{1000} is over its limit, \w{100}
// is not) and some 32 for a step that matches one ASCII character. The estimate here is higher for
// steps, because the time of Go's matcher depends on their number: the limit is 20,480 steps.
const (
	maxSize       = 10 << 20 // bytes
	stepSize      = 512      // bytes
	rangeSize     = 80       // bytes
	assertionSize = 4 << 10  // bytes; word boundaries are long in the backtracking engine's syntax
)

// maxLinearCount is the largest n that package regexp accepts in {n,m}, with nested counts
// multiplied.
const maxLinearCount = 1000

// analyzer visits each node of a tree once and stores in it its facts and counted, the product of
// the nested counts that package regexp will process.
type analyzer struct {
	refs      map[int]bool      // groups with back-references
	groups    map[int]nodeFacts // groups visited so far
	backtrack bool              // the pattern requires the backtracking engine
	boundary  bool              // \b or \B, which package regexp supports for ASCII only
}

// node computes and stores the facts of n and of all nodes below it. It returns an error for a
// look-behind that fancy_regex refuses. Sizes are capped at maxSize+1, so that sums do not
// overflow.
func (a *analyzer) node(n *node) (nodeFacts, error) {
	subs := make([]nodeFacts, len(n.subs))
	n.counted = 1
	// own is the size of the node with its parts, which opRepeat multiplies instead.
	own := stepSize
	for i, sub := range n.subs {
		facts, err := a.node(sub)
		if err != nil {
			return nodeFacts{}, err
		}
		subs[i] = facts
		own += facts.size
		n.counted = max(n.counted, sub.counted)
	}
	if n.op == opCondition && n.subs[0].op != opExists {
		own += subs[0].size // the backtracking engine's syntax repeats the expression
	}
	facts := a.combine(n, subs)
	if n.op != opRepeat {
		facts.size += own
	}
	facts.size = min(facts.size, maxSize+1)
	facts.min = min(facts.min, maxSize)
	if n.op == opLook && n.behind && !isBehindAllowed(n.subs[0], subs[0]) {
		return facts, &syntaxError{n.pos, "look-behind of variable length around something that is not plain"}
	}
	n.facts = facts
	return facts, nil
}

// isBehindAllowed also allows alternatives of different lengths, since each is matched separately.
func isBehindAllowed(n *node, facts nodeFacts) bool {
	// fancy_regex passes a look-behind without hard parts on, and limits only the others.
	if facts.fixed || !facts.hard {
		return true
	}
	if n.op != opAlternate {
		return false
	}
	for _, sub := range n.subs {
		if !sub.facts.fixed && sub.facts.hard {
			return false
		}
	}
	return true
}

// combine returns the facts of a node. The size excludes that of its parts, unless it repeats one.
// A sequence is fixed if all its parts are; alternatives are fixed if all have the same length.
func (a *analyzer) combine(n *node, subs []nodeFacts) nodeFacts {
	facts := nodeFacts{fixed: true}
	switch n.op {
	case opSet:
		facts.min = 1
		for _, r := range n.set {
			if r.hi >= 0x80 {
				facts.size += rangeSize
			}
		}
	case opConcat:
		for _, sub := range subs {
			facts.min += sub.min
			facts.fixed = facts.fixed && sub.fixed
			facts.hard = facts.hard || sub.hard
		}
	case opAlternate:
		facts = nodeFacts{min: subs[0].min, fixed: subs[0].fixed, hard: subs[0].hard}
		for _, sub := range subs[1:] {
			facts.fixed = facts.fixed && sub.fixed && facts.min == sub.min
			facts.min = min(facts.min, sub.min)
			facts.hard = facts.hard || sub.hard
		}
	case opRepeat:
		facts = a.repeat(n, subs[0])
	case opGroup:
		// A group with a back-reference needs an engine that records what it matched.
		facts = nodeFacts{min: subs[0].min, fixed: subs[0].fixed, hard: subs[0].hard || a.refs[n.group]}
		a.groups[n.group] = facts
	case opAtomic:
		facts = nodeFacts{min: subs[0].min, fixed: subs[0].fixed, hard: true}
		a.backtrack = true
	case opBackref:
		group := a.groups[n.group]
		// A back-reference matches the text of its group, so it has the group's length.
		facts = nodeFacts{min: group.min, fixed: group.fixed, hard: true}
		a.backtrack = true
	case opCondition:
		cond, yes, no := subs[0], subs[1], subs[2]
		// The branch "no" is taken without consuming the condition.
		facts.min = cond.min + min(yes.min, no.min)
		facts.fixed = cond.fixed && yes.fixed && no.fixed && cond.min+yes.min == no.min
		facts.hard = true
		a.backtrack = true
	case opLook, opExists:
		facts.hard = true
		a.backtrack = true
	case opWordStart, opWordEnd, opHalfStart, opHalfEnd:
		facts.hard, facts.size = true, assertionSize
		a.backtrack = true
	// These need look-around in the backtracking engine's syntax; Rust's linear engine has them.
	case opLineStartCRLF, opLineEndCRLF:
		a.backtrack = true
	case opBoundary, opNotBoundary:
		// Package regexp can match these in ASCII text without backtracking.
		facts.hard, facts.size = true, assertionSize
		a.boundary = true
	case opKeep, opContinue:
		facts.hard = true
	}
	return facts
}

// repeat returns the facts of n, which repeats a node with the facts sub, and updates n.counted. A
// repetition without an upper bound needs one copy more than its minimum, since the last copy
// loops.
func (a *analyzer) repeat(n *node, sub nodeFacts) nodeFacts {
	times := n.hi
	if n.hi == unlimited {
		times = n.lo + 1
	}
	// linearRepeat splits counts above the limit, so counted does not exceed maxLinearCount.
	if most := max(n.lo, n.hi); most > 1 {
		n.counted = min(most, maxLinearCount/n.counted) * n.counted
	}
	return nodeFacts{
		min:   sub.min * n.lo,
		fixed: sub.fixed && n.lo == n.hi,
		hard:  sub.hard,
		size:  stepSize + sub.size*times,
	}
}

// withoutTrailingLook replaces a look-ahead at the very end of a pattern with its contents: if only
// the existence of a match matters, the two are equivalent, and the second needs no backtracking.
func withoutTrailingLook(n *node) *node {
	// The pattern consists only of the look-ahead.
	if n.op == opLook && !n.behind && !n.negated {
		return n.subs[0]
	}
	if n.op != opConcat {
		return n
	}
	last := len(n.subs) - 1
	if look := n.subs[last]; look.op == opLook && !look.behind && !look.negated {
		subs := append(append([]*node{}, n.subs[:last]...), look.subs[0])
		return &node{op: opConcat, subs: subs}
	}
	return n
}

// plainText reports whether a pattern is a literal text, possibly anchored at the start or end.
func plainText(n *node) (text string, start, end, ok bool) {
	parts := n.subs
	if n.op != opConcat {
		parts = []*node{n}
	}
	// An empty pattern is the empty text.
	if n.op == opEmpty {
		parts = nil
	}
	// The anchors ^ and $ become the results start and end.
	if len(parts) > 0 && parts[0].op == opTextStart {
		start, parts = true, parts[1:]
	}
	if last := len(parts) - 1; last >= 0 && parts[last].op == opTextEnd {
		end, parts = true, parts[:last]
	}
	runes := make([]rune, len(parts))
	for i, part := range parts {
		if part.op != opSet || len(part.set) != 1 || part.set[0].lo != part.set[0].hi {
			return "", false, false, false
		}
		runes[i] = part.set[0].lo
	}
	return string(runes), start, end, true
}
