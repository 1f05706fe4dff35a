// Package flagstest provides a flags.Reader with values that a test sets.
//
//	f := flagstest.New(t).Bool("search", true).Variant("layout", "wide")
//	shop := NewShop(f.Reader()) // the code under test
//	f.Set("search", false)      // during the test
//
// Reads and tracked events are recorded until the test ends.
package flagstest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// Flags are flags with values that a test sets. It is safe for concurrent use. Its setters return
// it, so that calls can be chained.
type Flags struct {
	*state
	subject string // the distinct id that setters apply to; empty for all subjects
}

// state is shared by all Flags of a test.
type state struct {
	t  testing.TB
	mu sync.Mutex

	values    map[string]map[string]value // by distinct id (empty for all subjects) and key
	strict    bool
	missed    map[string]bool // unknown keys for which the test has failed
	ended     bool
	exposures []Exposure
	events    []Event
}

// value is the value of a flag.
type value struct {
	on      bool
	variant string
	payload json.RawMessage
	err     error
}

// Exposure records that a flag was read for a subject.
type Exposure struct {
	Key, DistinctID string
	// Value is true, false or the variant; nil if the read returned an error.
	Value any
}

// Event is a tracked event.
type Event struct {
	DistinctID, Name string
	Properties       map[string]any
	Groups           map[string]string
}

// New returns Flags without any flag: reads return the fallback and flags.ErrUnknownFlag.
func New(t testing.TB) *Flags {
	s := &state{t: t, values: map[string]map[string]value{}, missed: map[string]bool{}}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
	})
	return &Flags{state: s}
}

// Strict fails the test if a flag is read that is not set. Further reads of the same key are ignored.
func (f *Flags) Strict() *Flags {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.strict = true
	return f
}

// ForSubject returns Flags that set values for one distinct id, which take precedence over the
// values for all subjects. Its Reader is the same: it serves all subjects.
func (f *Flags) ForSubject(distinctID string) *Flags { return &Flags{f.state, distinctID} }

// Bool turns a flag on or off and removes its variant and payload.
func (f *Flags) Bool(key string, on bool) *Flags {
	return f.change(key, func(v *value) { *v = value{on: on} })
}

// Variant turns a flag on with a variant and removes its payload.
func (f *Flags) Variant(key, variant string) *Flags {
	return f.change(key, func(v *value) { *v = value{on: true, variant: variant} })
}

// Payload turns a flag on with v, encoded by encoding/json, as payload; its variant does not
// change. The test fails if v cannot be encoded.
func (f *Flags) Payload(key string, v any) *Flags {
	f.t.Helper()
	payload, err := json.Marshal(v)
	if err != nil {
		f.t.Fatalf("flagstest: the payload of %q: %v", key, err)
	}
	return f.change(key, func(v *value) { *v = value{on: true, variant: v.variant, payload: payload} })
}

// Fail makes reads of a flag return the fallback and err, for example flags.ErrNotReady.
func (f *Flags) Fail(key string, err error) *Flags {
	return f.change(key, func(v *value) { *v = value{err: err} })
}

// Set sets a flag during a test: true and false like Bool, a string like Variant, other values like
// Payload. nil removes the flag.
func (f *Flags) Set(key string, v any) {
	f.t.Helper()
	switch v := v.(type) {
	case nil:
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.values[f.subject], key)
	case bool:
		f.Bool(key, v)
	case string:
		f.Variant(key, v)
	default:
		f.Payload(key, v)
	}
}

// change modifies the value of a flag for f's subject. If the subject has no value of its own, it
// begins with a copy of the value for all subjects.
func (f *Flags) change(key string, change func(*value)) *Flags {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, _ := f.find(f.subject, key)
	change(&v)
	if f.values[f.subject] == nil {
		f.values[f.subject] = map[string]value{}
	}
	f.values[f.subject][key] = v
	return f
}

// find returns the value for a subject: its own value, or that for all subjects.
func (s *state) find(distinctID, key string) (value, bool) {
	if v, ok := s.values[distinctID][key]; ok {
		return v, true
	}
	v, ok := s.values[""][key]
	return v, ok
}

// Exposures returns the exposures so far: one for each distinct id, flag and value, as a
// remote.Client sends them.
func (f *Flags) Exposures() []Exposure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.exposures)
}

// Events returns the events tracked so far.
func (f *Flags) Events() []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

// Reader is a flags.Reader that can track events, like a remote.Client.
type Reader struct {
	flags.Reader
	state *state
}

// Reader returns a Reader. Each read uses the values of that moment.
func (f *Flags) Reader() *Reader {
	s := f.state
	return &Reader{flags.NewReader(s.decide, s.snapshot), s}
}

// snapshot decides each flag when it is first read. Every flag is available to browsers too.
func (s *state) snapshot(_ context.Context, sub *flags.Subject) flags.SnapshotConfig {
	return flags.SnapshotConfig{
		Decide: func(ctx context.Context, key string, out *flags.Detail) {
			s.t.Helper()
			s.decide(ctx, key, sub, out)
		},
		Client: func(_ context.Context, out *flags.Decisions) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, key := range s.setKeys() {
				var d flags.Detail
				if s.read(key, sub.DistinctID, &d); d.Err == nil {
					out.List = append(out.List, d.Decision)
				}
			}
			return nil
		},
		Track: func(ctx context.Context, event string, properties map[string]any) error {
			return (&Reader{state: s}).Track(ctx, sub.DistinctID, event, properties, sub.Groups)
		},
	}
}

// decide reads a flag and records the exposure, once for each subject, flag and value.
func (s *state) decide(_ context.Context, key string, sub *flags.Subject, out *flags.Detail) {
	s.t.Helper()
	if sub == nil || sub.DistinctID == "" {
		out.Err = flags.ErrNoDistinctID
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.read(key, sub.DistinctID, out) {
		s.failUnknown(key)
	}
	e := Exposure{Key: key, DistinctID: sub.DistinctID}
	if out.Err == nil {
		e.Value = out.Value()
	}
	if !slices.Contains(s.exposures, e) {
		s.exposures = append(s.exposures, e)
	}
}

// read writes the value of a flag to out and reports whether the flag is set.
func (s *state) read(key, distinctID string, out *flags.Detail) (set bool) {
	v, ok := s.find(distinctID, key)
	switch {
	case !ok:
		out.Err = flags.ErrUnknownFlag
	case v.err != nil:
		out.Err = v.err
	default:
		out.Key, out.Enabled, out.Variant, out.Payload = key, v.on, v.variant, v.payload
		if v.variant != "" {
			out.Kind = flags.VariantKind
		}
		out.Reason = flags.Reason{Code: flags.NoConditionMatch, Condition: flags.NoCondition}
		if v.on {
			out.Reason = flags.Reason{Code: flags.ConditionMatch}
		}
	}
	return ok
}

// failUnknown fails a strict test for an unknown key.
func (s *state) failUnknown(key string) {
	s.t.Helper()
	if !s.strict || s.missed[key] || s.ended {
		return
	}
	s.missed[key] = true
	s.t.Errorf("flagstest: the flag %q is read but was not set; the flags that are set: %s", key, strings.Join(s.setKeys(), ", "))
}

// setKeys returns the keys that are set for any subject, sorted.
func (s *state) setKeys() []string {
	keys := map[string]bool{}
	for _, values := range s.values {
		for key := range values {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// Track records an event. It returns flags.ErrNoDistinctID if distinctID is empty.
func (r *Reader) Track(_ context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error {
	if distinctID == "" {
		return flags.ErrNoDistinctID
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.events = append(r.state.events, Event{distinctID, event, maps.Clone(properties), maps.Clone(groups)})
	return nil
}
