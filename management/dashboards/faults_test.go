package dashboards_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// If any call of the store fails, the request fails with that error and changes no data: repeating
// it has the same result as without the failure.
func TestFaults(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"deletion": deletionRows, "restriction": restrictionRows, "collaborators": collaboratorRows, "copies": copyRows, "moves": moveRows, "moved": moreMoveRows,
		"templates": templateRows, "ready": readyRows, "copied tiles": tileCopyRows, "lists": listRows, "sharing": moreSharingRows[:9], "tokens": tokenRows, "strangers": strangerRows,
		"places": placeRows, "deleted insights": insightDeletedRows, "short ids": shortIDRows, "copies of insights": insightCopyRows[:4], "lists of insights": insightListRows[:14],
	} {
		t.Run(name, func(t *testing.T) {
			faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
			w := ruletest.New(t, faulty)
			w.RunFaulty(t, dashboardCalls(t, w), rows, memstore.ErrDisk, func(after int) bool {
				failed := faulty.Failed
				faulty.After, faulty.Failed = after, false
				return failed
			})
		})
	}
}
