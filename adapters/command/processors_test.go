package command

import (
	"runtime"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// The scheduler gets two processors more than the machine has, but not if the environment sets their number. A
// second server of the process does not add more.
func TestAddProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	addProcessors(&cli.Program{Env: map[string]string{"GOMAXPROCS": "1"}})
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("%d processors with a number in the environment, want %d", n, before)
	}
	addPollers()
	if n := runtime.GOMAXPROCS(0); n != before+2 {
		t.Errorf("%d processors, want %d", n, before+2)
	}
	addProcessors(&cli.Program{}) // the first server, unless another test has started one
	n := runtime.GOMAXPROCS(0)
	addProcessors(&cli.Program{})
	if again := runtime.GOMAXPROCS(0); again != n {
		t.Errorf("%d processors with a second server, want %d", again, n)
	}
}
