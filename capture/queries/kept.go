package queries

import (
	"container/list"
	"context"
	"strconv"
	"sync"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// These are the limits of what is kept between queries, in bytes: in total and for one state.
const (
	keptBytes      = 192 << 20
	keptStateBytes = 96 << 20
)

// keptName identifies a state.
type keptName struct {
	project int64
	name    string
}

// keptState is a state and the version with which it was given.
type keptState struct {
	keptName
	version string
	state   any
	bytes   int64
}

// kept are the states that queries keep for later queries. If it is full, it removes the least
// recently used ones.
type kept struct {
	mu     sync.Mutex
	states map[keptName]*list.Element // the elements are *keptState
	recent list.List                  // sorted from most to least recently used
	bytes  int64
	// taken has a channel for each state that is taken, which is closed when it is given back.
	taken map[keptName]chan struct{}
}

// keeper is the port.Keeper of one query.
type keeper struct {
	*kept
	project   int64
	rewritten int64 // see State
}

// keeper returns the keeper of a query.
func (d *Service) keeper(a *preparedQuery) port.Keeper {
	return &keeper{&d.kept, a.request.Project.ID, a.state.Rewritten}
}

// version adds the state of the project's data to a version.
func (k *keeper) version(text string) string {
	return strconv.FormatInt(k.rewritten, 10) + " " + text
}

// Limit implements port.Keeper.
func (k *keeper) Limit() int64 { return keptStateBytes }

// Take implements port.Keeper.
func (k *keeper) Take(ctx context.Context, name, version string) (any, error) {
	id := keptName{k.project, name}
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
		k.taken, k.states = map[keptName]chan struct{}{}, map[keptName]*list.Element{}
	}
	k.taken[id] = make(chan struct{})
	s := k.remove(k.states[id])
	if s == nil || s.version != k.version(version) {
		return nil, nil
	}
	return s.state, nil
}

// Give implements port.Keeper.
func (k *keeper) Give(name, version string, state any, bytes int64) {
	id := keptName{k.project, name}
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.taken[id])
	delete(k.taken, id)
	if state == nil || bytes > k.Limit() {
		return
	}
	k.states[id] = k.recent.PushFront(&keptState{id, k.version(version), state, bytes})
	for k.bytes += bytes; k.bytes > keptBytes; {
		k.remove(k.recent.Back())
	}
}

// remove removes a state and returns it; nil if element is nil. The caller must hold mu.
func (k *kept) remove(element *list.Element) *keptState {
	if element == nil {
		return nil
	}
	s := k.recent.Remove(element).(*keptState)
	delete(k.states, s.keptName)
	k.bytes -= s.bytes
	return s
}
