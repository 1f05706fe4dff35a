package dashboards

import (
	"context"
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
)

// Config says what a Service stands on. Only Desk is required.
type Config struct {
	Env management.Env[management.Tx]
	// RunQuery runs a query of a project for its alerts and returns the rows of the answer.
	// A *management.Error is the query's fault, or where it is Unavailable nobody's:
	// it is asked again, as after any other error. Nil: alerts are kept and never
	// checked.
	RunQuery func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error)
	// Notify writes to users, within a transaction. Nil: nobody is told.
	Notify func(tx management.Tx, n management.Notice) (bool, error)
	// MailQueued is called after a transaction in which somebody was told. May be nil.
	MailQueued func()
}

// core is what dashboards and insights share.
type core struct {
	Config
	guesses    *guesses // of passwords of links
	dashboards management.Resource[management.Tx, dashboardRecord, Dashboard]
	insights   management.Resource[management.Tx, insightRecord, Insight]
}

// view is a transaction and in whose name it runs: nobody's for who looks through a
// link.
type view = management.View[management.Tx]
