package featureflags

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Experiments manages experiments (§5.7): flags with variants, with a start, an end, and counts
// of exposures.
type Experiments struct {
	management.Resource[storeTx, storedExperiment, Experiment]
	SavedMetrics SavedMetrics
	Holdouts     Holdouts

	env    *management.Env[storeTx]
	stored storedflags.Store
	flags  Flags
}

type experimentEdit = management.Edit[storeTx, storedExperiment]

// ensureUUID assigns a new UUID to a metric without one. Existing values are not changed, even if
// they are not UUIDs, because clients choose them.
func (s Experiments) ensureUUID(metric map[string]json.RawMessage) {
	if management.JSONText(metric["uuid"]) == "" {
		metric["uuid"] = management.Encode(s.env.NewID())
	}
}

// Holdouts manages holdouts: shares of all persons that are excluded from experiments
// (experiments.md §3.10). Access rules for experiments apply to holdouts too.
type Holdouts struct {
	management.Resource[storeTx, storedHoldout, Holdout]
	experiments *Experiments
}

// SavedMetrics manages metrics that several experiments can use (experiments.md §3.9). Access rules
// for experiments apply to saved metrics too.
type SavedMetrics struct {
	management.Resource[storeTx, storedSavedMetric, SavedMetric]
	experiments *Experiments
}
