package rustregexp

import (
	"maps"
	"unicode"
)

// referenceMatcher is a simple backtracking matcher over the parsed tree: slow, without any
// optimization, and independent of both engines. It stops after a number of steps.
type referenceMatcher struct {
	text  []rune
	spans map[int][2]int // the text that each group matched
	steps int
}

// referenceFind searches for a match of a tree in a text; ok is false if it stopped early.
func referenceFind(tree *node, text string) (found, ok bool) {
	m := &referenceMatcher{text: []rune(text), steps: 200_000}
	for start := 0; start <= len(m.text); start++ {
		m.spans = make(map[int][2]int)
		if m.match(tree, start, func(int) bool { return true }) {
			return true, m.steps > 0
		}
	}
	return false, m.steps > 0
}

// match tries n at i and passes each end to next until next returns true.
func (m *referenceMatcher) match(n *node, i int, next func(int) bool) bool {
	if m.steps--; m.steps <= 0 {
		return false
	}
	switch n.op {
	case opEmpty, opKeep:
		return next(i)
	case opSet:
		return i < len(m.text) && n.set.has(m.text[i]) && next(i+1)
	case opConcat:
		return m.sequence(n.subs, i, next)
	case opAlternate:
		for _, sub := range n.subs {
			if m.match(sub, i, next) {
				return true
			}
		}
		return false
	case opRepeat:
		return m.repeat(n, 0, i, next)
	case opGroup:
		before, was := m.spans[n.group]
		if m.match(n.subs[0], i, func(j int) bool {
			inner, had := m.spans[n.group]
			m.spans[n.group] = [2]int{i, j}
			if next(j) {
				return true
			}
			m.restore(n.group, inner, had)
			return false
		}) {
			return true
		}
		m.restore(n.group, before, was)
		return false
	case opAtomic:
		return m.undo(func() bool {
			end, ok := m.once(n.subs[0], i)
			return ok && next(end)
		})
	case opLook:
		return m.undo(func() bool { return m.look(n, i) && next(i) })
	case opBackref:
		span, ok := m.spans[n.group]
		if !ok || i+span[1]-span[0] > len(m.text) {
			return false
		}
		for k := span[0]; k < span[1]; k, i = k+1, i+1 {
			if a, b := m.text[k], m.text[i]; a != b && (!n.fold || !runeSet{{a, a}}.fold().has(b)) {
				return false
			}
		}
		return next(i)
	case opExists:
		_, ok := m.spans[n.group]
		return ok && next(i)
	case opCondition:
		return m.undo(func() bool {
			if end, ok := m.once(n.subs[0], i); ok {
				return m.match(n.subs[1], end, next)
			}
			return m.match(n.subs[2], i, next)
		})
	}
	return m.assertion(n.op, i) && next(i)
}

func (m *referenceMatcher) restore(group int, span [2]int, hadSpan bool) {
	if hadSpan {
		m.spans[group] = span
	} else {
		delete(m.spans, group)
	}
}

// undo calls try and, if that fails, restores the texts that groups matched.
func (m *referenceMatcher) undo(try func() bool) bool {
	before := maps.Clone(m.spans)
	if try() {
		return true
	}
	m.spans = before
	return false
}

func (m *referenceMatcher) sequence(subs []*node, i int, next func(int) bool) bool {
	if len(subs) == 0 {
		return next(i)
	}
	return m.match(subs[0], i, func(j int) bool { return m.sequence(subs[1:], j, next) })
}

func (m *referenceMatcher) repeat(n *node, count, i int, next func(int) bool) bool {
	more := func() bool {
		return (n.hi == unlimited || count < n.hi) && m.match(n.subs[0], i, func(j int) bool {
			if j == i && count >= n.lo { // an empty repetition need not be repeated
				return next(j)
			}
			return m.repeat(n, count+1, j, next)
		})
	}
	if count < n.lo {
		return more()
	}
	if n.lazy {
		return next(i) || more()
	}
	return more() || next(i)
}

// once returns the first end of n at i.
func (m *referenceMatcher) once(n *node, i int) (end int, ok bool) {
	ok = m.match(n, i, func(j int) bool { end = j; return true })
	return end, ok
}

func (m *referenceMatcher) look(n *node, i int) bool {
	var found bool
	if !n.behind {
		_, found = m.once(n.subs[0], i)
	} else {
		for start := i; start >= 0 && !found; start-- {
			found = m.match(n.subs[0], start, func(j int) bool { return j == i })
		}
	}
	return found != n.negated
}

func (m *referenceMatcher) assertion(op nodeOp, i int) bool {
	at := func(j int, ok func(rune) bool) bool { return j >= 0 && j < len(m.text) && ok(m.text[j]) }
	is := func(r rune) func(rune) bool { return func(x rune) bool { return x == r } }
	word := func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
	}
	before, after := at(i-1, word), at(i, word)
	switch op {
	case opTextStart, opContinue:
		return i == 0
	case opTextEnd:
		return i == len(m.text)
	case opLineStart:
		return i == 0 || at(i-1, is('\n'))
	case opLineEnd:
		return i == len(m.text) || at(i, is('\n'))
	case opLineStartCRLF:
		return i == 0 || at(i-1, is('\n')) || at(i-1, is('\r')) && !at(i, is('\n'))
	case opLineEndCRLF:
		return i == len(m.text) || at(i, is('\r')) || at(i, is('\n')) && !at(i-1, is('\r'))
	case opBoundary:
		return before != after
	case opNotBoundary:
		return before == after
	case opWordStart:
		return !before && after
	case opWordEnd:
		return before && !after
	case opHalfStart:
		return !before
	}
	return !after // opHalfEnd
}
