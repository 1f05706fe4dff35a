package earlyaccess_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// TestFaults checks that requests that fail change nothing: see flagtest.Faults.
func TestFaults(t *testing.T) {
	flagtest.Faults(t, map[string][]ruletest.Row{
		"early access": stageRows, "attached": attachRows, "features of everybody": publicFeatureRows, "features gone": featureDeletedRows,
	}, nil)
}
