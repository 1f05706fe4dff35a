package queries

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// keeperOf returns the keeper of a query about a project, whose data has been rewritten a number of
// times.
func (d *Service) keeperOf(project, rewritten int64) port.Keeper {
	return d.keeper(&preparedQuery{request: &Request{Project: &port.Project{ID: project}}, state: State{Rewritten: rewritten}})
}

// What is kept is found under its name, in its project and its version, until data is rewritten or
// there is no room.
func TestStates(t *testing.T) {
	d := &Service{}
	const large = stateBytes
	for _, c := range []struct {
		of                 string
		project, rewritten int64
		name, version      string
		want               any
		// give is the state that is given back, with its size.
		give  any
		bytes int64
	}{
		{"nothing", 1, 0, "a", "1", nil, "first", 100},
		{"what was given", 1, 0, "a", "1", "first", "second", 100},
		{"another name", 1, 0, "b", "1", nil, "of b", 100},
		{"another project", 2, 0, "a", "1", nil, nil, 0},
		{"another version is dropped", 1, 0, "a", "2", nil, nil, 0},
		{"and does not come back", 1, 0, "a", "1", nil, "third", 100},
		{"rewritten", 1, 1, "a", "1", nil, "fourth", 100},
		{"a state that is too large", 1, 1, "a", "1", "fourth", "fifth", large + 1},
		{"is not kept", 1, 1, "a", "1", nil, "sixth", large},
		{"a second large one: b is the oldest", 2, 0, "c", "1", nil, "of c", large},
		{"which has gone", 1, 0, "b", "1", nil, nil, 0},
		{"the other large one has not", 1, 1, "a", "1", "sixth", "seventh", large},
		{"a third one takes the room of the oldest", 3, 0, "e", "1", nil, "of e", 1},
		{"which was c", 2, 0, "c", "1", nil, nil, 0},
		{"not a", 1, 1, "a", "1", "seventh", nil, 0},
		{"nor e", 3, 0, "e", "1", "of e", nil, 0},
	} {
		k := d.keeperOf(c.project, c.rewritten)
		got, err := k.Take(t.Context(), c.name, c.version)
		if got != c.want || err != nil {
			t.Errorf("%s: %v, %v, want %v", c.of, got, err, c.want)
		}
		k.Give(c.name, c.version, c.give, c.bytes)
	}
	if d.stored.bytes != 0 || len(d.stored.states) != 0 || d.stored.recent.Len() != 0 || len(d.stored.taken) != 0 {
		t.Errorf("%d bytes, %d states, %d taken", d.stored.bytes, d.stored.recent.Len(), len(d.stored.taken))
	}
}

// personState is a state that depends on a person.
type personState struct{ capture.UUID }

func (s personState) DependsOn(people []capture.UUID) bool { return slices.Contains(people, s.UUID) }

// A merge of other persons keeps a state; a merge of a person on whom it depends, and a change whose
// persons are not known, remove it.
func TestStates_OfOtherPersons(t *testing.T) {
	ana, ben := capture.UUID{1}, capture.UUID{2}
	for of, c := range map[string]struct {
		rewritten map[int64]capture.UUID
		to        int64
		keeps     bool
	}{
		"nothing":                    {nil, 3, true},
		"a merge of another":         {map[int64]capture.UUID{4: ben}, 4, true},
		"two merges of others":       {map[int64]capture.UUID{4: ben, 5: ben}, 5, true},
		"a merge of the person":      {map[int64]capture.UUID{4: ben, 5: ana}, 5, false},
		"a merge before the state":   {map[int64]capture.UUID{3: ana, 4: ben}, 4, true},
		"a change of another server": {map[int64]capture.UUID{5: ben}, 5, false},
		"a query that began before":  {nil, 2, false},
	} {
		d := &Service{Config: Config{States: &fakeSource{rewritten: c.rewritten}}}
		k := d.keeperOf(1, 3)
		if _, err := k.Take(t.Context(), "a", "1"); err != nil {
			t.Fatal(err)
		}
		k.Give("a", "1", personState{ana}, 1)
		got, err := d.keeperOf(1, c.to).Take(t.Context(), "a", "1")
		if (got != nil) != c.keeps || err != nil {
			t.Errorf("%s: %v, %v; want it kept: %t", of, got, err, c.keeps)
		}
	}
}

// A state has one user at a time; a query that waits for it ends with its context.
func TestStates_Waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Service{}
		k := d.keeperOf(1, 0)
		if _, err := k.Take(t.Context(), "a", "1"); err != nil {
			t.Fatal(err)
		}
		got := make(chan any, 1)
		go func() {
			state, err := d.keeperOf(1, 0).Take(t.Context(), "a", "1")
			if err != nil {
				t.Error(err)
			}
			got <- state
		}()
		canceled := errors.New("the client has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(canceled)
		if _, err := k.Take(ctx, "a", "1"); !errors.Is(err, canceled) {
			t.Errorf("a cancelled query: %v", err)
		}
		synctest.Wait()
		if len(got) > 0 {
			t.Error("the state has two users")
		}
		k.Give("a", "1", "state", 5)
		synctest.Wait()
		if state := <-got; state != "state" {
			t.Errorf("after it was given back: %v", state)
		}
	})
}
