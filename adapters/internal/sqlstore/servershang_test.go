package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management/rooms"
)

// While another server holds the management lock, requests of this server that wait for
// it do not block evaluation of flags or capture of events.
func TestServers_LockIsHeld(t *testing.T) {
	one, other := twoInstances(t, nil)
	held, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	defer close(release)
	all.Go(func() {
		err := managementStore{one.Store}.Write(context.Background(), func(rooms.Tx) error {
			close(held)
			<-release
			return errors.New("never mind")
		})
		if err == nil {
			t.Error("what was to fail has not")
		}
	})
	<-held
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // before it is released
	for range 3 * (database.PostgresConns + database.QuickConns) {
		all.Go(func() {
			if err := (managementStore{other.Store}).Write(ctx, func(rooms.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	for n := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := other.Stored(ctx, serving.Query{ProjectID: 1, DistinctID: fmt.Sprint("user ", n), Needs: storedNeeds})
		cancel()
		if err != nil {
			t.Fatal("flags:", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		err = other.Commit(ctx, []int64{1}, func(capture.Tx) error { return nil })
		cancel()
		if err != nil {
			t.Fatal("events:", err)
		}
		time.Sleep(5 * time.Millisecond) // so that writers run in between
	}
}

// PostgreSQL releases the locks of a server that stops in the middle of a transaction,
// such as one that is disconnected, after database.IdleTxTimeout, which is shorter here.
func TestServers_OneHangs(t *testing.T) {
	address := postgresURL(t)
	other := openStore(t, address)
	var setting string
	if err := other.db.Write.QueryRow(`SHOW idle_in_transaction_session_timeout`).Scan(&setting); err != nil || setting != "1min" || manageTime >= database.IdleTxTimeout {
		t.Errorf("a transaction may stand still for %s, %v", setting, err)
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	hangs := openStore(t, address+separator+"idle_in_transaction_session_timeout=300")
	held, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	defer close(release)
	all.Go(func() {
		err := managementStore{hangs}.Write(context.Background(), func(rooms.Tx) error {
			close(held)
			<-release
			return nil
		})
		if err == nil {
			t.Error("a transaction that was given up is committed")
		}
	})
	<-held
	if err := (managementStore{other}).Write(t.Context(), func(rooms.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
}
