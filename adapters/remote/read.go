package remote

import (
	"context"

	"github.com/bunting-flags/bunting/flags"
)

// read is the Client's flags.Reader: each read decides, between the hooks, and sends an
// exposure ($feature_flag_called), once for each distinct id, flag, value and groups.
func (c *Client) read(ctx context.Context, key string, sub *flags.Subject, out *flags.Detail) {
	var local result
	r := &local
	if len(c.config.Hooks) == 0 {
		c.resolve(ctx, key, sub, r)
	} else {
		r = c.hooked(ctx, key, sub)
	}
	out.Decision, out.Asked, out.Err = r.d, r.from != nil, r.problem()
	c.expose(key, sub, r, out.Err)
}

// DecideAndExpose is Decide for somebody who is shown the answer: it sends an exposure
// as typed reads do. Package ofprovider calls it.
func (c *Client) DecideAndExpose(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error) {
	r := c.hooked(ctx, key, sub)
	c.expose(key, sub, r, r.problem())
	return r.d, r.found, r.err
}
