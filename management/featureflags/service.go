package featureflags

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Config is the configuration of a Service. Env is required, and every other field is optional. A
// function that receives a transaction is called within that transaction: if it returns an error,
// the change is rolled back.
type Config struct {
	// Env has the store, the clock and the log of changes, which all resources share.
	Env management.Env[Tx]
	// People reads persons and groups, for cohorts and previews. If nil, the project has no
	// persons.
	People People
	// SurveysChanged is called after surveys of a project have changed, in the transaction that has
	// changed them. If nil, changes are not reported.
	SurveysChanged func(tx management.Tx, project int64) error
	// HasDashboard and HasInsight report whether a project has a dashboard or an insight with an
	// id. If nil, they report false.
	HasDashboard, HasInsight func(tx management.Tx, project, id int64) (bool, error)
	// MakeUsage creates the dashboard about the use of the flag with a key and returns its id,
	// which is 0 if the caller may not create dashboards. EnrichUsage adds to that dashboard charts
	// of the persons who saw and used the feature. If MakeUsage is nil, flags get no dashboard.
	MakeUsage   func(tx management.Tx, scope *management.Scope, key string) (dashboard int64, err error)
	EnrichUsage func(tx management.Tx, scope *management.Scope, dashboard int64, key string) error
	// JobDone receives the results of scheduled changes, and of surveys that begin their next
	// iteration. It may be called from several goroutines. If nil, results are not reported.
	JobDone func(management.JobDone)
	// Measure runs a query about a step of a guarded rollout. The query is a GuardedRolloutQuery of
	// capture/insights, and the result is the evidence of that query. An error that is no
	// *management.Error, or one of the kind Unavailable, is temporary: the query is retried later.
	// If nil, rollouts are not evaluated.
	Measure func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error)
	// Lag returns the age of the oldest accepted event that queries cannot read yet. If nil,
	// queries read every accepted event.
	Lag func(ctx context.Context) (time.Duration, error)
	// RolloutInterval is the time between two evaluations of a rollout. The default is one minute.
	RolloutInterval time.Duration
	// Notify sends a notice to users, within a transaction, and reports whether at least one of
	// them could be reached. If nil, users are not notified.
	Notify func(tx management.Tx, n management.Notice) (bool, error)
}

// Service implements the management of feature flags and of the resources that depend on them. Its
// own methods are those of Flags; each other resource is a field. New creates a Service. It may be
// used from several goroutines.
type Service struct {
	Flags
	Cohorts          Cohorts
	EarlyAccess      EarlyAccess
	Experiments      Experiments
	SavedMetrics     SavedMetrics
	Holdouts         Holdouts
	Rollouts         Rollouts
	ScheduledChanges ScheduledChanges
	ChangeRequests   ChangeRequests
	Surveys          Surveys
}

// Kinds of objects in access rules.
const (
	kindFlag   = "feature_flag"
	kindCohort = "cohort"
)

// view is a transaction of this package with the scope of the caller.
type view = management.View[Tx]

// core is the state that all resources of a Service share.
type core struct {
	Config
	// flags is the resource of Flags, which other resources use too.
	flags      management.Resource[Tx, storedFlag, Flag]
	simulating chan struct{} // semaphore: its capacity is the number of simulations that may run at a time
}

// New creates a Service. It replaces the optional hooks for surveys, dashboards and insights with
// functions that do nothing if they are nil; the other hooks are checked where they are called.
func New(c Config) *Service {
	if c.SurveysChanged == nil {
		c.SurveysChanged = func(management.Tx, int64) error { return nil }
	}
	if c.HasDashboard == nil {
		c.HasDashboard = func(management.Tx, int64, int64) (bool, error) { return false, nil }
	}
	if c.HasInsight == nil {
		c.HasInsight = func(management.Tx, int64, int64) (bool, error) { return false, nil }
	}
	s := &core{Config: c, simulating: make(chan struct{}, simulationsAtOnce)}
	// The order matters: experiments use s.flags, and saved metrics, holdouts and rollouts use
	// experiments.
	s.flags = Flags{s}.resource()
	experiments := newExperiments(s)
	return &Service{Flags{s}, Cohorts{s}, newEarlyAccess(s), experiments, newSavedMetrics(s, experiments), newHoldouts(s, experiments), newRollouts(s, experiments), newScheduledChanges(s), newChangeRequests(s), newSurveys(s)}
}

// Finders returns the functions that look up the objects to which access rules can apply, by kind.
func (s *Service) Finders() map[string]management.Finder {
	return map[string]management.Finder{
		kindFlag: s.flags.Finder(), kindCohort: s.Cohorts.resource(nil, false).Finder(), kindExperiment: s.Experiments.Finder(), kindSurvey: s.Surveys.Finder(),
	}
}
