package dashboards

import "github.com/bunting-flags/bunting/management"

// Service is the room: its methods are those of Dashboards. New makes one.
type Service struct {
	Dashboards
	Insights Insights
}

// core is what dashboards and insights share.
type core struct {
	Desk    management.Desk[management.Tx]
	guesses *guesses // of passwords of links
}

// New makes a Service.
func New(desk management.Desk[management.Tx]) *Service {
	c := &core{Desk: desk, guesses: newGuesses()}
	return &Service{Dashboards{c}, Insights{c}}
}
