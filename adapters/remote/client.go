package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/flags/wire"
)

var _ serving.Source = (*Client)(nil)

// New starts a Client. Before it returns, the Client has loaded the copy on disk or, without one,
// the bundle; network requests start afterwards. It returns an error for an invalid Config and for
// a broken bundle, but not if the server or the copy is unavailable.
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

// newClient creates a Client for the flags that set returns, and starts its sender.
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

// Flush sends the queued events, and returns when each event that was in the queue has been sent or
// dropped. The error is ErrDropped with the number of dropped events, or the context's error with
// the number of events that still wait; these stay in the queue.
func (c *Client) Flush(ctx context.Context) error {
	if !c.isInitialized() {
		return nil
	}
	return c.sender.flush(wire.Context(ctx))
}

// Close sends the queued events until the context or Config.ShutdownTimeout ends, then ends all
// goroutines of the Client. The remaining events are dropped: the error is then ErrDropped with
// their number and the cause. A batch in transit at that moment may or may not have arrived. Later
// reads of flags return flags.ErrClosed. Close may be called several times, but not from a function
// passed to OnChange or Watch.
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

// Stats returns counts since New.
func (c *Client) Stats() Stats {
	if !c.isInitialized() {
		return Stats{}
	}
	s := c.queue.stats()
	s.Retries = c.sender.retries.Load()
	return s
}

// Set returns the project's current flags, or nil until the first definitions are loaded.
func (c *Client) Set() *flags.Set {
	if !c.isInitialized() {
		return nil
	}
	return c.set()
}

// WaitForReady waits until definitions are loaded or the context ends. Its error wraps the
// context's cause and the error of the last attempt. If the server rejects the key (401, 403), it
// returns immediately with a *[StatusError] and advice, while the Client continues to retry. With
// Config.Offline and no definitions it returns flags.ErrNotReady immediately.
func (c *Client) WaitForReady(ctx context.Context) error {
	if !c.isInitialized() || c.source == nil {
		return errNotReady
	}
	return c.source.WaitForReady(wire.Context(ctx))
}

// Status returns the state of the definitions and the result of the last attempt.
func (c *Client) Status() Status {
	if !c.isInitialized() || c.source == nil {
		return Status{}
	}
	return c.source.Status()
}

// ProjectByKey implements serving.Source. The Revision counts the changes that this process has
// seen. Until definitions are loaded it fails with flags.ErrUnavailable.
func (c *Client) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	k, err := c.currentFor(apiKey)
	if err != nil {
		return flags.Project{}, err
	}
	return k.project, nil
}

// Definitions implements serving.Source. It returns the current definitions, which are shared and
// must not be modified.
func (c *Client) Definitions(_ context.Context, p flags.Project) (flags.Definitions, error) {
	k, err := c.currentFor(p.APIKey)
	if err != nil {
		return flags.Definitions{}, err
	}
	return k.defs, nil
}

// currentFor returns the current definitions if apiKey is the project's key.
func (c *Client) currentFor(apiKey string) (*loadedDefinitions, error) {
	if !c.isInitialized() || c.source == nil {
		return nil, errors.Join(flags.ErrUnavailable, errNotReady)
	}
	return c.source.project(apiKey)
}
