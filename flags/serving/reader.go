package serving

import (
	"context"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Reader returns a Reader for the flags of the project with an API key. Like Decide, it reads
// stored facts and counts requests. If sel.Runtime is empty, it is "server"; sel.Keys is
// ignored. If the quota is used up, reads return the fallback and [flags.ErrQuotaLimited].
func (d *Decider) Reader(apiKey string, sel flags.Selection) flags.Reader {
	if d == nil {
		return flags.NewReader(nil, nil)
	}
	if sel.Runtime == "" {
		sel.Runtime = "server"
	}
	r := &deciderReader{d: d, apiKey: apiKey, sel: sel}
	return flags.NewReader(r.decide, r.snapshot)
}

// deciderReader has the functions of a Reader of a Decider.
type deciderReader struct {
	d      *Decider
	apiKey string
	sel    flags.Selection
	pool   sync.Pool // of *deciderMemory
}

// deciderMemory is the memory of one read. Later reads reuse it.
type deciderMemory struct {
	request Request
	answer  Answer
	keys    [1]string
}

// takeMemory returns memory of the pool, or new memory.
func (r *deciderReader) takeMemory() *deciderMemory {
	if m, ok := r.pool.Get().(*deciderMemory); ok {
		return m
	}
	return new(deciderMemory)
}

// putMemory returns memory to the pool, without the data of the caller.
func (r *deciderReader) putMemory(m *deciderMemory) {
	m.request, m.keys[0] = Request{}, ""
	r.pool.Put(m)
}

// decide evaluates one flag. It counts a request.
func (r *deciderReader) decide(ctx context.Context, key string, sub *flags.Subject, out *flags.Detail) {
	if sub == nil || sub.DistinctID == "" {
		out.Err = flags.ErrNoDistinctID
		return
	}
	m := r.takeMemory()
	defer r.putMemory(m)
	m.keys[0] = key
	m.request = Request{APIKey: r.apiKey, Subject: *sub, GeoIPDisable: true, Selection: r.sel}
	m.request.Selection.Keys = m.keys[:]
	if out.Err = r.d.Decide(ctx, &m.request, &m.answer); out.Err != nil {
		return
	}
	if m.answer.QuotaLimited {
		out.Err = flags.ErrQuotaLimited
		return
	}
	setDecision(out, m.answer.Set, &m.answer.Decisions, key, &m.request.Selection)
}

// setDecision copies the decision of a flag. If there is none, because sel does not select the
// flag or it does not exist, the decision has the reason and out an error.
func setDecision(out *flags.Detail, set *flags.Set, decisions *flags.Decisions, key string, sel *flags.Selection) {
	if found := decisions.Find(key); found != nil {
		out.Decision = *found
		return
	}
	out.Decision, _ = set.AbsentDecision(key, sel)
	if out.Err = flags.ErrUnknownFlag; out.Failed() {
		out.Err = flags.ErrFailed
	}
}

// lookup is the result of a Decider's lookup for one snapshot.
type lookup struct {
	set    *flags.Set
	sub    flags.Subject
	stored flags.Stored
	at     time.Time
	err    error
}

// lookUp reads the project and the stored facts, for flags of all runtimes, and counts one
// request.
func (d *Decider) lookUp(ctx context.Context, apiKey string, sub *flags.Subject) *lookup {
	if sub == nil || sub.DistinctID == "" {
		return &lookup{err: flags.ErrNoDistinctID}
	}
	r, out := Request{APIKey: apiKey, Subject: *sub, GeoIPDisable: true, Selection: flags.Selection{Runtime: "all"}}, Answer{}
	l, err := d.prepare(ctx, &r, &out, d.Now())
	if err == nil && out.QuotaLimited {
		err = flags.ErrQuotaLimited
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

// snapshot returns the configuration of a snapshot. The lookup is done by the first read, and
// all reads use its result.
func (r *deciderReader) snapshot(_ context.Context, sub *flags.Subject) flags.SnapshotConfig {
	var once sync.Once
	found := &lookup{err: flags.ErrNotReady}
	look := func(ctx context.Context) *lookup {
		once.Do(func() { found = r.d.lookUp(ctx, r.apiKey, sub) })
		return found
	}
	choose := func(f *lookup, sel *flags.Selection, out *flags.Decisions) {
		f.set.Select(&f.sub, f.at, sel, out)
		r.d.stats.decisions.Add(uint64(len(out.List)))
	}
	return flags.SnapshotConfig{
		Decide: func(ctx context.Context, key string, out *flags.Detail) {
			f := look(ctx)
			if out.Err = f.err; f.err != nil {
				return
			}
			m := r.takeMemory()
			defer r.putMemory(m)
			one := r.sel
			one.Keys = []string{key}
			choose(f, &one, &m.answer.Decisions)
			setDecision(out, f.set, &m.answer.Decisions, key, &one)
		},
		Client: func(ctx context.Context, out *flags.Decisions) error {
			f := look(ctx)
			if f.err == nil {
				choose(f, &flags.Selection{Runtime: "client", Contexts: r.sel.Contexts}, out)
			}
			return f.err
		},
	}
}
