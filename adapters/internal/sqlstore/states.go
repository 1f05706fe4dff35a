package sqlstore

import (
	"unsafe"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/spaolacci/murmur3"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
)

// An event has its person's properties as they were after it (§8.3 of capture). They
// seldom differ from the properties at the event before. Therefore they are stored in a
// table of states, under the id of the first event that has them, and the events after
// it refer to that id.

const (
	// maxCachedStates is the size of the cache of states.
	maxCachedStates = 32768
)

// stateKey identifies equal states: project, person and a hash of the properties. If
// other servers may erase events, and with them the states that other events refer to,
// the key also contains the number of erasures in the project.
type stateKey struct {
	project    int64
	erasures   int64
	person     capture.UUID
	sum1, sum2 uint64
}

// states maps states to the id of the first event that has them.
type states = lru.Cache[stateKey, int64]

// newStates returns an empty cache.
func newStates() *states {
	s, _ := lru.New[stateKey, int64](maxCachedStates) // fails only for sizes below 1
	return s
}

var insertStates = database.NewInsert(`INSERT INTO person_states (event_id, properties)`, 2, "")

// saveStates finds the state of each event, stores the new states, and returns the id
// that each event refers to, 0 for empty properties.
func (t *ledgerTx) saveStates(events []capture.Record) ([]int64, error) {
	ids := make([]int64, len(events))
	// Events of one person share the string until it changes, so its address identifies
	// it within the batch, without hashing.
	seen := make(map[*byte]int64, 64)
	var added []int // events that are the first of their state
	for i := range events {
		e := &events[i]
		if e.PersonProperties == "{}" || e.PersonProperties == "" {
			continue
		}
		text := unsafe.StringData(e.PersonProperties)
		id, ok := seen[text]
		if !ok {
			erasures, err := t.readErasures(e.ProjectID)
			if err != nil {
				return nil, err
			}
			if id, ok = t.state(e, erasures); !ok {
				added = append(added, i)
			}
			seen[text] = id
		}
		ids[i] = id
	}
	return ids, t.Insert(&insertStates, len(added), func(args []any, i int) []any {
		e := &events[added[i]]
		return append(args, e.ID, e.PersonProperties)
	})
}

// state returns the id of the first event with the same state. If ok is false, that is
// the event itself and the state must be stored.
func (t *ledgerTx) state(e *capture.Record, erasures int64) (id int64, ok bool) {
	sum1, sum2 := murmur3.Sum128(unsafe.Slice(unsafe.StringData(e.PersonProperties), len(e.PersonProperties)))
	key := stateKey{e.ProjectID, erasures, e.PersonID, sum1, sum2}
	if id, ok := t.states[key]; ok {
		return id, true
	}
	// Events refer to earlier events only, and only within events.StateReach.
	if id, ok := t.store.states.Get(key); ok && id < e.ID && e.ID-id < events.StateReach {
		return id, true
	}
	if t.states == nil {
		t.states = map[stateKey]int64{}
	}
	t.states[key] = e.ID
	return e.ID, false
}

// readErasures returns the number of erasures of events in a project. It is read one
// time in a transaction, which holds the lock of the project, as erasing transactions
// do. On SQLite it is not needed: this process is the only writer and empties its cache
// of states when it erases.
func (t *ledgerTx) readErasures(project int64) (n int64, err error) {
	if t.store.db.Dialect.SingleWriter {
		return 0, nil
	}
	n, ok := t.erasures[project]
	if ok {
		return n, nil
	}
	if n, err = t.ReadCounter(project, database.CounterErasures); err != nil {
		return 0, err
	}
	if t.erasures == nil {
		t.erasures = map[int64]int64{}
	}
	t.erasures[project] = n
	return n, nil
}
