package flags

import (
	"context"
	"sync"
	"time"
)

// Reader reads the flags of the project with an API key, as Decide does: stored facts
// are looked up and requests counted. Without a Runtime in sel it is "server"; its
// Keys are not looked at. Over the quota the error is [ErrQuotaLimited].
func (d *Decider) Reader(apiKey string, sel Selection) Reader {
	if d == nil {
		return notReady
	}
	if sel.Runtime == "" {
		sel.Runtime = "server"
	}
	r := newReader(func(ctx context.Context, key string, sub *Subject, m *readMemory) (*Decision, error) {
		if sub == nil || sub.DistinctID == "" {
			return nil, ErrNoDistinctID
		}
		if m.answer == nil {
			m.answer = new(Answer)
		}
		m.keys[0] = key
		m.request = Request{APIKey: apiKey, Subject: *sub, GeoIPDisable: true, Selection: sel}
		m.request.Selection.Keys = m.keys[:]
		defer func() { m.request, m.keys[0] = Request{}, "" }() // nothing of the caller's is kept
		if err := d.Decide(ctx, &m.request, m.answer); err != nil {
			return nil, err
		}
		if m.answer.QuotaLimited {
			return nil, ErrQuotaLimited
		}
		if found := m.answer.Decisions.Find(key); found != nil {
			return found, found.Problem()
		}
		return m.absentDecision(m.answer.Set, key, &m.request.Selection)
	})
	r.pin = func(_ context.Context, sub *Subject) SnapshotConfig { return r.pinDecider(d, apiKey, sel, sub) }
	return r
}

// lookup is what a Decider has found for one snapshot.
type lookup struct {
	set    *Set
	sub    Subject
	stored Stored
	at     time.Time
	err    error
}

// lookUp finds project and stored facts, for flags of all runtimes, and counts one request.
func (d *Decider) lookUp(ctx context.Context, apiKey string, sub *Subject) *lookup {
	if sub == nil || sub.DistinctID == "" {
		return &lookup{err: ErrNoDistinctID}
	}
	r, out := Request{APIKey: apiKey, Subject: *sub, GeoIPDisable: true, Selection: allRuntimes}, Answer{}
	l, err := d.prepare(ctx, &r, &out, d.Now())
	if err == nil && out.QuotaLimited {
		err = ErrQuotaLimited
	}
	if err != nil {
		return &lookup{err: err}
	}
	f := &lookup{set: l.set, sub: *sub, at: out.At}
	if err := d.facts(ctx, l, &r, &f.sub, &f.stored); err != nil {
		d.stats.storeErrors.Add(1)
	}
	d.stats.requests.Add(1)
	return f
}

// pinDecider decides what is read of a snapshot with what is found at its first read.
func (t *valueReader) pinDecider(d *Decider, apiKey string, sel Selection, sub *Subject) SnapshotConfig {
	var once sync.Once
	found := &lookup{err: ErrNotReady}
	look := func(ctx context.Context) *lookup {
		once.Do(func() { found = d.lookUp(ctx, apiKey, sub) })
		return found
	}
	choose := func(f *lookup, sel *Selection, out *Decisions) {
		f.set.Select(&f.sub, f.at, sel, out)
		d.stats.decisions.Add(uint64(len(out.List)))
	}
	return SnapshotConfig{
		Decide: func(ctx context.Context, key string, out *Detail) {
			f := look(ctx)
			if out.Err = f.err; f.err != nil {
				return
			}
			m := t.takeMemory()
			defer t.pool.Put(m)
			one := sel
			one.Keys = []string{key}
			choose(f, &one, &m.decisions)
			if decision := m.decisions.Find(key); decision != nil {
				out.set(decision, decision.Problem())
				return
			}
			out.set(m.absentDecision(f.set, key, &one))
		},
		Client: func(ctx context.Context, out *Decisions) error {
			f := look(ctx)
			if f.err == nil {
				choose(f, &Selection{Runtime: "client", Contexts: sel.Contexts}, out)
			}
			return f.err
		},
	}
}
