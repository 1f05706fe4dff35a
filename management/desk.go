package management

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Desk is what a room stands on.
type Desk struct {
	Store Store
	// Clock is time.Now when nil.
	Clock func() time.Time
	// IDs makes ids, random UUIDs when nil.
	IDs func() string
}

// Now is the time, in UTC, as exactly as it is stored.
func (d *Desk) Now() time.Time {
	if d.Clock == nil {
		return At(time.Now()).Time
	}
	return At(d.Clock()).Time
}

// NewID makes an id.
func (d *Desk) NewID() string {
	if d.IDs == nil {
		return wire.RandomUUID()
	}
	return d.IDs()
}

// Read runs work on one state of the store and returns what it returns.
func Read[T any](ctx context.Context, d *Desk, work func(Tx) (T, error)) (out T, err error) {
	err = d.Store.Read(ctx, func(tx Tx) (err error) { out, err = work(tx); return err })
	return out, err
}

// Write runs work in a transaction that changes something, and returns what it returns.
func Write[T any](ctx context.Context, d *Desk, work func(Tx) (T, error)) (out T, err error) {
	err = d.Store.Write(ctx, func(tx Tx) (err error) { out, err = work(tx); return err })
	return out, err
}
