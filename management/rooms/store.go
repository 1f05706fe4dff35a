package rooms

import (
	"context"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/organizations"
)

// Store keeps what all rooms keep.
type Store = management.Store[Tx]

// Tx is a transaction of all rooms.
type Tx interface {
	featureflags.Tx
	organizations.Tx
}

// storeView is a Store of which a room sees its own T.
type storeView[T management.Tx] struct {
	store  Store
	narrow func(Tx) T
}

func (v storeView[T]) Read(ctx context.Context, work func(T) error) error {
	return v.store.Read(ctx, func(tx Tx) error { return work(v.narrow(tx)) })
}

func (v storeView[T]) Write(ctx context.Context, work func(T) error) error {
	return v.store.Write(ctx, func(tx Tx) error { return work(v.narrow(tx)) })
}

// envOf is a room's desk.
func envOf[T management.Tx](c *Config, narrow func(Tx) T) management.Env[T] {
	return management.Env[T]{Store: storeView[T]{c.Store, narrow}, Clock: c.Now, IDs: c.NewID}
}
