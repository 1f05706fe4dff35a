package sqlstore

import (
	"testing"

	"github.com/bunting-flags/bunting/adapters/storetest"
)

func TestInsights_Contract(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			storetest.Insights(t, func(t testing.TB) storetest.InsightStore { return open(t) })
		})
	}
}
