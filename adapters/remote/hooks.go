package remote

import (
	"context"
	"runtime/debug"

	"github.com/bunting-flags/bunting/flags"
)

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
