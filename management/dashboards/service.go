package dashboards

import "github.com/bunting-flags/bunting/management"

// Service is the room: its methods are those of Dashboards. New makes one.
type Service struct {
	Dashboards
	Insights    Insights
	Actions     Actions
	Alerts      Alerts
	Annotations Annotations
}

// New makes a Service.
func New(config Config) *Service {
	c := &core{Config: config, guesses: newGuesses()}
	c.dashboards, c.insights = Dashboards{c}.resource(), Insights{c}.resource()
	return &Service{Dashboards{c}, Insights{c}, newActions(c), newAlerts(c), newAnnotations(c)}
}

// Things find what access rules may be about, by kind.
func (s *Service) Things() map[string]management.Finder {
	return map[string]management.Finder{kindDashboard: s.dashboards.Finder(), kindInsight: s.insights.Finder(), kindAction: s.Actions.Finder()}
}
