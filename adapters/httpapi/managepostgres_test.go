package httpapi_test

import (
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
)

// Cases of the management API have the same responses with PostgreSQL: every third case of a file in
// which a request succeeds, and with -long all cases. The store itself has the same tests with both
// databases.
func TestManagement_PostgresCases(t *testing.T) {
	open := func(t *testing.T) *office { return newOffice(t, pgtest.PostgresMigrated(t, sqlstore.Open)) }
	for name, f := range manageFiles(t, "") {
		storing := slices.DeleteFunc(f.Cases, func(c manageCase) bool {
			return !*allValues && !slices.ContainsFunc(c.Steps, func(s manageStep) bool { return s.Status < 300 })
		})
		for i, c := range storing {
			if *allValues || i%3 == 0 {
				t.Run(name+"/"+c.Name, func(t *testing.T) {
					t.Parallel()
					open(t).walk(t, c.Steps)
				})
			}
		}
	}
	t.Run("restricted", func(t *testing.T) {
		eachManageCase(t, "restricted", func(t *testing.T, c *manageCase) {
			o := open(t)
			o.restrict(t)
			o.walk(t, c.Steps)
		})
	})
}
