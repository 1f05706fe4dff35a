package flags

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Hook is called around each read of a flag, see [WithHooks]. Either function may be nil. The
// functions may be called concurrently.
type Hook struct {
	// Before is called before the flag is evaluated. Its result is the context of the
	// evaluation and of all After calls, and so may carry values from Before to After. If
	// nil, the context remains unchanged.
	Before func(ctx context.Context, r *Read) context.Context
	// After is called with the result. The hooks are called in reverse order.
	After func(ctx context.Context, r *Read)
}

// Read describes one read of a flag. Hooks must not modify or retain it.
type Read struct {
	Key     string
	Subject *Subject // nil without a subject
	// Fallback is a bool, string, float64 or json.RawMessage. For [JSON] and [Payload] it is
	// an empty RawMessage, since they decode later, and for Snapshot.Detail it is nil.
	Fallback any
	// Value is the result, of the type of Fallback, and Detail describes it. Both are zero in
	// Before.
	Value  any
	Detail Detail
}

// WithHooks returns a Reader that calls hooks around each read of r, and around the first
// read of each flag of a snapshot. If r has hooks already, the new hooks are called around
// them. Reads without hooks have no overhead. A nil r is not ready: its reads return the
// fallback.
func WithHooks(r Reader, hooks ...Hook) Reader {
	if r == nil {
		r = notReady
	}
	if len(hooks) == 0 {
		return r
	}
	return &hookReader{r, slices.Clone(hooks)}
}

// WithTrack returns a Reader like r with snapshots that send events with send, see
// [Snapshot].Track. send owns the properties and may modify them. If send is nil, the result
// is r.
func WithTrack(r Reader, send func(ctx context.Context, sub *Subject, event string, properties map[string]any) error) Reader {
	if r == nil {
		r = notReady
	}
	if send == nil {
		return r
	}
	return &trackReader{r, send}
}

// trackReader is the Reader that [WithTrack] returns.
type trackReader struct {
	Reader
	send func(ctx context.Context, sub *Subject, event string, properties map[string]any) error
}

func (r *trackReader) For(ctx context.Context, sub *Subject) *Snapshot {
	s := r.Reader.For(ctx, sub)
	if s != nil {
		s.config.Track = func(ctx context.Context, event string, properties map[string]any) error {
			return r.send(ctx, s.subject, event, properties)
		}
	}
	return s
}

// hookReader is the Reader that [WithHooks] returns.
type hookReader struct {
	inner Reader
	hooks []Hook
}

// callHooks calls read between the hooks. Every read goes through it, so that hooks cannot be
// skipped.
func callHooks[T any](ctx context.Context, hooks []Hook, key string, sub *Subject, fallback T, read func(context.Context) (T, Detail)) (T, Detail) {
	if len(hooks) == 0 {
		return read(ctx)
	}
	ctx = wire.Context(ctx)
	r := Read{Key: key, Subject: sub, Fallback: fallback}
	for i := range hooks {
		if before := hooks[i].Before; before != nil {
			if with := before(ctx, &r); with != nil {
				ctx = with
			}
		}
	}
	v, d := read(ctx)
	r.Value, r.Detail = v, d
	for i := range slices.Backward(hooks) {
		if after := hooks[i].After; after != nil {
			after(ctx, &r)
		}
	}
	return v, d
}

// readWithHooks calls a method of the inner Reader between the hooks.
func readWithHooks[T any](ctx context.Context, h *hookReader, key string, sub *Subject, fallback T, read func(Reader, context.Context, string, *Subject, T) (T, Detail)) (T, Detail) {
	return callHooks(ctx, h.hooks, key, sub, fallback, func(ctx context.Context) (T, Detail) { return read(h.inner, ctx, key, sub, fallback) })
}

func (h *hookReader) Bool(ctx context.Context, key string, sub *Subject, fallback bool) bool {
	v, _ := h.BoolDetail(ctx, key, sub, fallback)
	return v
}

func (h *hookReader) BoolDetail(ctx context.Context, key string, sub *Subject, fallback bool) (bool, Detail) {
	return readWithHooks(ctx, h, key, sub, fallback, Reader.BoolDetail)
}

func (h *hookReader) String(ctx context.Context, key string, sub *Subject, fallback string) string {
	v, _ := h.StringDetail(ctx, key, sub, fallback)
	return v
}

func (h *hookReader) StringDetail(ctx context.Context, key string, sub *Subject, fallback string) (string, Detail) {
	return readWithHooks(ctx, h, key, sub, fallback, Reader.StringDetail)
}

func (h *hookReader) Number(ctx context.Context, key string, sub *Subject, fallback float64) float64 {
	v, _ := h.NumberDetail(ctx, key, sub, fallback)
	return v
}

func (h *hookReader) NumberDetail(ctx context.Context, key string, sub *Subject, fallback float64) (float64, Detail) {
	return readWithHooks(ctx, h, key, sub, fallback, Reader.NumberDetail)
}

func (h *hookReader) JSON(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) json.RawMessage {
	v, _ := h.JSONDetail(ctx, key, sub, fallback)
	return v
}

func (h *hookReader) JSONDetail(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) (json.RawMessage, Detail) {
	return readWithHooks(ctx, h, key, sub, fallback, Reader.JSONDetail)
}

func (h *hookReader) For(ctx context.Context, sub *Subject) *Snapshot {
	s := h.inner.For(ctx, sub)
	if s != nil {
		s.hooks = slices.Concat(h.hooks, s.hooks)
	}
	return s
}
