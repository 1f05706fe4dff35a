package flags

import (
	"context"
	"time"
)

// Reader reads the Set's flags, of any runtime, with the time of time.Now where a flag
// compares dates; otherwise no clock is read. It allocates nothing for Bool, and keeps
// the memory that it works in. A nil Set is [ErrNotReady].
func (s *Set) Reader() Reader { return newSetReader(s, time.Now) }

func newSetReader(s *Set, now func() time.Time) *typed {
	r := newReader(func(_ context.Context, key string, sub *Subject, m *readMemory) (*Decision, error) {
		return m.one(s, key, sub, now)
	})
	r.set = s
	return r
}

// followed decides with what is in use of a file.
func followed(f *FileReader) decideOne {
	return func(_ context.Context, key string, sub *Subject, m *readMemory) (*Decision, error) {
		if f.closed.Load() {
			return nil, ErrClosed
		}
		return m.one(f.set.Load(), key, sub, time.Now)
	}
}

// one decides one flag of a Set.
func (m *readMemory) one(s *Set, key string, sub *Subject, now func() time.Time) (*Decision, error) {
	if s == nil {
		return nil, ErrNotReady
	}
	if sub == nil || sub.DistinctID == "" {
		return nil, ErrNoDistinctID
	}
	i, ok := s.byKey[key]
	if !ok || !s.answered(i) {
		return m.none(s, key, &everywhere)
	}
	out := &m.decisions
	if out.direct(s, i, sub) {
		return &out.List[0], nil
	}
	var at time.Time
	if s.dated {
		at = now()
	}
	out.begin(s, sub, at)
	out.decide(i)
	out.end()
	d := &out.List[len(out.List)-1]
	if d.Undecided != nil || d.Failed() {
		return d, d.Problem()
	}
	return d, nil
}

var everywhere = Selection{Runtime: "all"}

// none is the answer for a flag that has none for a Selection.
func (m *readMemory) none(s *Set, key string, sel *Selection) (*Decision, error) {
	m.detail.Decision = Decision{Key: key, Reason: Reason{Condition: NoCondition}}
	d, err := &m.detail.Decision, ErrUnknownFlag
	switch {
	case s.Disabled(key, sel):
		d.Reason.Code = FlagDisabled
	case s.Unanswered(key, sel):
		d.Reason.Code, err = FlagCycle, ErrFailed
	}
	return d, err
}

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
	return newReader(func(ctx context.Context, key string, sub *Subject, m *readMemory) (*Decision, error) {
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
		return m.none(m.answer.Set, key, &m.request.Selection)
	})
}
