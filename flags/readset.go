package flags

import (
	"context"
	"sync"
	"time"
)

// Reader returns a Reader for the set's flags, of any runtime. It calls time.Now only for
// flags that compare dates. Bool does not allocate, and the memory of reads is reused. Reads
// of a nil Set return the fallback and [ErrNotReady].
func (s *Set) Reader() Reader { return newSetReader(s, time.Now) }

// newSetReader is [Set.Reader] with a clock, for tests.
func newSetReader(s *Set, now func() time.Time) *valueReader {
	r := newReader(func(_ context.Context, key string, sub *Subject, m *readMemory) (*Decision, error) {
		return m.decide(s, key, sub, now)
	})
	r.set = s
	r.pin = func(_ context.Context, sub *Subject) SnapshotConfig { return r.pinSet(s, sub, now) }
	return r
}

// pinSet returns the configuration of snapshots of a set. All reads of a snapshot use the
// time of the first.
func (t *valueReader) pinSet(s *Set, sub *Subject, now func() time.Time) SnapshotConfig {
	now = sync.OnceValue(now)
	return SnapshotConfig{
		Decide: func(_ context.Context, key string, out *Detail) {
			m := t.takeMemory()
			defer t.pool.Put(m)
			out.set(m.decide(s, key, sub, now))
		},
		Client: func(_ context.Context, out *Decisions) error {
			if s == nil {
				return ErrNotReady
			}
			s.Select(sub, now(), &Selection{Runtime: "client"}, out)
			return nil
		},
	}
}

// set copies a decision and its error.
func (d *Detail) set(decision *Decision, err error) {
	if decision != nil {
		d.Decision = *decision
	}
	d.Err = err
}

// followFile returns a function that evaluates flags with the current set of a file.
func followFile(f *FileReader) decideOne {
	return func(_ context.Context, key string, sub *Subject, m *readMemory) (*Decision, error) {
		if f.closed.Load() {
			return nil, ErrClosed
		}
		return m.decide(f.set.Load(), key, sub, time.Now)
	}
}

// pinFile returns a function that configures snapshots with the current set of a file.
func pinFile(f *FileReader) func(context.Context, *Subject) SnapshotConfig {
	return func(_ context.Context, sub *Subject) SnapshotConfig {
		if f.closed.Load() {
			return SnapshotConfig{Decide: func(_ context.Context, _ string, out *Detail) { out.Err = ErrClosed }}
		}
		return f.reader.pinSet(f.set.Load(), sub, time.Now)
	}
}

// decide evaluates one flag of a set.
func (m *readMemory) decide(s *Set, key string, sub *Subject, now func() time.Time) (*Decision, error) {
	if s == nil {
		return nil, ErrNotReady
	}
	if sub == nil || sub.DistinctID == "" {
		return nil, ErrNoDistinctID
	}
	i, ok := s.byKey[key]
	if !ok || !s.isAnswered(i) {
		return m.absentDecision(s, key, &allRuntimes)
	}
	out := &m.decisions
	if out.decideDirect(s, i, sub) {
		return &out.List[0], nil
	}
	var at time.Time
	if s.dated > 0 {
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

// allRuntimes selects all flags.
var allRuntimes = Selection{Runtime: "all"}

// absentDecision returns the decision and the error for a flag that sel does not select or
// that does not exist.
func (m *readMemory) absentDecision(s *Set, key string, sel *Selection) (*Decision, error) {
	m.detail.Decision, _ = s.AbsentDecision(key, sel)
	if m.detail.Failed() {
		return &m.detail.Decision, ErrFailed
	}
	return &m.detail.Decision, ErrUnknownFlag
}
