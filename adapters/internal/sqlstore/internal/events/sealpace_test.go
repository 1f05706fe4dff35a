package events

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// After computing, sealing pauses for three times as long if events were stored meanwhile, or for as long if too many
// wait to be sealed, and for 20 ms at most. It does not pause if no event was stored, or after less than a millisecond.
func TestSealPace(t *testing.T) {
	for name, step := range map[string]struct {
		computed time.Duration
		stored   int64 // events meanwhile
		isBehind bool
		want     time.Duration
	}{
		"events are stored": {2 * time.Millisecond, 1, false, 6 * time.Millisecond},
		"too many wait":     {2 * time.Millisecond, 1, true, 2 * time.Millisecond},
		"the longest pause": {9 * time.Millisecond, 1, false, 20 * time.Millisecond},
		"no events":         {9 * time.Millisecond, 0, false, 0},
		"a short part":      {time.Millisecond - 1, 1, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stored atomic.Int64
				p := sealPace{isBehind: step.isBehind}
				if err := p.pause(t.Context(), &stored); err != nil { // begins
					t.Fatal(err)
				}
				time.Sleep(step.computed)
				stored.Add(step.stored)
				start := time.Now()
				if err := p.pause(t.Context(), &stored); err != nil {
					t.Fatal(err)
				}
				if paused := time.Since(start); paused != step.want {
					t.Errorf("paused for %s, want %s", paused, step.want)
				}
			})
		})
	}
}
