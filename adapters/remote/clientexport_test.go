package remote

import "github.com/bunting-flags/bunting/flags"

// NewClientOn is a Client on flags that do not change, without a Source.
func NewClientOn(c Config, set *flags.Set) (*Client, error) {
	return newClient(c, func() *flags.Set { return set })
}
