package rustregexp

import "regexp/syntax"

// Limits of package regexp, which looks at each byte of the text with, at worst, each instruction
// of the program: some 10 ns a step, so that a search takes a third of a second at most.
const (
	maxProgram    = 10_000  // instructions
	maxSteps      = 1 << 25 // instructions times bytes of text
	maxLinearText = 1 << 20 // bytes, of however small a program
)

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
