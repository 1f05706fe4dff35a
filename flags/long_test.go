package flags

import "flag"

var long = flag.Bool("long", false, "draw five times as many definitions and subjects")

// Draws returns the number of random definitions or subjects in a test: few, or five times as
// many with -long. They are the same in each run.
func Draws(few int) int {
	if *long {
		return 5 * few
	}
	return few
}
