package surveys_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// TestFaults checks that requests that fail change nothing: see flagtest.Faults.
func TestFaults(t *testing.T) {
	flagtest.Faults(t, map[string][]ruletest.Row{
		"surveys": surveyLifeRows, "targeting": targetingRows, "linked flags": linkedFlagRows, "surveys of everybody": publicSurveyRows, "surveys gone": surveyDeletedRows,
	}, nil)
}
