package flags

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Reader reads flags as values of Go types. A read never fails: where there is no
// decision, or the flag is off or has no value of the type, the fallback is
// returned. Each has a twin that says how the value was come by, and why it is the
// fallback.
//
// A [Set], a [Decider], a watched file ([Open]) and package remote have one, and
// package flagstest one for tests. Readers are safe for any number of goroutines. The
// subject is only read.
type Reader interface {
	// Bool is whether a flag is on. A variant is on. Of remote configuration it is the
	// payload, true or false.
	Bool(ctx context.Context, key string, sub *Subject, fallback bool) bool
	BoolDetail(ctx context.Context, key string, sub *Subject, fallback bool) (bool, Detail)
	// String is the key of a flag's variant; of remote configuration the payload, a text.
	String(ctx context.Context, key string, sub *Subject, fallback string) string
	StringDetail(ctx context.Context, key string, sub *Subject, fallback string) (string, Detail)
	// Number is a flag's payload when that is a number, and where there is no payload its
	// variant when its key is a number. The JSON text "5" is no number: [ErrWrongKind].
	Number(ctx context.Context, key string, sub *Subject, fallback float64) float64
	NumberDetail(ctx context.Context, key string, sub *Subject, fallback float64) (float64, Detail)
	// JSON is a flag's payload as JSON; [JSON] decodes it. Payloads are mostly stored as
	// texts that contain JSON (§3.7): then it is that JSON. It is shared and must not be
	// changed.
	JSON(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) json.RawMessage
	JSONDetail(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) (json.RawMessage, Detail)
	// For is the flags of one subject for the length of a request, whose context it keeps.
	// The subject is read before For returns.
	For(ctx context.Context, sub *Subject) *Snapshot
}

// Detail says how a value was come by. It is the caller's: no later read changes it.
type Detail struct {
	// Decision is the flag's; its Payload is JSON, as of [Reader].JSON. Of a flag that is
	// unknown it has the key alone.
	Decision
	// FromServer says that a server has decided.
	FromServer bool
	// Err is why there is no decision or no value of the type: see [ErrUnknownFlag] and
	// those beside it. Nil: the value is the flag's, or the flag is off and has none.
	Err error

	stored json.RawMessage // the payload as it is stored
}

// JSON is a flag's payload, decoded into a type of the caller's as encoding/json does.
// Where T does not take the JSON of a text, the text itself is meant.
func JSON[T any](ctx context.Context, r Reader, key string, sub *Subject, fallback T) T {
	v, _ := JSONDetail(ctx, r, key, sub, fallback)
	return v
}

// JSONDetail is JSON and how it was come by.
func JSONDetail[T any](ctx context.Context, r Reader, key string, sub *Subject, fallback T) (T, Detail) {
	if r == nil {
		r = notReady
	}
	raw, detail := r.JSONDetail(wire.Context(ctx), key, sub, nil)
	return decodePayload(raw, detail, fallback)
}

// NewReader makes a Reader of a function that decides one flag into out, which is
// empty and used again afterwards: it fills in Decision and Asked, and Err when there
// is no decision. Err is completed from a Decision that failed or is undecided. A nil
// function decides nothing, with [ErrNotReady].
//
// snapshot says how Snapshots decide; with nil they call decide, each with its own
// subject, and have no flags for browsers.
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

var notReady = newReader(nil)

// decideOne decides one flag with the memory of m, where the decision stands until m is
// used again; it may be nil with an error.
type decideOne func(ctx context.Context, key string, sub *Subject, m *readMemory) (*Decision, error)

// valueReader is every Reader there is.
type valueReader struct {
	decide decideOne
	set    *Set      // whose flags are decided, where it stays the same; may be nil
	pool   sync.Pool // of *readMemory
	// pin is what a snapshot for a subject decides with; nil: nothing.
	pin func(ctx context.Context, sub *Subject) SnapshotConfig
}

// readMemory is the memory of one read, used again by another.
type readMemory struct {
	decisions Decisions
	detail    Detail // of NewReader
	request   Request
	answer    *Answer // of a Decider
	keys      [1]string
}

func newReader(decide decideOne) *valueReader { return &valueReader{decide: decide} }

func (t *valueReader) takeMemory() *readMemory {
	if m, ok := t.pool.Get().(*readMemory); ok {
		return m
	}
	return new(readMemory)
}

func (t *valueReader) decideKey(ctx context.Context, key string, sub *Subject, m *readMemory) (*Decision, error) {
	if t.decide == nil {
		return nil, ErrNotReady
	}
	return t.decide(wire.Context(ctx), key, sub, m)
}

// readValue decides and picks the value.
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

// readDetail is readValue, and how the value was come by.
func readDetail[T any](ctx context.Context, t *valueReader, key string, sub *Subject, fallback T, pick func(*Decision) (T, error)) (T, Detail) {
	m := t.takeMemory()
	defer t.pool.Put(m)
	d, err := t.decideKey(ctx, key, sub, m)
	return pickDetail(key, d, m.detail.FromServer, err, fallback, pick)
}

// pickDetail is the value of a decision and how it was come by; d may be nil with an error.
func pickDetail[T any](key string, d *Decision, fromServer bool, err error, fallback T, pick func(*Decision) (T, error)) (T, Detail) {
	detail := Detail{FromServer: fromServer, Err: err}
	if d != nil {
		detail.Decision, detail.stored = *d, d.Payload
		detail.Payload = d.PayloadJSON()
	}
	detail.Key = key
	if err != nil {
		return fallback, detail
	}
	v, err := pick(d)
	if err == nil {
		return v, detail
	}
	if !errors.Is(err, errNoValue) {
		detail.Err = err
	}
	return fallback, detail
}

func (t *valueReader) For(ctx context.Context, sub *Subject) *Snapshot {
	s := newSnapshot(ctx, sub)
	if t.pin != nil {
		s.config = t.pin(s.ctx, s.subject)
	}
	return s
}

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
