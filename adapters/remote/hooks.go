package remote

import (
	"context"
	"runtime/debug"

	"github.com/bunting-flags/bunting/flags"
)

// Hook is called around each decision of one flag: by Decide and by the reads of
// values. Either function may be nil. A hook that panics is logged, and the decision
// goes on. Hooks must not change the subject.
type Hook struct {
	Before func(ctx context.Context, key string, sub *flags.Subject)
	// After gets the decision, and why there is none, as flags.Detail has it.
	After func(ctx context.Context, key string, sub *flags.Subject, d flags.Decision, err error)
}

// hooked resolves a flag between the hooks.
func (c *Client) hooked(ctx context.Context, key string, sub *flags.Subject) *result {
	for i := range c.config.Hooks {
		if f := c.config.Hooks[i].Before; f != nil {
			c.guard(key, func() { f(ctx, key, sub) })
		}
	}
	r := new(result)
	c.resolve(ctx, key, sub, r)
	for i := range c.config.Hooks {
		if f := c.config.Hooks[i].After; f != nil {
			c.guard(key, func() { f(ctx, key, sub, r.d, r.problem()) })
		}
	}
	return r
}

func (c *Client) guard(key string, call func()) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a hook of the flags client panicked", "flag", key, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	call()
}
