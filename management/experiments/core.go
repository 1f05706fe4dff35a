package experiments

import (
	"context"
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Service manages experiments (§5.7): flags with variants, with a start, an end, and counts
// of exposures.
type Service struct {
	resource.Resource[storeTx, storedExperiment, Experiment]
	SavedMetrics SavedMetrics
	Holdouts     Holdouts

	env     *management.Env[storeTx]
	stored  storedflags.Store
	flags   featureflags.Flags
	cohorts *cohorts.Service
	measure measureFunc
}

// measureFunc runs an ExperimentPeopleQuery of capture/insights and returns its evidence.
type measureFunc = func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error)

// Holdouts manages holdouts: shares of all persons that are excluded from experiments
// (experiments.md §3.10). Access rules for experiments apply to holdouts too.
type Holdouts struct {
	resource.Resource[storeTx, storedHoldout, holdoutView]
	experiments *Service
}

// SavedMetrics manages metrics that several experiments can use (experiments.md §3.9). Access rules
// for experiments apply to saved metrics too.
type SavedMetrics struct {
	resource.Resource[storeTx, storedSavedMetric, savedMetric]
	experiments *Service
}

// storeTx is a transaction of the store.
type storeTx = definitions.Tx

// view is a transaction with the scope of the caller.
type view = resource.View[storeTx]

type experimentEdit = resource.Edit[storeTx, storedExperiment]

// ensureUUID assigns a new UUID to a metric without one. Existing values are not changed, even if
// they are not UUIDs, because clients choose them.
func (s Service) ensureUUID(metric map[string]json.RawMessage) {
	if management.JSONText(metric["uuid"]) == "" {
		metric["uuid"] = storage.Encode(s.env.NewID())
	}
}
