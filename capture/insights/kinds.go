package insights

import (
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/funnels"
	"github.com/bunting-flags/bunting/capture/insights/internal/lifecycle"
	"github.com/bunting-flags/bunting/capture/insights/internal/retention"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/internal/sqlquery"
	"github.com/bunting-flags/bunting/capture/insights/internal/stats"
	"github.com/bunting-flags/bunting/capture/insights/internal/trends"
	"github.com/bunting-flags/bunting/capture/insights/internal/trials"
)

// kinds are all kinds of queries that are supported (§2.1). To add a kind, add it to the table of
// its subject. The table is set in init because queries inside of other queries are found in it.
var kinds []scan.Kind

func init() {
	kinds = slices.Concat(trends.Kinds, lifecycle.Kinds, funnels.Kinds, retention.Kinds, trials.Kinds, stats.Kinds, sqlquery.Kinds(findKind))
}

// kindNames returns the names of the supported kinds, sorted.
func kindNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	slices.Sort(names)
	return names
}

// findKind returns the kind with a name.
func findKind(name string) (scan.Kind, bool) {
	i := slices.IndexFunc(kinds, func(k scan.Kind) bool { return k.Name == name })
	if i < 0 {
		return scan.Kind{}, false
	}
	return kinds[i], true
}
