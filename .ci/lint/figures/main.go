// Command figures prints figures of the repository with their bounds, and fails if one misses its
// bound: the sizes of packages and files, the share of tests, exported identifiers, references
// between files that lead backwards, exceptions of the linters, and complex functions.
//
//	make house
//
// A bound that is looser than its goal is the figure of the commit that set it: it may only be
// tightened. The argument is the root of the repository.
package main

import (
	"fmt"
	"io"
	"os"
)

// figure is a measured number and its bound.
type figure struct {
	name  string
	value float64
	where string // what has the value, for the greatest of several
	bound float64
	goal  float64 // 0 if it equals the bound
	least bool    // the bound and the goal are minima, otherwise maxima
}

func (f figure) isMissed() bool {
	return f.least && f.value < f.bound || !f.least && f.value > f.bound
}

func (f figure) String() string {
	side := "at most"
	if f.least {
		side = "at least"
	}
	text := fmt.Sprintf("%-46s %7s  %s %s", f.name, number(f.value), side, number(f.bound))
	if f.goal != f.bound {
		text += ", goal " + number(f.goal)
	}
	if f.where != "" {
		text += "  (" + f.where + ")"
	}
	if f.isMissed() {
		text += "  MISSED"
	}
	return text
}

// number formats a whole number without decimals, and any other with three.
func number(n float64) string {
	if n == float64(int64(n)) {
		return fmt.Sprintf("%d", int64(n))
	}
	return fmt.Sprintf("%.3f", n)
}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := run(root, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// run measures and prints the figures of the repository at root.
func run(root string, out io.Writer) error {
	list, err := measure(root)
	if err != nil {
		return err
	}
	missed := 0
	for _, f := range list {
		if _, err := fmt.Fprintln(out, f); err != nil {
			return err
		}
		if f.isMissed() {
			missed++
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d figures miss their bounds", missed)
	}
	return nil
}
