package capture

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The calls of clients that need different times for their next request come into one commit again, and a
// client alone does not wait.
func TestRecorder_GathersCallsOfPreviousCommit(t *testing.T) {
	for name, clients := range map[string]int{"three clients": 3, "one": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const rounds, commitTime = 5, 10 * time.Millisecond
				ledger := newBlockingLedger()
				ledger.fail = func(*Changes) error { time.Sleep(commitTime); return nil }
				r := NewRecorder(RecorderConfig{Ledger: ledger})
				start := time.Now()
				var running sync.WaitGroup
				for n := range clients {
					running.Go(func() {
						for range rounds {
							if err := r.Append(t.Context(), batchOf(someEvent("e", "u"))); err != nil {
								t.Error(err)
							}
							time.Sleep(time.Duration(n) * 700 * time.Microsecond)
						}
					})
				}
				running.Wait()
				elapsed := time.Since(start)
				r.Close()
				for n, c := range ledger.saved[1 : rounds-1] { // the first one depends on who was first
					if len(c.Events) != clients {
						t.Errorf("commit %d has %d events, want one of each client", n+1, len(c.Events))
					}
				}
				if clients == 1 && elapsed != rounds*commitTime {
					t.Errorf("%s for %d commits of %s", elapsed, rounds, commitTime)
				}
			})
		})
	}
}

// Calls that are independent of one another do not wait: after some commits that have waited in vain, few do.
func TestRecorder_GathersOnlyWhatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gatherer
		queue, closing := make(chan *pending, 10), make(chan struct{})
		start := time.Now()
		const commits = 10 * gatherAgain
		for range commits {
			if group := g.gather(&pending{}, queue, closing, 10); len(group) != 1 {
				t.Fatalf("%d calls, want 1", len(group))
			}
			g.committed(1, 1, 10*time.Millisecond) // the call that has arrived was abandoned
		}
		if waited, most := time.Since(start), 11*longestGather; waited < longestGather || waited > most {
			t.Errorf("%s for %d commits, want at most %s", waited, commits, most)
		}
	})
}
