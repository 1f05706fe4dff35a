package sqlstore

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/storetest"
)

func TestInsights_Contract(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			storetest.Insights(t, func(t testing.TB) storetest.InsightStore { return open(t) })
		})
	}
}

// Owners of distinct ids are looked up by key, whatever the number of distinct ids in
// the project.
func TestInsights_OwnersByID(t *testing.T) {
	s := sqliteStores["memory"](t)
	for _, created := range []bool{false, true} {
		plan := ""
		err := database.Query(t.Context(), s.db.Read, func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			plan += detail + "\n"
			return err
		}, `EXPLAIN QUERY PLAN `+events.OwnersQuery(&s.db.Dialect, created), 1, `["a","b"]`)
		if err != nil || !strings.HasPrefix(plan, "SCAN j VIRTUAL TABLE INDEX 1:\nSEARCH d USING PRIMARY KEY (project_id=? AND distinct_id=?)\n") {
			t.Errorf("created %t: %v\n%s", created, err, plan)
		}
	}
}
