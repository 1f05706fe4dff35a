package httpapi_test

import (
	"context"
	"testing"

	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/adapters/storetest"
)

// postgresOffices bounds the offices that stand on PostgreSQL at a time: each has
// up to eight connections, of a hundred that the server gives.
const postgresOffices = 8

// Every case of the management API is answered the same by PostgreSQL.
func TestManagement_PostgresCases(t *testing.T) {
	server := storetest.StartPostgres(t, 0, storetest.QuickPostgres)
	migrated := server.Database(t)
	store, err := sqlstore.Open(context.Background(), migrated, sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	places := make(chan struct{}, postgresOffices)
	open := func(t *testing.T) *office {
		places <- struct{}{}
		t.Cleanup(func() { <-places })
		return newOffice(t, server.Copy(t, migrated))
	}
	eachManageCase(t, "", func(t *testing.T, c *manageCase) { open(t).walk(t, c.Steps) })
	t.Run("restricted", func(t *testing.T) {
		eachManageCase(t, "restricted", func(t *testing.T, c *manageCase) {
			o := open(t)
			o.restrict(t)
			o.walk(t, c.Steps)
		})
	})
}
