package experiments

import (
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Bodies are the fields of the bodies of requests.
var Bodies = struct {
	Copy, Duplicate, Experiment, Holdout, RunningTime, SavedMetric management.Fields
}{
	Copy: copyFields, Duplicate: duplicateFields, Experiment: experimentFields, Holdout: holdoutFields, RunningTime: runningTimeFields, SavedMetric: savedMetricFields,
}

// New creates a Service with its saved metrics and holdouts. The cohorts store the people who were
// exposed to an experiment. measure runs the query for them; if it is nil, calls that need them
// return an error of the kind Unavailable.
func New(environment management.Env[storeTx], flags featureflags.Flags, cohortService *cohorts.Service, measure measureFunc) *Service {
	env := &environment
	s := &Service{env: env, stored: storedflags.Store{Env: env}, flags: flags, cohorts: cohortService, measure: measure}
	s.Resource = resource.NewResource(env, resource.Spec[storeTx, storedExperiment, Experiment]{
		Kind: kindExperiment, ActivityScope: "Experiment", Fields: experimentFields, ObjectName: "an experiment", Body: experimentShape.Body, NewestFirst: true, Object: (*storedExperiment).accessObject,
		Header: func(scope *management.Scope, e *storedExperiment) resource.RecordHeader {
			return resource.RecordHeader{ID: strconv.FormatInt(e.ID, 10), Title: e.Name, Other: experimentsKey(scope.Project.ID, e.Cohort), Sort: storage.SortTime(e.CreatedAt.Time), Hidden: e.Deleted}
		},
		Load: loadExperiment,
		New: func(v *view) (*storedExperiment, error) {
			id, err := v.Tx.Next(kindExperiment)
			return &storedExperiment{CreatedBy: v.User.ID, experimentSettings: experimentSettings{ID: id, CreatedAt: management.NewStamp(env.Now())}}, err
		},
		Rules: s.rules, Show: s.show,
	})
	s.SavedMetrics, s.Holdouts = newSavedMetrics(s), newHoldouts(s)
	return s
}

// Finders returns the function that looks up experiments for access rules, by their kind.
func (s Service) Finders() map[string]management.Finder {
	return map[string]management.Finder{kindExperiment: s.Finder()}
}
