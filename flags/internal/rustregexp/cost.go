package rustregexp

import "regexp/syntax"

// Limits of package regexp, which in the worst case executes every instruction of the program for
// each byte of the text: some 10 ns per step, so that a search takes at most a third of a second.
const (
	maxProgram    = 10_000  // instructions
	maxSteps      = 1 << 25 // instructions times bytes of text
	maxLinearText = 1 << 20 // bytes, even for a small program
)

// maxSetWork limits the time for computing the bracket classes and properties of a pattern. Each
// time a set of runes is computed from others, the number of their ranges is added, and with (?i)
// the number of runes in them that have an upper and a lower case; each takes some 50 ns. \w and
// \pL have some 700 ranges and 2,700 such runes. A property that package unicode does not have
// counts as engineSetWork, because its first use in a process takes 20 ms.
const (
	maxSetWork    = 1 << 20
	engineSetWork = maxSetWork / 8
)

// useBudget adds work on sets to the total, before it is done. start is the position in the pattern
// for the error.
func (p *parser) useBudget(start, work int) error {
	if p.work += work; p.work > maxSetWork {
		return p.errorf(start, "its classes take too long to compute, write fewer or smaller ones")
	}
	return nil
}

// foldWork returns the work of folding a set.
func foldWork(s runeSet) int { return len(s) + len(s.foldable()) }

// instructions returns the approximate number of instructions of an expression without compiling
// it. Counted repetitions are expanded.
func instructions(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpConcat:
	case syntax.OpLiteral:
		// Every rune is an instruction.
		n += len(re.Rune)
	case syntax.OpCapture:
		// One at each end of the group.
		n += 2
	case syntax.OpAlternate:
		// A choice between two alternatives at a time.
		n += len(re.Sub) - 1
	case syntax.OpRepeat:
		// A choice precedes each optional copy, and an unlimited repetition has one.
		n = n*max(re.Min, re.Max, 1) + max(re.Max-re.Min, 1)
	default: // one instruction: a class, an assertion, the choice of a star
		n++
	}
	return min(max(n, 1), 1<<20) // prevents an overflow of the sum
}
