package command

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/internal/memory"
)

// memoryPercent is the percentage of the garbage collector. While the heap is small, garbage is collected less often
// than by default, and near the limit of the heap more often. Together with the database's own caches this limit keeps a
// loaded server below its memory.
const memoryPercent = 300

// tuneMemory sets the garbage collector's limits, except those that the environment sets, for a server with a memory in
// bytes. They apply to the whole process, so a server that is embedded in another program does not set them.
func tuneMemory(p *cli.Program, bytes int64) {
	if p.Env["GOGC"] == "" {
		debug.SetGCPercent(memoryPercent)
	}
	if p.Env["GOMEMLIMIT"] == "" {
		debug.SetMemoryLimit(memory.Of(bytes).Heap)
	}
}

// A server is idle if it has allocated at most idleAllocations within idleTime, which is enough for
// background work.
const (
	idleTime        = 30 * time.Second
	idleAllocations = 16 << 20
)

// whenIdle calls free now, after the start, and then whenever the process was idle for idleTime, until
// ctx ends. The first time is half as long: background work runs at full minutes after the start, and
// should be over when free is called.
func whenIdle(ctx context.Context, free func()) {
	free()
	for wait := idleTime / 2; ; wait = idleTime {
		before := allocated()
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if allocated()-before <= idleAllocations {
			free()
		}
	}
}

// returnMemory returns memory to the operating system that the start or requests have used and that
// is not in use any more.
func returnMemory() {
	debug.FreeOSMemory()
	unmapProgram()
}

// allocated returns the number of bytes that the process has allocated since it started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
