package events

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Each number is worked on once, whatever the number of goroutines. After an error no further number begins, and the
// error of the least number is returned, also if work panics.
func TestInParallel(t *testing.T) {
	for _, goroutines := range []int{1, 2, 7} {
		var mu sync.Mutex
		seen := map[int]int{}
		err := inParallel(goroutines, 500, func(goroutine, i int) error {
			if goroutine < 0 || goroutine >= goroutines {
				t.Errorf("goroutine %d of %d", goroutine, goroutines)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[i]++
			return nil
		})
		if err != nil || len(seen) != 500 {
			t.Errorf("%d goroutines: %d numbers, %v", goroutines, len(seen), err)
		}
		for i, n := range seen {
			if n != 1 {
				t.Errorf("%d goroutines: the number %d came %d times", goroutines, i, n)
			}
		}
		last := 0
		err = inParallel(goroutines, 500, func(_, i int) error {
			mu.Lock()
			defer mu.Unlock()
			if last = max(last, i); i >= 20 {
				return fmt.Errorf("number %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "number 20" || last > 20+goroutines {
			t.Errorf("%d goroutines: %v, the last number was %d", goroutines, err, last)
		}
		err = inParallel(goroutines, 3, func(_, i int) error {
			if i == 1 {
				panic("a bug")
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "a bug") {
			t.Errorf("%d goroutines: a panic becomes %v", goroutines, err)
		}
	}
	if err := inParallel(1, 0, func(int, int) error { return errors.New("called") }); err != nil {
		t.Error(err)
	}
}
