package main

import (
	"context"
	"slices"
	"sync"
)

// A need is something of which one step at a time may have hold.
type need string

const (
	cpu      need = "cpu"      // computes on all processors
	chromium need = "browser"  // drives Chromium
	postgres need = "postgres" // starts PostgreSQL, and waits for its disk
	broker   need = "broker"   // starts NATS servers
)

// atOnce is how many steps run side by side: one that computes, and two that mostly wait.
const atOnce = 3

// schedule calls run for each step, in goroutines of its own, and returns when all have
// returned. A step begins when what it needs is free, and, where several could begin, in
// the order of the list. A step that another waits for with after ends before that one
// begins. Once ctx is done no further step begins.
func schedule(ctx context.Context, list []step, run func(context.Context, step)) {
	var (
		mu      sync.Mutex
		changed = sync.NewCond(&mu)
		busy    = map[need]bool{}
		running = map[string]bool{}
		waiting = slices.Clone(list)
	)
	isPending := func(name string) bool {
		return running[name] || slices.ContainsFunc(waiting, func(s step) bool { return s.name == name })
	}
	canBegin := func(s step) bool {
		return !slices.ContainsFunc(s.needs, func(n need) bool { return busy[n] }) &&
			!slices.ContainsFunc(s.after, isPending)
	}
	mu.Lock()
	defer mu.Unlock()
	for len(running) > 0 || len(waiting) > 0 && ctx.Err() == nil {
		i := slices.IndexFunc(waiting, canBegin)
		if i < 0 || len(running) == atOnce || ctx.Err() != nil {
			changed.Wait()
			continue
		}
		s := waiting[i]
		waiting = slices.Delete(waiting, i, i+1)
		running[s.name] = true
		for _, n := range s.needs {
			busy[n] = true
		}
		go func() {
			run(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			delete(running, s.name)
			for _, n := range s.needs {
				busy[n] = false
			}
			changed.Signal()
		}()
	}
}
