package rustregexp

import "regexp/syntax"

// Limits of package regexp, which looks at each byte of the text with, at worst, each instruction
// of the program: some 10 ns a step, so that a search takes a third of a second at most.
const (
	maxProgram    = 10_000  // instructions
	maxSteps      = 1 << 25 // instructions times bytes of text
	maxLinearText = 1 << 20 // bytes, of however small a program
)

// maxSetWork bounds how long it takes to read the bracket classes and properties of a pattern. Each time
// a set of runes is computed from others their ranges are counted, and with (?i) the runes among them
// that have an upper and a lower case; each takes some 50 ns. \w and \pL have some 700 ranges and
// 2,700 such runes. A property that package unicode does not know counts as engineSetWork, for the
// first use of one in a process takes 20 ms.
const (
	maxSetWork    = 1 << 20
	engineSetWork = maxSetWork / 8
)

// useBudget counts work on sets that is about to be done for what begins at a position of the pattern.
func (p *parser) useBudget(start, work int) error {
	if p.work += work; p.work > maxSetWork {
		return p.errorf(start, "its classes take too long to compute, write fewer or smaller ones")
	}
	return nil
}

// foldWork is how much it takes to fold a set.
func foldWork(s runeSet) int { return len(s) + len(s.foldable()) }

// instructions is how many instructions an expression takes, about, without compiling it: counted
// repetitions are written out.
func instructions(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpConcat:
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCapture:
		n += 2
	case syntax.OpAlternate:
		n += len(re.Sub) - 1
	case syntax.OpRepeat:
		n = n*max(re.Min, re.Max, 1) + max(re.Max-re.Min, 1)
	default: // one of its own: a class, an assertion, the choice of a star
		n++
	}
	return min(max(n, 1), 1<<20) // so that nothing overflows on the way up
}
