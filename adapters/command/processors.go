package command

import (
	"runtime"
	"sync"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// pollers is the number of processors of Go's scheduler that it has in addition to the processors of the machine.
const pollers = 2

// addProcessors adds processors to Go's scheduler, unless the environment sets their number. The scheduler
// looks for received requests only when one of its processors has nothing to run, and otherwise every ten
// milliseconds. While events arrive as fast as possible, every processor of the machine is in use, and small
// requests would wait that long.
//
// Like tuneMemory, it applies to the process. It must be called after the server is open, because the server
// divides its work by the number of processors of the machine.
func addProcessors(p *cli.Program) {
	if p.Env["GOMAXPROCS"] == "" {
		addOnce()
	}
}

var addOnce = sync.OnceFunc(addPollers)

// addPollers adds the processors.
func addPollers() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + pollers) }
