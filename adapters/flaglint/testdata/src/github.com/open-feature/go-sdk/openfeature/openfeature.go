// Package openfeature has the signatures that the test needs.
package openfeature

import "context"

type Client struct{}

func (*Client) IntValueDetails(ctx context.Context, flag string, fallback int64) (int64, error) {
	return fallback, nil
}
