package flags

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Hook is called around each read of a flag, see [WithHooks]. Either function may be nil.
type Hook struct {
	// Before is called before the flag is decided. What it returns is the context of the
	// decision and of all After, and so what one Before has to say to its After; nil leaves
	// the context as it is.
	Before func(ctx context.Context, r *Read) context.Context
	// After is called with the answer, that of the last Hook first.
	After func(ctx context.Context, r *Read)
}

// Read is one read of a flag. Hooks must not change or keep it.
type Read struct {
	Key     string
	Subject *Subject // nil: nobody
	// Fallback is a bool, string, float64 or json.RawMessage; that of [JSON] and [Payload]
	// is an empty RawMessage, as they decode later, and that of Snapshot.Detail is nil.
	Fallback any
	// Value is what the read gives, of the type of Fallback, and Detail how it was come by.
	// Before has neither.
	Value  any
	Detail Detail
}

// WithHooks is r with hooks around each read, and around the first read of each flag of a
// snapshot. Where r has hooks, those are the inner ones. It costs reads that have no
// hooks nothing.
func WithHooks(r Reader, hooks ...Hook) Reader {
	if r == nil {
		r = notReady
	}
	if len(hooks) == 0 {
		return r
	}
	return &hookReader{r, slices.Clone(hooks)}
}

// WithTrack is r whose snapshots send events by send: see [Snapshot].Track. The properties
// are send's. With nil r stays as it is.
func WithTrack(r Reader, send func(ctx context.Context, sub *Subject, event string, properties map[string]any) error) Reader {
	if r == nil {
		r = notReady
	}
	if send == nil {
		return r
	}
	return &trackReader{r, send}
}

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

type hookReader struct {
	inner Reader
	hooks []Hook
}

// callHooks reads between hooks.
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

// readWithHooks calls one of the inner Reader's methods between the hooks.
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
