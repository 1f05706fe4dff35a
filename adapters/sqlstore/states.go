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
	// maxCachedStates bounds the states that are found again.
	maxCachedStates = 32768
)

// stateKey is what makes two states the same: whose they are, and what they say.
// Where other servers may erase events, with the states that these had first, it
// is also how often that has been done in the project.
type stateKey struct {
	project    int64
	erasures   int64
	person     capture.UUID
	sum1, sum2 uint64
}

// states remembers which event had which state first.
type states = lru.Cache[stateKey, int64]

func newStates() *states {
	s, _ := lru.New[stateKey, int64](maxCachedStates) // fails only for sizes below 1
	return s
}

var insertStates = newInsert(`INSERT INTO person_states (event_id, properties)`, 2, "")

// saveStates finds the state of each event, saves the new ones, and returns the
// ids to refer to, 0 for no properties at all.
func (t *ledgerTx) saveStates(events []capture.Record) ([]int64, error) {
	ids := make([]int64, len(events))
	// Events of one person share the text as long as it does not change.
	seen := make(map[*byte]int64, 64)
	var added []int // events that have a state first
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
	return ids, t.insert(&insertStates, len(added), func(args []any, i int) []any {
		e := &events[added[i]]
		return append(args, e.ID, e.PersonProperties)
	})
}

// state finds the event that had the same state first; that is the event itself
// when ok is false.
func (t *ledgerTx) state(e *capture.Record, erasures int64) (id int64, ok bool) {
	sum1, sum2 := murmur3.Sum128(unsafe.Slice(unsafe.StringData(e.PersonProperties), len(e.PersonProperties)))
	key := stateKey{e.ProjectID, erasures, e.PersonID, sum1, sum2}
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

// readErasures is how often events of a project have been erased, read once a
// transaction: it holds the project's lock, as those that erase do. This process
// forgets all states when it erases, so alone it need not ask.
func (t *ledgerTx) readErasures(project int64) (n int64, err error) {
	if t.store.dialect.singleWriter {
		return 0, nil
	}
	n, ok := t.erasures[project]
	if ok {
		return n, nil
	}
	if n, err = t.readCounter(project, counterErasures); err != nil {
		return 0, err
	}
	if t.erasures == nil {
		t.erasures = map[int64]int64{}
	}
	t.erasures[project] = n
	return n, nil
}
