package main

import (
	"context"
	"slices"
	"sync"
)

// A need is a resource that only one step at a time may use.
type need string

const (
	cpu      need = "cpu"      // computes on all processors
	chromium need = "browser"  // drives Chromium
	postgres need = "postgres" // starts PostgreSQL, and waits for its disk
	broker   need = "broker"   // starts NATS servers
)

// atOnce is the number of steps that run concurrently: one that computes, and two that mostly wait.
const atOnce = 3

// schedule calls run for each step, each in its own goroutine, and returns when all calls have
// returned. A step begins when its needs are free; of several steps that could begin, the first in
// the list does. A step begins after the steps in its field after have ended. Once ctx is done no
// further step begins.
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
