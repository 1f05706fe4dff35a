package remote

import (
	"context"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// For is the flags of one subject for the length of a request: see flags.Reader. They are
// decided by the definitions of its beginning; what is read is exposed, once, and Track
// sends. With AskServer the server is asked once, when a flag that it may know better is
// read first, for all flags.
func (c *Client) For(ctx context.Context, sub *flags.Subject) *flags.Snapshot {
	return c.reads().For(ctx, sub)
}

// view is what one snapshot decides with.
type view struct {
	c      *Client
	sub    *flags.Subject // nil: nobody
	set    *flags.Set
	at     time.Time
	once   sync.Once
	answer *Answer
	err    error
}

func (c *Client) snapshot(_ context.Context, sub *flags.Subject) flags.SnapshotConfig {
	v := &view{c: c, sub: sub, set: c.set(), err: errNotReady}
	v.at = c.decisionTime(v.set)
	return flags.SnapshotConfig{Decide: v.decide, Client: v.client, Track: v.track}
}

func (v *view) decide(ctx context.Context, key string, out *flags.Detail) {
	v.c.readInto(ctx, key, v.sub, v, out)
}

// client decides what a browser may see. The definitions alone say which flags that are:
// without them there are none.
func (v *view) client(ctx context.Context, out *flags.Decisions) error {
	c := v.c
	if err := c.checkSubject(v.sub); err != nil {
		return err
	}
	if v.set == nil {
		return errNotReady
	}
	sc := c.scratches.Get().(*scratch)
	v.set.Select(c.partial(v.sub, sc), v.at, &flags.Selection{Runtime: "client"}, out)
	c.scratches.Put(sc)
	if !c.config.AskServer || len(undecidedKeys(out)) == 0 {
		return nil
	}
	answer, err := v.ask(ctx)
	if err == nil {
		mergeAnswer(out, answer)
	}
	return err
}

// ask asks the server for all flags, once.
func (v *view) ask(ctx context.Context) (*Answer, error) {
	v.once.Do(func() { v.answer, v.err = v.c.ask(ctx, v.sub, nil) })
	return v.answer, v.err
}

func (v *view) track(ctx context.Context, event string, properties map[string]any) error {
	if _, exists := properties["$device_id"]; !exists && v.sub.DeviceID != "" {
		properties["$device_id"] = v.sub.DeviceID
	}
	return v.c.Track(ctx, v.sub.DistinctID, event, properties, v.sub.Groups)
}
