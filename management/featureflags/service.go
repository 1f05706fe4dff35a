package featureflags

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Config says what a Service stands on. Only Desk is required.
type Config struct {
	Env management.Env[Tx]
	// People reads persons and groups, for cohorts and previews. Nil: there are none.
	People People
	// SurveysChanged is told that surveys of a project have changed, in the transaction
	// that has changed them. Nil: nobody is.
	SurveysChanged func(tx management.Tx, project int64) error
	// HasDashboard and HasInsight report whether a project has a dashboard or an insight
	// of a number. Nil: none has.
	HasDashboard, HasInsight func(tx management.Tx, project, id int64) (bool, error)
	// MakeUsage makes the dashboard about the use of a flag, 0 where the caller may make
	// none, and EnrichUsage adds to it who saw and used the feature. Nil: there are none.
	MakeUsage   func(tx management.Tx, scope *management.Scope, key string) (dashboard int64, err error)
	EnrichUsage func(tx management.Tx, scope *management.Scope, dashboard int64, key string) error
	// JobDone is told what became of scheduled changes. It may be called by several
	// goroutines. Nil: nobody is told.
	JobDone func(management.JobDone)
	// Measure asks the events about a step of a guarded rollout: its query is a
	// GuardedRolloutQuery of capture/insights, whose evidence comes back. Errors that are no *management.Error, and
	// Unavailable, are temporary. Nil: no rollout is judged.
	Measure func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error)
	// Lag is how old the oldest event is that was accepted and cannot be asked for yet.
	// Nil: there is none such.
	Lag func(ctx context.Context) (time.Duration, error)
	// RolloutInterval is how often rollouts are judged, a minute when zero.
	RolloutInterval time.Duration
	// Notify writes to users, within a transaction; false: nobody could be reached. Nil:
	// nobody is told.
	Notify func(tx management.Tx, n management.Notice) (bool, error)
}

// Service is the room: its methods are those of Flags. New makes one.
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

// What access rules call flags and cohorts.
const (
	kindFlag   = "feature_flag"
	kindCohort = "cohort"
)

// view is a transaction of this room and in whose name it runs.
type view = management.View[Tx]

// core is what all resources share.
type core struct {
	Config
	flags      management.Resource[Tx, storedFlag, Flag]
	simulating chan struct{} // as many simulations of rollouts as run
}

// New makes a Service.
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
	s.flags = Flags{s}.resource()
	experiments := newExperiments(s)
	return &Service{Flags{s}, Cohorts{s}, newEarlyAccess(s), experiments, newSavedMetrics(s, experiments), newHoldouts(s, experiments), newRollouts(s, experiments), newScheduledChanges(s), newChangeRequests(s), newSurveys(s)}
}

// Finders find what access rules may be about, by kind.
func (s *Service) Finders() map[string]management.Finder {
	return map[string]management.Finder{
		kindFlag: s.flags.Finder(), kindCohort: s.Cohorts.resource(nil, false).Finder(), kindExperiment: s.Experiments.Finder(), kindSurvey: s.Surveys.Finder(),
	}
}
