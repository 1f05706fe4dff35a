package remote

import (
	"context"

	"github.com/bunting-flags/bunting/flags"
)

// ClientConfig is the part of Config that a Client alone looks at.
type ClientConfig struct{}

// Client decides a project's flags in this process.
type Client struct{ *Source }

// New opens a Source and a Client on it.
func New(c Config) (*Client, error) { panic("not built yet") }

// Decide decides one flag for a subject; its Partial is taken as true. found is false where the project has no such
// flag. An answer that cannot be known here has Undecided set.
func (c *Client) Decide(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error) {
	panic("not built yet")
}

// Track sends an event back in time, through the bounded queue.
func (c *Client) Track(ctx context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error {
	panic("not built yet")
}

// Flush sends what waits. Close flushes, then ends all goroutines.
func (c *Client) Flush(ctx context.Context) error { panic("not built yet") }
func (c *Client) Close(ctx context.Context) error { panic("not built yet") }
