package management

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Env is what a room stands on whose transactions are a T.
type Env[T Tx] struct {
	Store Store[T]
	// Clock is time.Now when nil.
	Clock func() time.Time
	// IDs makes ids, random UUIDs when nil.
	IDs func() string
}

// Now is the time, in UTC, as exactly as it is stored.
func (d *Env[T]) Now() time.Time {
	if d.Clock == nil {
		return NewStamp(time.Now()).Time
	}
	return NewStamp(d.Clock()).Time
}

// NewID makes an id.
func (d *Env[T]) NewID() string {
	if d.IDs == nil {
		return wire.RandomUUID()
	}
	return d.IDs()
}

// Read runs work on one state of the store and returns what it returns.
func Read[Out any, T Tx](ctx context.Context, d *Env[T], work func(T) (Out, error)) (out Out, err error) {
	err = d.Store.Read(ctx, func(tx T) (err error) { out, err = work(tx); return err })
	return out, err
}

// Write runs work in a transaction that changes something, and returns what it returns.
func Write[Out any, T Tx](ctx context.Context, d *Env[T], work func(T) (Out, error)) (out Out, err error) {
	err = d.Store.Write(ctx, func(tx T) (err error) { out, err = work(tx); return err })
	return out, err
}
