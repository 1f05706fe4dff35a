package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

var _ flags.Source = (*Client)(nil)

// New starts a Client. It has the flags of the copy on disk, or of the bundle, before it
// returns; the network is only asked afterwards. It fails for a Config that cannot work
// and a broken bundle, never for what cannot be had.
func New(c Config) (*Client, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	s, err := open(&c)
	if err != nil {
		return nil, err
	}
	client, err := newClient(&c, s.Set, s.client)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	client.source = s
	return client, nil
}

// newClient makes a Client on the flags that set gives, and starts its sender.
func newClient(config *Config, set func() *flags.Set, requests *http.Client) (*Client, error) {
	c := &Client{set: set, config: config, http: requests, log: config.Logger}
	c.reader = flags.WithHooks(flags.NewReader(c.read, c.snapshot), c.guardHooks(config.Hooks)...)
	c.scratches.New = func() any { return new(scratch) }
	var err error
	if c.exposures, err = newExposures(config.ExposureMemory); err != nil {
		return nil, err
	}
	c.queue = newQueue(config.QueueEvents, config.QueueBytes)
	c.sender = startSender(c)
	return c, nil
}

// Flush sends what waits, and returns when each event that was there has been sent
// or dropped. The error is ErrDropped with how many were, or the context's with how many
// still wait; they stay in the queue.
func (c *Client) Flush(ctx context.Context) error {
	if !c.isInitialized() {
		return nil
	}
	return c.sender.flush(wire.Context(ctx))
}

// Close sends what waits until the context or Config.ShutdownTimeout ends, then ends all
// goroutines of the Client. What is left is dropped: the error is ErrDropped with how
// many events that are, and why the time was over; of a batch on its way it is not known
// whether it arrived. Flags are read no more (flags.ErrClosed). It may be called again,
// and not from a function of OnChange or Watch.
func (c *Client) Close(ctx context.Context) error {
	if !c.isInitialized() {
		return nil
	}
	c.closing.Do(func() {
		c.ended.Store(true)
		c.queue.close()
		ctx = wire.Context(ctx)
		within := c.config.ShutdownTimeout
		if _, has := ctx.Deadline(); within == 0 && !has {
			within = defaultShutdownTimeout
		}
		if within > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, within)
			defer cancel()
		}
		err := c.sender.flush(ctx)
		c.sender.end()
		if n := c.sender.unsent; n > 0 {
			err = fmt.Errorf("%w by Close: %d: %w", ErrDropped, n, context.Cause(ctx))
		}
		if c.source != nil {
			err = errors.Join(err, c.source.Close())
		}
		c.closed = err
	})
	return c.closed
}

// Stats are counts since New.
func (c *Client) Stats() Stats {
	if !c.isInitialized() {
		return Stats{}
	}
	s := c.queue.stats()
	s.Retries = c.sender.retries.Load()
	return s
}

// Set is the project's flags as they are known now, nil while nothing is.
func (c *Client) Set() *flags.Set {
	if !c.isInitialized() {
		return nil
	}
	return c.set()
}

// WaitForReady waits until there are definitions, or the context ends. Its error has the
// context's cause and why the last attempt failed. A server that refuses the key (401,
// 403) ends it at once, with a *[StatusError] and what to look at; it is asked again
// all the same. So does Config.Offline, with flags.ErrNotReady.
func (c *Client) WaitForReady(ctx context.Context) error {
	if !c.isInitialized() || c.source == nil {
		return errNotReady
	}
	return c.source.WaitForReady(wire.Context(ctx))
}

// Status says what is known and how the last attempt ended.
func (c *Client) Status() Status {
	if !c.isInitialized() || c.source == nil {
		return Status{}
	}
	return c.source.Status()
}

// ProjectByKey implements flags.Source. The Revision counts the changes that this
// process has seen. While nothing is known it fails with flags.ErrUnavailable.
func (c *Client) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	k, err := c.currentFor(apiKey)
	if err != nil {
		return flags.Project{}, err
	}
	return k.project, nil
}

// Definitions implements flags.Source: those that are known now. They are shared
// and must not be changed.
func (c *Client) Definitions(_ context.Context, p flags.Project) (flags.Definitions, error) {
	k, err := c.currentFor(p.APIKey)
	if err != nil {
		return flags.Definitions{}, err
	}
	return k.defs, nil
}

func (c *Client) currentFor(apiKey string) (*loadedDefinitions, error) {
	if !c.isInitialized() || c.source == nil {
		return nil, errors.Join(flags.ErrUnavailable, errNotReady)
	}
	return c.source.project(apiKey)
}
