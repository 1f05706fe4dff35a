package flags

import "flag"

var long = flag.Bool("long", false, "draw five times as many definitions and subjects")

// Draws returns how many random definitions or subjects a test is to draw: few, or five
// times as many with -long. What is drawn is the same in each run.
func Draws(few int) int {
	if *long {
		return 5 * few
	}
	return few
}
