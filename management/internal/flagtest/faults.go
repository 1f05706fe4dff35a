package flagtest

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// FaultyWorld is like New with a store that can fail.
func FaultyWorld(t *testing.T, faulty *memstore.Faulty) *ruletest.World {
	faulty.Store = newStore()
	return open(t, faulty)
}

// Faults checks that after a failure of any call to the store the request returns that failure and
// changes no data: repeated requests return the expected results. The rows of a table in setup run
// before the store starts to fail. They are not atomic: a cohort is stored before it is counted, and
// due changes are applied one by one.
func Faults(t *testing.T, tables, setup map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			faulty := &memstore.Faulty{After: -1}
			w := FaultyWorld(t, faulty)
			w.Run(t, RoomCalls(t, w), setup[name])
			w.RunFaulty(t, RoomCalls(t, w), rows, memstore.ErrDisk, func(after int) bool {
				failed := faulty.Failed
				faulty.After, faulty.Failed = after, false
				return failed
			})
		})
	}
}
