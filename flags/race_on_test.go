//go:build race

package flags

// RaceDetector is true because crypto/sha1 extends a slice in a way that allocates only under
// the race detector, so that allocations are not counted there.
const RaceDetector = true
