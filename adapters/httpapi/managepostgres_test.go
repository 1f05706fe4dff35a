package httpapi_test

import (
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
)

// Every case of the management API has the same responses with PostgreSQL.
func TestManagement_PostgresCases(t *testing.T) {
	open := func(t *testing.T) *office { return newOffice(t, pgtest.PostgresMigrated(t, sqlstore.Open)) }
	eachManageCase(t, "", func(t *testing.T, c *manageCase) { open(t).walk(t, c.Steps) })
	t.Run("restricted", func(t *testing.T) {
		eachManageCase(t, "restricted", func(t *testing.T, c *manageCase) {
			o := open(t)
			o.restrict(t)
			o.walk(t, c.Steps)
		})
	})
}
