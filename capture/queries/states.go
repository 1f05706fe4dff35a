package queries

import (
	"container/list"
	"context"
	"sync"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// These are the limits of the states that are stored between queries, in bytes: all together, and one.
const (
	allStateBytes = 192 << 20
	stateBytes    = 96 << 20
)

// stateName identifies a state.
type stateName struct {
	project int64
	name    string
}

// storedState is a state, and the version with which it was given.
type storedState struct {
	stateName
	version   string
	rewritten int64 // State.Rewritten of the query
	state     any
	bytes     int64
}

// dependent is a state that knows the persons on whose events it depends.
type dependent interface {
	DependsOn(people []capture.UUID) bool
}

// storedStates are the states that queries store for later queries. When they are full, the least
// recently used ones are removed.
type storedStates struct {
	mu     sync.Mutex
	states map[stateName]*list.Element // the elements are *storedState
	recent list.List                   // sorted from most to least recently used
	bytes  int64
	// taken has a channel for each state that is taken, which is closed when it is given back.
	taken map[stateName]chan struct{}
}

// keeper is the port.Keeper of one query.
type keeper struct {
	*storedStates
	source    States
	project   int64
	rewritten int64 // see State
}

// keeper returns the keeper of a query.
func (d *Service) keeper(a *preparedQuery) port.Keeper {
	return &keeper{&d.stored, d.States, a.request.Project.ID, a.state.Rewritten}
}

// isValid reports whether a state is still what the project's data results in. Merged persons do not
// change a state that does not depend on them.
func (k *keeper) isValid(s *storedState) bool {
	if s.rewritten >= k.rewritten {
		return s.rewritten == k.rewritten
	}
	of, ok := s.state.(dependent)
	if !ok {
		return false
	}
	people, ok := k.source.Rewritten(k.project, s.rewritten, k.rewritten)
	return ok && !of.DependsOn(people)
}

// Limit implements port.Keeper.
func (k *keeper) Limit() int64 { return stateBytes }

// Take implements port.Keeper.
func (k *keeper) Take(ctx context.Context, name, version string) (any, error) {
	id := stateName{k.project, name}
	for {
		k.mu.Lock()
		wait := k.taken[id]
		if wait == nil {
			break
		}
		k.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer k.mu.Unlock()
	if k.taken == nil {
		k.taken, k.states = map[stateName]chan struct{}{}, map[stateName]*list.Element{}
	}
	k.taken[id] = make(chan struct{})
	s := k.remove(k.states[id])
	if s == nil || s.version != version || !k.isValid(s) {
		return nil, nil
	}
	return s.state, nil
}

// Give implements port.Keeper.
func (k *keeper) Give(name, version string, state any, bytes int64) {
	id := stateName{k.project, name}
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.taken[id])
	delete(k.taken, id)
	if state == nil || bytes > k.Limit() {
		return
	}
	k.states[id] = k.recent.PushFront(&storedState{id, version, k.rewritten, state, bytes})
	for k.bytes += bytes; k.bytes > allStateBytes; {
		k.remove(k.recent.Back())
	}
}

// remove removes a state and returns it; nil if element is nil. The caller must hold mu.
func (k *storedStates) remove(element *list.Element) *storedState {
	if element == nil {
		return nil
	}
	s := k.recent.Remove(element).(*storedState)
	delete(k.states, s.stateName)
	k.bytes -= s.bytes
	return s
}
