package dashboards

import "github.com/bunting-flags/bunting/management"

// Bodies are the fields of the bodies of requests.
var Bodies = struct {
	Action, Alert, Annotation, Collaborator, Dashboard, Insight, MoveTile, Reorder, SharePassword, Sharing, TemplateJSON management.Fields
}{
	Action: actionFields, Alert: alertFields, Annotation: annotationFields, Collaborator: collaboratorFields, Dashboard: dashboardFields, Insight: insightFields, MoveTile: moveTileFields, Reorder: reorderFields, SharePassword: sharePasswordFields, Sharing: sharingFields, TemplateJSON: templateJSONFields,
}

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
