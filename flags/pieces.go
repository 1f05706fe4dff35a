package flags

import "runtime"

// This file keeps the work on many flags from holding up those who decide
// meanwhile: where goroutines have to share a core, one that works without a stop
// may keep the others waiting for ten milliseconds.

// yieldEvery is how many flags are worked on in one go: some 100 µs.
const yieldEvery = 64

// yield lets others have the core, now and then.
func yield(done int) {
	if done%yieldEvery == yieldEvery-1 {
		runtime.Gosched()
	}
}
