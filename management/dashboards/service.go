package dashboards

import "github.com/bunting-flags/bunting/management"

// Service is the room: its methods are those of Dashboards. New makes one.
type Service struct {
	Dashboards
	Insights Insights
}

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

// New makes a Service.
func New(desk management.Desk[management.Tx]) *Service {
	c := &core{Desk: desk, guesses: newGuesses()}
	c.dashboards, c.insights = Dashboards{c}.resource(), Insights{c}.resource()
	return &Service{Dashboards{c}, Insights{c}}
}
