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

// view is a Store of which a room sees its own T.
type view[T management.Tx] struct {
	of  Store
	see func(Tx) T
}

func (v view[T]) Read(ctx context.Context, work func(T) error) error {
	return v.of.Read(ctx, func(tx Tx) error { return work(v.see(tx)) })
}

func (v view[T]) Write(ctx context.Context, work func(T) error) error {
	return v.of.Write(ctx, func(tx Tx) error { return work(v.see(tx)) })
}

// deskOf is a room's desk.
func deskOf[T management.Tx](c *Config, see func(Tx) T) management.Desk[T] {
	return management.Desk[T]{Store: view[T]{c.Store, see}, Clock: c.Now, IDs: c.NewID}
}
