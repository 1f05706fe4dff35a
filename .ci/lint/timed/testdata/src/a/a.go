package a

import "time"

// What is not a test may measure.
func slow(start time.Time) bool { return time.Since(start) > time.Second }
