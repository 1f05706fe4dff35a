package httpapi

import (
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// alertEndpoints are the endpoints for alerts (clients.md §9).
var alertEndpoints = resource(inProject, "alert", func(s *server) dashboards.Alerts { return s.Management.Dashboards.Alerts }, []row[dashboards.Alerts]{
	handle(http.MethodGet, "/alerts", "List alerts", listAlerts),
	create("/alerts", "Create an alert", dashboards.AlertFields, dashboards.Alerts.Create),
	handle(http.MethodGet, "/alerts/{id}", "Read an alert with its latest checks", getAlert).withQuery(
		param("checks_limit", "integer", "maximum number of checks in the response, 5 by default"),
		param("checks_date_from", "string", "only checks at or after this time"), param("checks_date_to", "string", "only checks before this time"),
	),
	update("/alerts/{id}", "Change, snooze or unsnooze an alert", "Replace an alert", dashboards.AlertFields, dashboards.Alerts.Update),
	remove("/alerts/{id}", "Delete an alert", dashboards.Alerts.Delete),
	handle(http.MethodPost, "/alerts/simulate", "Not supported: there is no anomaly detection", func(dashboards.Alerts, *call) (any, error) {
		return nil, problemUnsupportedProduct.With("", "")
	}).withStatus(http.StatusNotFound),
})

func listAlerts(svc dashboards.Alerts, c *call) (management.List[dashboards.Alert], error) {
	insight := c.listValues.Text("insight")
	if insight == "" {
		insight = c.listValues.Text("insight_id")
	}
	return svc.List(c.ctx, c.scope, insight, c.page())
}

// getAlert returns an alert with its newest checks, as limited by the query parameters.
func getAlert(svc dashboards.Alerts, c *call) (*dashboards.Alert, error) {
	params := c.query()
	q := dashboards.CheckQuery{Limit: int64(positive(params.Get("checks_limit")))}
	for name, to := range map[string]*time.Time{"checks_date_from": &q.From, "checks_date_to": &q.To} {
		p := listParameter{name: name, kind: kindTime}
		if text := params.Get(name); text != "" {
			since, err := p.time(text, svc.Env.Now())
			if err != nil {
				return nil, err
			}
			*to, _ = since.(time.Time)
		}
	}
	return svc.Get(c.ctx, c.scope, c.part("id"), q)
}
