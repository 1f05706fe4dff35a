package sqlstore

import (
	"unsafe"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/spaolacci/murmur3"

	"github.com/bunting-flags/bunting/capture"
)

// An event holds its person's properties as they were after it (§8.3 of
// capture). They seldom differ from those of the event before, so they are kept
// once, under the id of the first event that has them, and the events after it
// refer to that id.

const (
	// stateReach is how far back an event refers, in ids: what is older is kept
	// again, so that old events can be deleted with the states that they refer to.
	stateReach = 1 << 18
	// rememberedStates bounds the states that are found again.
	rememberedStates = 32768
)

// stateKey is what makes two states the same: whose they are, and what they say.
type stateKey struct {
	project    int64
	person     capture.UUID
	sum1, sum2 uint64
}

// states remembers which event had which state first.
type states = lru.Cache[stateKey, int64]

func newStates() *states {
	s, _ := lru.New[stateKey, int64](rememberedStates) // fails only for sizes below 1
	return s
}

var insertStates = inserts(`INSERT INTO person_states (event_id, properties)`, 2, "")

// saveStates finds the state of each event, saves the new ones, and returns the
// ids to refer to, 0 for no properties at all.
func (t *ledgerTx) saveStates(events []capture.Record) ([]int64, error) {
	ids := make([]int64, len(events))
	// Events of one person share the text as long as it does not change.
	seen := make(map[*byte]int64, 64)
	var fresh []int // events that have a state first
	for i := range events {
		e := &events[i]
		if e.PersonProperties == "{}" || e.PersonProperties == "" {
			continue
		}
		text := unsafe.StringData(e.PersonProperties)
		id, ok := seen[text]
		if !ok {
			if id, ok = t.state(e); !ok {
				fresh = append(fresh, i)
			}
			seen[text] = id
		}
		ids[i] = id
	}
	return ids, t.insert(&insertStates, len(fresh), func(args []any, i int) []any {
		e := &events[fresh[i]]
		return append(args, e.ID, e.PersonProperties)
	})
}

// state finds the event that had the same state first; that is the event itself
// when ok is false.
func (t *ledgerTx) state(e *capture.Record) (id int64, ok bool) {
	sum1, sum2 := murmur3.Sum128(unsafe.Slice(unsafe.StringData(e.PersonProperties), len(e.PersonProperties)))
	key := stateKey{e.ProjectID, e.PersonID, sum1, sum2}
	if id, ok := t.states[key]; ok {
		return id, true
	}
	if id, ok := t.store.states.Get(key); ok && id < e.ID && e.ID-id < stateReach {
		return id, true
	}
	if t.states == nil {
		t.states = map[stateKey]int64{}
	}
	t.states[key] = e.ID
	return e.ID, false
}
