package ofprovider

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// local is a Client that uses a Decider.
type local struct {
	decider *serving.Decider
	apiKey  string
	seen    atomic.Pointer[flags.Set]
	changed func()
	memory  sync.Pool // of *memory
}

// memory is the memory of one evaluation, which is reused.
type memory struct {
	request serving.Request
	answer  serving.Answer
	keys    [1]string
}

// Decide implements Client.
func (l *local) Decide(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error) {
	m, _ := l.memory.Get().(*memory)
	if m == nil {
		m = &memory{}
	}
	defer func() {
		m.request, m.keys[0] = serving.Request{}, ""
		l.memory.Put(m)
	}()
	m.keys[0] = key
	m.request = serving.Request{
		APIKey: l.apiKey, Subject: *sub, GeoIPDisable: true,
		Selection: flags.Selection{Keys: m.keys[:], Runtime: "server"},
	}
	if err := l.decider.Decide(ctx, &m.request, &m.answer); err != nil {
		return d, false, err
	}
	set := m.answer.Set
	if old := l.seen.Swap(set); old != nil && old != set {
		l.changed()
	}
	if m.answer.QuotaLimited {
		return d, false, flags.ErrQuotaLimited
	}
	if d := m.answer.Decisions.Find(key); d != nil {
		return *d, true, nil
	}
	d, found = set.AbsentDecision(key, &m.request.Selection)
	return d, found, nil
}

// WaitForReady checks that the project exists.
func (l *local) WaitForReady(ctx context.Context) error {
	_, set, err := l.decider.Project(ctx, l.apiKey)
	if err == nil {
		l.seen.CompareAndSwap(nil, set)
	}
	return err
}
