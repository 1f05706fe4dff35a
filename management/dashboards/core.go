package dashboards

import "github.com/bunting-flags/bunting/management"

// core is what dashboards and insights share.
type core struct {
	Desk       management.Desk[management.Tx]
	guesses    *guesses // of passwords of links
	dashboards *management.Resource[management.Tx, dashboardRecord, Dashboard]
	insights   *management.Resource[management.Tx, insightRecord, Insight]
}

// view is a transaction and in whose name it runs: nobody's for who looks through a
// link.
type view = management.View[management.Tx]
