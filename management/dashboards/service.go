package dashboards

import (
	"context"
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
)

// Service is the entry point of the package. Its own methods are those of Dashboards, and its
// fields have the methods of the remaining resources. It may be used concurrently. New creates one.
type Service struct {
	Dashboards
	Insights    Insights
	Actions     Actions
	Alerts      Alerts
	Annotations Annotations
}

// New returns a Service that stores its objects in the store of config.Env.
func New(config Config) *Service {
	c := &core{Config: config, guesses: newGuesses()}
	c.dashboards, c.insights = Dashboards{c}.resource(), Insights{c}.resource()
	return &Service{Dashboards{c}, Insights{c}, newActions(c), newAlerts(c), newAnnotations(c)}
}

// Finders returns functions that find the objects that access rules may name, by their kind.
func (s *Service) Finders() map[string]management.Finder {
	return map[string]management.Finder{kindDashboard: s.dashboards.Finder(), kindInsight: s.insights.Finder(), kindAction: s.Actions.Finder()}
}

// Config has the dependencies of a Service. Only Env is required.
type Config struct {
	// Env has the store, the clock and the source of ids.
	Env management.Env[management.Tx]
	// RunQuery runs a query of a project for its alerts and returns the rows of the result. A
	// *management.Error means that the query is faulty; one of kind Unavailable and all other
	// errors mean that the query could not be run now, and the check is repeated. If RunQuery is
	// nil, alerts are stored and never checked.
	RunQuery func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error)
	// Notify sends a mail to users, within a transaction, and reports whether one was queued. If it
	// is nil, changes of alerts are not reported.
	Notify func(tx management.Tx, n management.Notice) (bool, error)
	// MailQueued is called after the commit of a transaction that queued a mail. It may be nil.
	MailQueued func()
}

// core is the state that all resources of the package share. The resources embed a pointer to it,
// so that copies of them refer to the same state.
type core struct {
	Config
	guesses    *passwordChecks // of passwords of links
	dashboards management.Resource[management.Tx, dashboardRecord, Dashboard]
	insights   management.Resource[management.Tx, insightRecord, Insight]
}

// view is a transaction with the scope of the caller. The scope is nil for visitors who open a
// link.
type view = management.View[management.Tx]
