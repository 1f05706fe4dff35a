package dashboards

import (
	"context"
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/notices"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

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
	Notify func(tx management.Tx, n notices.Notice) (bool, error)
	// MailQueued is called after the commit of a transaction that queued a mail. It may be nil.
	MailQueued func()
}

// core is the state that all resources of the package share. The resources embed a pointer to it,
// so that copies of them refer to the same state.
type core struct {
	Config
	guesses    *passwordChecks // of passwords of links
	dashboards resource.Resource[management.Tx, dashboardRecord, Dashboard]
	insights   resource.Resource[management.Tx, insightRecord, Insight]
}

// Insights manages insights, which are stored queries. It does not run them.
type Insights struct{ *core }

// Dashboards manages dashboards with their tiles, collaborators and links (§4.1).
type Dashboards struct{ *core }
