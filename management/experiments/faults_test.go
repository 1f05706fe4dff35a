package experiments_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// TestFaults checks that requests that fail change nothing: see flagtest.Faults.
func TestFaults(t *testing.T) {
	flagtest.Faults(t, map[string][]ruletest.Row{
		"experiments": experimentLifeRows, "variants of experiments": experimentVariantRows, "experiments gone": experimentDeletedRows, "states": experimentStatusRows,
	}, nil)
}
