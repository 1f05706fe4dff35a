package flags

import (
	"context"
	"sync"
	"time"
)

// Reader returns a Reader for the flags of the project with an API key. Like Decide, it reads
// stored facts and counts requests. If sel.Runtime is empty, it is "server"; sel.Keys is
// ignored. If the quota is used up, reads return the fallback and [ErrQuotaLimited].
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
		defer func() { m.request, m.keys[0] = Request{}, "" }() // retain no data of the caller
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

// lookup is the result of a Decider's lookup for one snapshot.
type lookup struct {
	set    *Set
	sub    Subject
	stored Stored
	at     time.Time
	err    error
}

// lookUp reads the project and the stored facts, for flags of all runtimes, and counts one
// request.
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

// pinDecider returns the configuration of a snapshot. The lookup is done by the first read,
// and all reads use its result.
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
