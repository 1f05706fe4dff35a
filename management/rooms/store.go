package rooms

import (
	"context"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/organizations"
)

// Store is the store of all packages.
type Store = management.Store[Tx]

// Tx is a transaction with the methods that all packages need.
type Tx interface {
	definitions.Tx
	organizations.Tx
}

// storeView is a Store for one package: its transactions have only the package's own interface T.
type storeView[T management.Tx] struct {
	store  Store
	narrow func(Tx) T
}

// Read implements management.Store.
func (v storeView[T]) Read(ctx context.Context, work func(T) error) error {
	return v.store.Read(ctx, func(tx Tx) error { return work(v.narrow(tx)) })
}

// Write implements management.Store.
func (v storeView[T]) Write(ctx context.Context, work func(T) error) error {
	return v.store.Write(ctx, func(tx Tx) error { return work(v.narrow(tx)) })
}

// envOf returns the environment of one package. narrow converts a transaction to the package's T.
func envOf[T management.Tx](c *Config, narrow func(Tx) T) management.Env[T] {
	return management.Env[T]{Store: storeView[T]{c.Store, narrow}, Clock: c.Now, IDs: c.NewID}
}
