//go:build !unix

package segment

import "math"

// fileLimit returns how many descriptors the process may have.
func fileLimit() uint64 { return math.MaxUint64 }
