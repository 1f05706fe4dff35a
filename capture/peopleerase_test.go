package capture

import (
	"context"
	"errors"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// eraser is a store of persons with a number of events each. It counts the persons that each transaction
// deletes.
type eraser struct {
	Tx
	events       map[UUID]int64
	transactions []int
	fails        UUID // ErasePerson fails for this person
	erasing      func(person UUID)
}

var errEraser = errors.New("the disk is full")

func (e *eraser) Transact(_ context.Context, _ int64, work func(Tx) error) error {
	e.transactions = append(e.transactions, 0)
	return work(e)
}

func (e *eraser) ErasePerson(_ int64, person UUID, withEvents bool) (found bool, events int64, err error) {
	if e.erasing != nil {
		e.erasing(person)
	}
	e.transactions[len(e.transactions)-1]++
	events, found = e.events[person]
	if !withEvents {
		events = 0
	}
	if person == e.fails && found {
		err = errEraser
	}
	return found, events, err
}

// newEraser returns a store of n persons with as many events each, and the persons with one that does
// not exist.
func newEraser(n int, events int64) (e *eraser, persons []UUID) {
	e = &eraser{events: map[UUID]int64{}}
	for i := range n {
		persons = append(persons, UUID{1, byte(i)})
		e.events[persons[i]] = events
	}
	return e, append(persons, UUID{2})
}

// Decision 17: all persons are deleted. A transaction deletes at most 25 of them, and ends after 250
// events, since the events of clients wait meanwhile.
func TestDecision_17_EraseMany(t *testing.T) {
	for name, tt := range map[string]struct {
		persons    int
		events     int64
		withEvents bool
		want       []int // persons of each transaction; one more does not exist
	}{
		"nobody":         {0, 0, true, []int{1}},
		"few events":     {60, 1, true, []int{25, 25, 11}},
		"many events":    {6, 100, true, []int{3, 3, 1}},
		"one has all":    {2, 10_000, true, []int{1, 1, 1}},
		"without events": {30, 10_000, false, []int{25, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			e, persons := newEraser(tt.persons, tt.events)
			erased := map[UUID]int64{}
			err := (&People{Transactor: e}).Erase(t.Context(), 1, persons, tt.withEvents, func(person UUID, events int64) { erased[person] = events })
			if err != nil {
				t.Error(err)
			}
			if diff := gocmp.Diff(tt.want, e.transactions); diff != "" {
				t.Error(diff)
			}
			if !tt.withEvents {
				for id := range e.events {
					e.events[id] = 0
				}
			}
			if diff := gocmp.Diff(e.events, erased); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If a transaction fails or the request ends, only the persons of earlier transactions are reported.
func TestDecision_17_EraseStops(t *testing.T) {
	for name, stop := range map[string]struct {
		at   func(e *eraser, person UUID, cancel func())
		want error
	}{
		"failure": {func(e *eraser, person UUID, _ func()) { e.fails = person }, errEraser},
		"end of the request": {func(e *eraser, person UUID, cancel func()) {
			e.erasing = func(id UUID) {
				if id == person {
					cancel()
				}
			}
		}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			e, persons := newEraser(60, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stop.at(e, persons[30], cancel)
			n := 0
			if err := (&People{Transactor: e}).Erase(ctx, 1, persons, true, func(UUID, int64) { n++ }); !errors.Is(err, stop.want) {
				t.Error(err)
			}
			if n != 25 || len(e.transactions) != 2 {
				t.Errorf("%d persons, transactions %v", n, e.transactions)
			}
		})
	}
}
