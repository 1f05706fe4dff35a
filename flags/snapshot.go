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

// Snapshot is the flags of one subject for the length of a request. [Reader].For makes
// it. Each flag is decided once, when it is read first, and stays as it is for the
// request, whatever changes meanwhile: over definitions, all flags are decided by those
// of the beginning, at one instant. A read gives the fallback where one of a Reader does.
//
// It is safe for any number of goroutines, and remembers as many keys as are read. A nil
// Snapshot is not ready.
type Snapshot struct {
	ctx     context.Context
	subject *Subject // nil: nobody
	config  SnapshotConfig
	hooks   []Hook

	mu   sync.Mutex
	read map[string]*firstRead
	seen map[string]bool // keys that the hooks were called for
}

// firstRead is what was decided when a flag was read first; its payload is as stored.
type firstRead struct {
	ready  chan struct{} // closed when detail is there
	detail Detail
}

// SnapshotConfig is what the snapshots of one's own Reader do, see [NewReader]. All but
// Decide may be nil.
type SnapshotConfig struct {
	// Decide decides one flag into out, which is empty, as of NewReader: once for each flag
	// that is read.
	Decide func(ctx context.Context, key string, out *Detail)
	// Client decides all flags that a browser may see, and no others, into out. Nil: there
	// are none.
	Client func(ctx context.Context, out *Decisions) error
	// Track sends an event. Nil: it is errors.ErrUnsupported.
	Track func(ctx context.Context, event string, properties map[string]any) error
}

func newSnapshot(ctx context.Context, sub *Subject) *Snapshot {
	s := &Snapshot{ctx: wire.Context(ctx), read: map[string]*firstRead{}}
	if sub != nil {
		subject := *sub
		s.subject = &subject
	}
	return s
}

// Subject is whom the flags are for, nil for nobody. It must not be changed.
func (s *Snapshot) Subject() *Subject {
	if s == nil {
		return nil
	}
	return s.subject
}

// Bool is as [Reader].Bool.
func (s *Snapshot) Bool(key string, fallback bool) bool {
	return snapshotValue(s, key, fallback, asBool)
}

// String is as [Reader].String.
func (s *Snapshot) String(key, fallback string) string {
	return snapshotValue(s, key, fallback, asString)
}

// Number is as [Reader].Number.
func (s *Snapshot) Number(key string, fallback float64) float64 {
	return snapshotValue(s, key, fallback, asNumber)
}

// Payload is as [JSON], of a Snapshot.
func Payload[T any](s *Snapshot, key string, fallback T) T {
	raw, detail := snapshotRead(s, key, nil, asJSON)
	v, _ := decodePayload(raw, detail, fallback)
	return v
}

// Detail says how a flag was decided. It is a read too.
func (s *Snapshot) Detail(key string) Detail {
	_, d := snapshotRead(s, key, nil, func(d *Decision) (any, error) { return d.Value(), nil })
	return d
}

// snapshotValue reads one flag without its Detail, which costs more, where nobody wants it.
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

// snapshotRead reads one flag, between hooks when it is the first to.
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

// isSeen reports whether the hooks have been called for a flag, and notes that they
// have.
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

// decideOnce is what was decided when the flag was read first, perhaps now.
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
	defer r.end(ErrFailed) // where Decide has panicked
	s.config.Decide(ctx, key, &r.detail)
	r.end(r.detail.Problem())
	return r
}

// end lets others have what was decided, once; err is why there is nothing if no other
// error is known.
func (r *firstRead) end(err error) {
	if r.isReady() {
		return
	}
	if r.detail.Err == nil {
		r.detail.Err = err
	}
	close(r.ready)
}

func (r *firstRead) isReady() bool {
	select {
	case <-r.ready:
		return true
	default:
		return false
	}
}

// Track sends an event of the subject's, with the values of the flags that were read so
// far: as $feature/<key>, and the keys of those that are on in $active_feature_flags.
// What properties has goes before that. It needs a Reader that can send, such as a
// remote.Client or that of a server in the same process. Flags of a Set, a Decider, a file
// ([Open]) or definitions ([Static]) have no server to send to: then it is
// errors.ErrUnsupported, but where [WithTrack] gives them a way.
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

type snapshotKey struct{}

// NewContext is a context that has the Snapshot.
func NewContext(ctx context.Context, s *Snapshot) context.Context {
	return context.WithValue(wire.Context(ctx), snapshotKey{}, s)
}

// FromContext is the Snapshot of NewContext. Where there is none it is nil, whose reads
// give the fallback.
func FromContext(ctx context.Context) *Snapshot {
	s, _ := wire.Context(ctx).Value(snapshotKey{}).(*Snapshot)
	return s
}

// decodePayload is the payload of a read as a T.
func decodePayload[T any](raw json.RawMessage, detail Detail, fallback T) (T, Detail) {
	if detail.Err != nil || raw == nil {
		return fallback, detail
	}
	var v T
	err := json.Unmarshal(raw, &v)
	if err == nil {
		return v, detail
	}
	var stored T // of the attempt above nothing is kept
	if len(detail.stored) > 0 && json.Unmarshal(detail.stored, &stored) == nil {
		return stored, detail
	}
	detail.Err = fmt.Errorf("%w: %w", ErrWrongKind, err)
	return fallback, detail
}
