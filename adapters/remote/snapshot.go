package remote

import (
	"context"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// For returns the flags of one subject for the duration of a request: see flags.Reader. They are
// evaluated with the definitions at the time of the call. Each flag that is read is exposed once,
// and the snapshot's Track sends events. With Config.AskServer, the first read of a flag that the
// server may know better requests all flags from the server, once.
func (c *Client) For(ctx context.Context, sub *flags.Subject) *flags.Snapshot {
	return c.reads().For(ctx, sub)
}

// view has the inputs of one snapshot.
type view struct {
	c      *Client
	sub    *flags.Subject // nil if the caller passed no subject
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

// client evaluates the flags that a browser may see. It fails without definitions, because they
// determine the set of flags.
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

// ask requests all flags from the server, once.
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
