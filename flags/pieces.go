package flags

import "runtime"

// This file prevents work on many flags from delaying evaluations: if goroutines share a
// core, one that does not yield may delay another for ten milliseconds.

// yieldEvery is the number of flags between two yields: about 100 µs of work.
const yieldEvery = 64

// yield yields the processor to other goroutines after every yieldEvery calls.
func yield(done int) {
	if done%yieldEvery == yieldEvery-1 {
		runtime.Gosched()
	}
}
