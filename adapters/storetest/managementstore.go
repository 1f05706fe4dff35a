package storetest

import (
	"context"
	"testing"

	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// ManagementStore is the store for Management.
type ManagementStore interface {
	rooms.Store
	serving.Source
}

func inWrite(t testing.TB, s rooms.Store, work func(rooms.Tx) error) {
	t.Helper()
	must(t, s.Write(context.Background(), work))
}

func inRead(t testing.TB, s rooms.Store, work func(rooms.Tx) error) {
	t.Helper()
	must(t, s.Read(context.Background(), work))
}

func put(t testing.TB, s rooms.Store, records ...management.Record) {
	t.Helper()
	inWrite(t, s, func(tx rooms.Tx) error {
		for i := range records {
			if err := tx.Put(&records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
