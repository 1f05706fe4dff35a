package management

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/capture/ids"
)

// Env is the environment of a package's services: the store with its transactions of type T, the
// clock, and the source of ids.
type Env[T Tx] struct {
	Store Store[T]
	// Clock returns the current time. If nil, it is time.Now for this process, and Tx.Now for what
	// several servers must agree on.
	Clock func() time.Time
	// IDs returns a new id. If nil, ids are random UUIDs.
	IDs func() string
}

// Now returns the current time in UTC, with the precision of stored times.
func (d *Env[T]) Now() time.Time {
	if d.Clock == nil {
		return NewStamp(time.Now()).Time
	}
	return NewStamp(d.Clock()).Time
}

// StoreNow returns the current time in UTC of the clock that all servers of the store share, with
// the precision of stored times. It is for decisions that several servers must not make twice or too
// early because their own clocks differ.
func (d *Env[T]) StoreNow(tx T) (time.Time, error) {
	if d.Clock != nil {
		return d.Now(), nil
	}
	now, err := tx.Now()
	return NewStamp(now).Time, err
}

// NewID returns a new id.
func (d *Env[T]) NewID() string {
	if d.IDs == nil {
		return ids.Random()
	}
	return d.IDs()
}

// Read runs work in a read-only transaction and returns its results.
func Read[Out any, T Tx](ctx context.Context, d *Env[T], work func(T) (Out, error)) (out Out, err error) {
	err = d.Store.Read(ctx, func(tx T) (err error) { out, err = work(tx); return err })
	return out, err
}

// Write runs work in a transaction that may change the store, and returns its results. The store
// may run work more than once (Store.Write).
func Write[Out any, T Tx](ctx context.Context, d *Env[T], work func(T) (Out, error)) (out Out, err error) {
	err = d.Store.Write(ctx, func(tx T) (err error) { out, err = work(tx); return err })
	return out, err
}
