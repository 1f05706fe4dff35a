package flags

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Reader reads flags as values of Go types. A read never fails: if there is no decision, or
// the flag is off or has no value of the type, it returns the fallback. Each method has a
// variant that also returns a [Detail], which describes how the value was determined and why
// it is the fallback.
//
// A [Set], a serving.Decider, a file ([Open]) and package remote provide Readers, and package
// flagstest does for tests. Readers are safe for concurrent use. They do not modify the
// subject.
type Reader interface {
	// Bool reports whether a flag is on; a flag with a variant is on. For remote
	// configuration it returns the payload, which must be true or false.
	Bool(ctx context.Context, key string, sub *Subject, fallback bool) bool
	// BoolDetail is Bool with the Detail of the read.
	BoolDetail(ctx context.Context, key string, sub *Subject, fallback bool) (bool, Detail)
	// String returns the key of a flag's variant. For remote configuration it returns the
	// payload, which must be a string.
	String(ctx context.Context, key string, sub *Subject, fallback string) string
	// StringDetail is String with the Detail of the read.
	StringDetail(ctx context.Context, key string, sub *Subject, fallback string) (string, Detail)
	// Number returns a flag's payload if it is a number. Without a payload it returns the
	// variant if its key is a number. A payload that is the string "5", after decoding as in
	// JSON, is not a number and results in [ErrWrongKind].
	Number(ctx context.Context, key string, sub *Subject, fallback float64) float64
	// NumberDetail is Number with the Detail of the read.
	NumberDetail(ctx context.Context, key string, sub *Subject, fallback float64) (float64, Detail)
	// JSON returns a flag's payload as JSON; the function [JSON] decodes it. Most payloads
	// are stored as strings that contain JSON (§3.7); for these, the result is the contained
	// JSON. It is shared and must not be modified.
	JSON(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) json.RawMessage
	// JSONDetail is JSON with the Detail of the read.
	JSONDetail(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) (json.RawMessage, Detail)
	// For returns the flags of one subject for the duration of a request, and retains the
	// request's context. The subject is copied before For returns, but not its maps.
	For(ctx context.Context, sub *Subject) *Snapshot
}

// JSON reads a flag's payload and decodes it to a T with encoding/json. If the payload is a
// string that contains JSON that T does not accept, the string itself is decoded.
func JSON[T any](ctx context.Context, r Reader, key string, sub *Subject, fallback T) T {
	v, _ := JSONDetail(ctx, r, key, sub, fallback)
	return v
}

// JSONDetail is like JSON and also returns the Detail of the read.
func JSONDetail[T any](ctx context.Context, r Reader, key string, sub *Subject, fallback T) (T, Detail) {
	if r == nil {
		r = notReady
	}
	raw, detail := r.JSONDetail(wire.Context(ctx), key, sub, nil)
	return decodePayload(raw, detail, fallback)
}

// NewReader returns a Reader that evaluates flags with a function. decide evaluates one flag
// into out, which is empty and is reused after the call: it sets Decision and FromServer, and
// Err if there is no decision. If the decision failed or is undecided, Err is set
// automatically. If decide is nil, reads return the fallback and [ErrNotReady].
//
// snapshot returns the configuration of a Snapshot. If nil, snapshots call decide, each with
// its own subject, and have no flags for browsers.
func NewReader(decide func(ctx context.Context, key string, sub *Subject, out *Detail), snapshot func(ctx context.Context, sub *Subject) SnapshotConfig) Reader {
	if decide == nil {
		return notReady
	}
	r := newReader(func(ctx context.Context, key string, sub *Subject, m *readMemory) (*Decision, error) {
		m.detail = Detail{}
		decide(ctx, key, sub, &m.detail)
		if m.detail.Err == nil {
			m.detail.Err = m.detail.Problem()
		}
		return &m.detail.Decision, m.detail.Err
	})
	if r.pin = snapshot; snapshot == nil {
		r.pin = func(_ context.Context, sub *Subject) SnapshotConfig {
			return SnapshotConfig{Decide: func(ctx context.Context, key string, out *Detail) { decide(ctx, key, sub, out) }}
		}
	}
	return r
}

// notReady is used in place of a nil Reader.
var notReady = newReader(nil)

// decideOne evaluates one flag with the memory of m. The decision is valid until m is reused.
// It may be nil if there is an error.
type decideOne func(ctx context.Context, key string, sub *Subject, m *readMemory) (*Decision, error)

// valueReader implements all Readers of this package.
type valueReader struct {
	decide decideOne
	set    *Set      // the set that is read if it never changes, may be nil
	pool   sync.Pool // of *readMemory
	// pin returns the configuration of a snapshot for a subject. If nil, the snapshot is not
	// ready.
	pin func(ctx context.Context, sub *Subject) SnapshotConfig
}

// readMemory is the memory of one read. Later reads reuse it.
type readMemory struct {
	decisions Decisions
	detail    Detail // used by NewReader
}

func newReader(decide decideOne) *valueReader { return &valueReader{decide: decide} }

// takeMemory returns memory of the pool, or new memory.
func (t *valueReader) takeMemory() *readMemory {
	if m, ok := t.pool.Get().(*readMemory); ok {
		return m
	}
	return new(readMemory)
}

// decideKey evaluates a flag, or fails if the Reader is not ready.
func (t *valueReader) decideKey(ctx context.Context, key string, sub *Subject, m *readMemory) (*Decision, error) {
	if t.decide == nil {
		return nil, ErrNotReady
	}
	return t.decide(wire.Context(ctx), key, sub, m)
}

// readValue evaluates a flag and returns the value that pick selects.
func readValue[T any](ctx context.Context, t *valueReader, key string, sub *Subject, fallback T, pick func(*Decision) (T, error)) T {
	m := t.takeMemory()
	d, err := t.decideKey(ctx, key, sub, m)
	if err == nil {
		if v, err := pick(d); err == nil {
			fallback = v
		}
	}
	t.pool.Put(m)
	return fallback
}

// readDetail is readValue with a Detail.
func readDetail[T any](ctx context.Context, t *valueReader, key string, sub *Subject, fallback T, pick func(*Decision) (T, error)) (T, Detail) {
	m := t.takeMemory()
	defer t.pool.Put(m)
	d, err := t.decideKey(ctx, key, sub, m)
	return pickDetail(key, d, m.detail.FromServer, err, fallback, pick)
}

func (t *valueReader) For(ctx context.Context, sub *Subject) *Snapshot {
	s := newSnapshot(ctx, sub)
	if t.pin != nil {
		s.config = t.pin(s.ctx, s.subject)
	}
	return s
}

// Bool has a fast path of its own for sets, since it is the most frequent read.
func (t *valueReader) Bool(ctx context.Context, key string, sub *Subject, fallback bool) bool {
	if t.set != nil {
		if on, ok := t.set.isOn(key, sub); ok {
			return on
		}
	}
	m := t.takeMemory()
	d, err := t.decideKey(ctx, key, sub, m)
	if err == nil {
		if v, err := asBool(d); err == nil {
			fallback = v
		}
	}
	t.pool.Put(m)
	return fallback
}

func (t *valueReader) BoolDetail(ctx context.Context, key string, sub *Subject, fallback bool) (bool, Detail) {
	return readDetail(ctx, t, key, sub, fallback, asBool)
}

func (t *valueReader) String(ctx context.Context, key string, sub *Subject, fallback string) string {
	return readValue(ctx, t, key, sub, fallback, asString)
}

func (t *valueReader) StringDetail(ctx context.Context, key string, sub *Subject, fallback string) (string, Detail) {
	return readDetail(ctx, t, key, sub, fallback, asString)
}

func (t *valueReader) Number(ctx context.Context, key string, sub *Subject, fallback float64) float64 {
	return readValue(ctx, t, key, sub, fallback, asNumber)
}

func (t *valueReader) NumberDetail(ctx context.Context, key string, sub *Subject, fallback float64) (float64, Detail) {
	return readDetail(ctx, t, key, sub, fallback, asNumber)
}

func (t *valueReader) JSON(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) json.RawMessage {
	return readValue(ctx, t, key, sub, fallback, asJSON)
}

func (t *valueReader) JSONDetail(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) (json.RawMessage, Detail) {
	return readDetail(ctx, t, key, sub, fallback, asJSON)
}
