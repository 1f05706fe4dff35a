package flags

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Snapshot contains the flags of one subject for the duration of a request; [Reader].For
// returns it. Each flag is evaluated on its first read and then has the same value for the
// rest of the request, even if definitions change. If the Reader has definitions, all flags
// are evaluated with the definitions at the beginning and for the same time. A read returns
// the fallback in the same cases as a read of a Reader.
//
// A Snapshot is safe for concurrent use. It caches all keys that are read. A nil Snapshot is
// not ready.
type Snapshot struct {
	ctx     context.Context
	subject *Subject // nil without a subject
	config  SnapshotConfig
	hooks   []Hook

	mu   sync.Mutex
	read map[string]*firstRead
	seen map[string]bool // keys for which the hooks were called
}

// firstRead is the result of the first read of a flag. Its payload is in its stored form.
type firstRead struct {
	ready  chan struct{} // closed when detail is valid
	detail Detail
}

// SnapshotConfig configures the snapshots of a custom Reader, see [NewReader]. All fields
// except Decide may be nil.
type SnapshotConfig struct {
	// Decide evaluates one flag into out, which is empty, as in [NewReader]. It is called on
	// the first read of each flag.
	Decide func(ctx context.Context, key string, out *Detail)
	// Client evaluates exactly the flags that a browser may see into out. If nil, the result
	// is empty.
	Client func(ctx context.Context, out *Decisions) error
	// Track sends an event. If nil, [Snapshot.Track] returns errors.ErrUnsupported.
	Track func(ctx context.Context, event string, properties map[string]any) error
}

// newSnapshot returns a snapshot that is not ready, with a copy of the subject.
func newSnapshot(ctx context.Context, sub *Subject) *Snapshot {
	s := &Snapshot{ctx: wire.Context(ctx), read: map[string]*firstRead{}}
	if sub != nil {
		subject := *sub
		s.subject = &subject
	}
	return s
}

// Subject returns the subject of the snapshot, which may be nil. It must not be modified.
func (s *Snapshot) Subject() *Subject {
	if s == nil {
		return nil
	}
	return s.subject
}

// Bool is like [Reader].Bool.
func (s *Snapshot) Bool(key string, fallback bool) bool {
	return snapshotValue(s, key, fallback, asBool)
}

// String is like [Reader].String.
func (s *Snapshot) String(key, fallback string) string {
	return snapshotValue(s, key, fallback, asString)
}

// Number is like [Reader].Number.
func (s *Snapshot) Number(key string, fallback float64) float64 {
	return snapshotValue(s, key, fallback, asNumber)
}

// Payload is like [JSON] for a Snapshot.
func Payload[T any](s *Snapshot, key string, fallback T) T {
	raw, detail := snapshotRead(s, key, nil, asJSON)
	v, _ := decodePayload(raw, detail, fallback)
	return v
}

// Detail returns the Detail of a flag. It counts as a read.
func (s *Snapshot) Detail(key string) Detail {
	_, d := snapshotRead(s, key, nil, func(d *Decision) (any, error) { return d.Value(), nil })
	return d
}

// snapshotValue reads one flag without creating its Detail, which is more expensive.
func snapshotValue[T any](s *Snapshot, key string, fallback T, pick func(*Decision) (T, error)) T {
	if s == nil || s.config.Decide == nil || len(s.hooks) > 0 {
		v, _ := snapshotRead(s, key, fallback, pick)
		return v
	}
	if r := s.decideOnce(s.ctx, key); r.detail.Err == nil {
		if v, err := pick(&r.detail.Decision); err == nil {
			return v
		}
	}
	return fallback
}

// snapshotRead reads one flag, and calls the hooks if it is the first read.
func snapshotRead[T any](s *Snapshot, key string, fallback T, pick func(*Decision) (T, error)) (T, Detail) {
	if s == nil || s.config.Decide == nil {
		return fallback, Detail{Decision: Decision{Key: key, Reason: Reason{Condition: NoCondition}}, Err: ErrNotReady}
	}
	read := func(ctx context.Context) (T, Detail) {
		d := &s.decideOnce(ctx, key).detail
		return pickDetail(key, &d.Decision, d.FromServer, d.Err, fallback, pick)
	}
	if len(s.hooks) == 0 || s.isSeen(key) {
		return read(s.ctx)
	}
	return callHooks(s.ctx, s.hooks, key, s.subject, fallback, read)
}

// isSeen reports whether the hooks were called for a flag, and records that they are.
func (s *Snapshot) isSeen(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.seen[key]
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[key] = true
	return before
}

// decideOnce returns the result of the first read of a flag, which may be this one.
// Concurrent first reads wait for each other.
func (s *Snapshot) decideOnce(ctx context.Context, key string) *firstRead {
	s.mu.Lock()
	r, found := s.read[key]
	if !found {
		r = &firstRead{ready: make(chan struct{})}
		s.read[key] = r
	}
	s.mu.Unlock()
	if found {
		<-r.ready
		return r
	}
	defer r.end(ErrFailed) // in case Decide panics
	s.config.Decide(ctx, key, &r.detail)
	r.end(r.detail.Problem())
	return r
}

// end makes the result available to other reads. Only the first call has an effect. err is
// used if the result has no error.
func (r *firstRead) end(err error) {
	if r.isReady() {
		return
	}
	if r.detail.Err == nil {
		r.detail.Err = err
	}
	close(r.ready)
}

// isReady reports whether the result is available.
func (r *firstRead) isReady() bool {
	select {
	case <-r.ready:
		return true
	default:
		return false
	}
}

// Track sends an event of the snapshot's subject with the values of the flags read so far, as
// $feature/<key>, and with the keys of the enabled flags in $active_feature_flags. Members of
// properties have precedence over both. Track requires a Reader that sends events, such as a
// remote.Client or the Reader of a server in the same process. For a Set, a Decider, a file
// ([Open]) and definitions ([Static]) it returns errors.ErrUnsupported, unless [WithTrack]
// adds a way to send.
func (s *Snapshot) Track(event string, properties map[string]any) error {
	switch {
	case s == nil:
		return ErrNotReady
	case s.config.Track == nil:
		return fmt.Errorf("flags: the snapshot's Reader sends no events: %w", errors.ErrUnsupported)
	case s.subject == nil || s.subject.DistinctID == "":
		return ErrNoDistinctID
	}
	p, active := map[string]any{}, []string{}
	s.mu.Lock()
	reads := maps.Clone(s.read)
	s.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(reads)) {
		if d := &reads[key].detail; reads[key].isReady() && d.Err == nil {
			p["$feature/"+key] = d.Value()
			if d.Enabled {
				active = append(active, key)
			}
		}
	}
	p["$active_feature_flags"] = active
	maps.Copy(p, properties)
	return s.config.Track(s.ctx, event, p)
}

// snapshotKey is the key of a Snapshot in a context.
type snapshotKey struct{}

// NewContext returns a context that contains the Snapshot.
func NewContext(ctx context.Context, s *Snapshot) context.Context {
	return context.WithValue(wire.Context(ctx), snapshotKey{}, s)
}

// FromContext returns the Snapshot that [NewContext] added to a context. Without a Snapshot
// the result is nil, and its reads return the fallback.
func FromContext(ctx context.Context) *Snapshot {
	s, _ := wire.Context(ctx).Value(snapshotKey{}).(*Snapshot)
	return s
}

// decodePayload decodes the payload of a read to a T, and falls back to its stored form.
func decodePayload[T any](raw json.RawMessage, detail Detail, fallback T) (T, Detail) {
	if detail.Err != nil || raw == nil {
		return fallback, detail
	}
	var v T
	err := json.Unmarshal(raw, &v)
	if err == nil {
		return v, detail
	}
	var stored T // a new variable, since the failed attempt may have set fields of v
	if len(detail.stored) > 0 && json.Unmarshal(detail.stored, &stored) == nil {
		return stored, detail
	}
	detail.Err = fmt.Errorf("%w: %w", ErrWrongKind, err)
	return fallback, detail
}
