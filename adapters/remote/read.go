package remote

import (
	"context"
	"encoding/json"
	"runtime/debug"

	"github.com/bunting-flags/bunting/flags"
)

// read implements the Client's flags.Reader: each read evaluates the flag and sends an exposure
// ($feature_flag_called), once for each distinct id, flag, value and groups.
func (c *Client) read(ctx context.Context, key string, sub *flags.Subject, out *flags.Detail) {
	c.readInto(ctx, key, sub, nil, out)
}

func (c *Client) readInto(ctx context.Context, key string, sub *flags.Subject, v *view, out *flags.Detail) {
	var r result
	c.resolve(ctx, key, sub, v, &r)
	out.Decision, out.FromServer, out.Err = r.d, r.from != nil, r.problem()
	c.expose(key, sub, &r, out.Err)
}

// DecideAndExpose is like Decide for a value that is shown to the subject: it also sends an
// exposure, as typed reads do. Package ofprovider calls it.
func (c *Client) DecideAndExpose(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error) {
	if !c.isInitialized() {
		return d, false, errNotReady
	}
	var r result
	c.resolve(ctx, key, sub, nil, &r)
	c.expose(key, sub, &r, r.problem())
	return r.d, r.found, r.err
}

var notReadyReader = flags.NewReader(nil, nil) // for a Client that was not created by New

// reads returns the flags.Reader of the typed reads; package flags documents them.
func (c *Client) reads() flags.Reader {
	if !c.isInitialized() {
		return notReadyReader
	}
	return c.reader
}

// Bool returns whether a flag is on: see flags.Reader.
func (c *Client) Bool(ctx context.Context, key string, sub *flags.Subject, fallback bool) bool {
	return c.reads().Bool(ctx, key, sub, fallback)
}

// BoolDetail is like Bool and also returns how the value was determined.
func (c *Client) BoolDetail(ctx context.Context, key string, sub *flags.Subject, fallback bool) (bool, flags.Detail) {
	return c.reads().BoolDetail(ctx, key, sub, fallback)
}

// String returns the key of a flag's variant: see flags.Reader.
func (c *Client) String(ctx context.Context, key string, sub *flags.Subject, fallback string) string {
	return c.reads().String(ctx, key, sub, fallback)
}

// StringDetail is like String and also returns how the value was determined.
func (c *Client) StringDetail(ctx context.Context, key string, sub *flags.Subject, fallback string) (string, flags.Detail) {
	return c.reads().StringDetail(ctx, key, sub, fallback)
}

// Number returns a flag's payload, or variant, as a number: see flags.Reader.
func (c *Client) Number(ctx context.Context, key string, sub *flags.Subject, fallback float64) float64 {
	return c.reads().Number(ctx, key, sub, fallback)
}

// NumberDetail is like Number and also returns how the value was determined.
func (c *Client) NumberDetail(ctx context.Context, key string, sub *flags.Subject, fallback float64) (float64, flags.Detail) {
	return c.reads().NumberDetail(ctx, key, sub, fallback)
}

// JSON returns a flag's payload, which flags.JSON decodes: see flags.Reader.
func (c *Client) JSON(ctx context.Context, key string, sub *flags.Subject, fallback json.RawMessage) json.RawMessage {
	return c.reads().JSON(ctx, key, sub, fallback)
}

// JSONDetail is like JSON and also returns how the value was determined.
func (c *Client) JSONDetail(ctx context.Context, key string, sub *flags.Subject, fallback json.RawMessage) (json.RawMessage, flags.Detail) {
	return c.reads().JSONDetail(ctx, key, sub, fallback)
}

// guardHooks wraps hooks so that a panic in one does not end the read.
func (c *Client) guardHooks(hooks []flags.Hook) []flags.Hook {
	out := make([]flags.Hook, len(hooks))
	for i, h := range hooks {
		if h.Before != nil {
			out[i].Before = func(ctx context.Context, r *flags.Read) (newCtx context.Context) {
				defer c.recoverHook(r.Key)
				return h.Before(ctx, r)
			}
		}
		if h.After != nil {
			out[i].After = func(ctx context.Context, r *flags.Read) {
				defer c.recoverHook(r.Key)
				h.After(ctx, r)
			}
		}
	}
	return out
}

// recoverHook logs the panic of a hook. It must be deferred.
func (c *Client) recoverHook(key string) {
	if p := recover(); p != nil {
		c.log.Error("a hook of the flags client panicked", "flag", key, "panic", p, "stack", string(debug.Stack()))
	}
}
