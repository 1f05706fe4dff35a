package remote

import (
	"context"

	"github.com/bunting-flags/bunting/flags"
)

// NewClientOn returns a Client for flags that do not change, without a Source.
func NewClientOn(c Config, set *flags.Set) (*Client, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	requests, ours := httpClient(c.HTTPClient)
	client, err := newClient(&c, func() *flags.Set { return set }, requests)
	if err == nil && ours {
		context.AfterFunc(client.sender.ctx, requests.CloseIdleConnections) // as a Source does
	}
	return client, err
}
