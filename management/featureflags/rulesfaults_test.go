package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// TestFaults_FlagActions is TestFaults for the actions on flags: whichever call to the store fails,
// the request returns that failure, and its changes are rolled back.
func TestFaults_FlagActions(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"switches": stateRows, "archive": archiveRows, "dependents": switchedOffRows, "dependencies": switchedOnRows[:13], "versions": oneVersionRows, "restored": restoredMoreRows,
		"usage": usageRows[:6], "enriched": enrichRows, "pins": pinTargetRows, "ends of pins": pinEndRows, "who": whoCountRows, "explained": explainVersionRows,
		"checked": checkChangeRows, "matching": matchingRows, "deleted": bulkDeleteFilterRows, "access": accessReadRows, "kept": documentFieldRows,
		"hidden": documentHiddenRows, "planned": planMoreRows[:6],
	} {
		t.Run(name, func(t *testing.T) {
			faulty := &memstore.Faulty{After: -1}
			w := flagtest.FaultyWorld(t, faulty)
			w.RunFaulty(t, allFlagCalls(t, w), rows, memstore.ErrDisk, func(after int) bool {
				failed := faulty.Failed
				faulty.After, faulty.Failed = after, false
				return failed
			})
		})
	}
}
