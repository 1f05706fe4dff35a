package throttle

import (
	"sync"
	"time"
)

// Every returns a function that passes the first error to report, and then at most one in each
// pause, with the number of errors it skipped. It is safe for concurrent use.
func Every(pause time.Duration, report func(err error, skipped int)) func(error) {
	var mu sync.Mutex
	var last time.Time
	skipped := 0
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) < pause {
			skipped++
			return
		}
		report(err, skipped)
		last, skipped = time.Now(), 0
	}
}

// Streak is whether the last piece of work has failed. The zero value is ready for use.
type Streak struct{ failing bool }

// Begins records the result of a piece of work, and reports whether it is the first failure after a
// success.
func (s *Streak) Begins(err error) bool {
	first := err != nil && !s.failing
	s.failing = err != nil
	return first
}
