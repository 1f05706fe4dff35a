package command

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// Memory is returned after the start and while a server is idle. It is not returned while requests
// allocate much: each would wait for pages of the program.
func TestWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		calls := 0
		go whenIdle(ctx, func() { calls++ })
		for _, step := range []struct {
			name      string
			allocated int
			time      time.Duration
			calls     int
		}{
			{"the start", 0, 0, 1},
			{"the first quarter of a minute", 0, 15 * time.Second, 2},
			{"half a minute with little work", 1 << 20, 30 * time.Second, 3},
			{"half a minute with much work", 17 << 20, 30 * time.Second, 3},
			{"an idle half minute after it", 0, 30 * time.Second, 4},
		} {
			synctest.Wait()
			runtime.KeepAlive(make([]byte, step.allocated))
			time.Sleep(step.time)
			synctest.Wait()
			if calls != step.calls {
				t.Errorf("after %s: memory was returned %d times, want %d", step.name, calls, step.calls)
			}
		}
	})
}

// The limit of the heap is in proportion to the memory of the server, five eighths of it, unless the environment sets it.
func TestTuneMemory(t *testing.T) {
	heap, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	defer func() {
		debug.SetMemoryLimit(heap)
		debug.SetGCPercent(percent)
	}()
	for memory, want := range map[int64]int64{256 << 20: 160 << 20, 1 << 30: 640 << 20} {
		debug.SetMemoryLimit(math.MaxInt64)
		tuneMemory(&cli.Program{Env: map[string]string{"GOMEMLIMIT": "1GiB"}}, memory)
		if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
			t.Errorf("with GOMEMLIMIT: %d bytes", got)
		}
		tuneMemory(&cli.Program{}, memory)
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("with %d MiB: %d bytes of heap, want %d", memory>>20, got, want)
		}
	}
}
