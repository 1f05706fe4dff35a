package results

import (
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// alertEndpoints are the endpoints for alerts (clients.md §9).
var alertEndpoints = frame.Resource(frame.InProject, "alert", func(s *frame.Server) dashboards.Alerts { return s.Management.Dashboards.Alerts }, []frame.Row[dashboards.Alerts]{
	frame.Handle(http.MethodGet, "/alerts", "List alerts", listAlerts),
	frame.Create("/alerts", "Create an alert", dashboards.Bodies.Alert, dashboards.Alerts.Create),
	frame.Handle(http.MethodGet, "/alerts/{id}", "Read an alert with its latest checks", getAlert).WithQuery(
		frame.Param("checks_limit", "integer", "maximum number of checks in the response, 5 by default"),
		frame.Param("checks_date_from", "string", "only checks at or after this time"), frame.Param("checks_date_to", "string", "only checks before this time"),
	),
	frame.Update("/alerts/{id}", "Change, snooze or unsnooze an alert", "Replace an alert", dashboards.Bodies.Alert, dashboards.Alerts.Update),
	frame.Remove("/alerts/{id}", "Delete an alert", dashboards.Alerts.Delete),
	frame.Handle(http.MethodPost, "/alerts/simulate", "Not supported: there is no anomaly detection", func(dashboards.Alerts, *frame.Call) (any, error) {
		return nil, frame.UnsupportedProduct.With("", "")
	}).WithStatus(http.StatusNotFound),
})

func listAlerts(svc dashboards.Alerts, c *frame.Call) (management.List[dashboards.Alert], error) {
	insight := c.ListValues.Text("insight")
	if insight == "" {
		insight = c.ListValues.Text("insight_id")
	}
	return svc.List(c.Ctx, c.Scope, insight, c.Page())
}

// getAlert returns an alert with its newest checks, as limited by the query parameters.
func getAlert(svc dashboards.Alerts, c *frame.Call) (*dashboards.Alert, error) {
	params := c.Query()
	q := dashboards.CheckQuery{Limit: int64(frame.Positive(params.Get("checks_limit")))}
	for name, to := range map[string]*time.Time{"checks_date_from": &q.From, "checks_date_to": &q.To} {
		p := frame.ListParameter{Name: name, Kind: frame.KindTime}
		if text := params.Get(name); text != "" {
			since, err := p.Time(text, svc.Env.Now())
			if err != nil {
				return nil, err
			}
			*to, _ = since.(time.Time)
		}
	}
	return svc.Get(c.Ctx, c.Scope, c.Part("id"), q)
}
