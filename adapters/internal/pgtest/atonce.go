package pgtest

import (
	"sync"
	"testing"
)

// Concurrently runs a function n times at the same time and waits for all calls.
func Concurrently(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			if err := do(i); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	close(start)
	all.Wait()
}
