package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// alertEndpoints are those of alerts (clients.md §9).
var alertEndpoints = resource(inProject, "alert", func(s *server) dashboards.Alerts { return s.Management.Dashboards.Alerts }, []row[dashboards.Alerts]{
	by(http.MethodGet, "/alerts", "List alerts", listAlerts),
	create("/alerts", "Make an alert", dashboards.AlertFields, dashboards.Alerts.Create),
	by(http.MethodGet, "/alerts/{id}", "Read an alert with its newest checks", getAlert).asking(
		parameterDoc{"checks_limit", "integer", "most checks, 5 by default"},
		parameterDoc{"checks_date_from", "string", "checks at or after this time"}, parameterDoc{"checks_date_to", "string", "checks before this time"},
	),
	update("/alerts/{id}", "Change an alert, snooze it or wake it up", "Replace an alert", dashboards.AlertFields, dashboards.Alerts.Update),
	remove("/alerts/{id}", "Remove an alert", dashboards.Alerts.Delete),
	by(http.MethodPost, "/alerts/simulate", "Refused: there are no detectors of anomalies", func(dashboards.Alerts, *call) (any, error) {
		return nil, problemNotPart.with("", "")
	}).answering(http.StatusNotFound),
})

func listAlerts(of dashboards.Alerts, c *call) (management.List[dashboards.Alert], error) {
	insight := c.listed.Text("insight")
	if insight == "" {
		insight = c.listed.Text("insight_id")
	}
	return of.List(c.ctx, c.standing, insight, c.page())
}

func getAlert(of dashboards.Alerts, c *call) (*dashboards.Alert, error) {
	params := c.query()
	q := dashboards.CheckQuery{Limit: int64(positive(params.Get("checks_limit")))}
	for name, to := range map[string]*time.Time{"checks_date_from": &q.From, "checks_date_to": &q.To} {
		p := listParameter{name: name, kind: ofMoment}
		if text := params.Get(name); text != "" {
			at, err := p.moment(text, of.Desk.Now())
			if err != nil {
				return nil, err
			}
			*to, _ = at.(time.Time)
		}
	}
	return of.Get(c.ctx, c.standing, c.part("id"), q)
}

// Ask runs the query of an alert, as for somebody who waits for it, and returns the
// rows of its answer. Its errors are those that dashboards.Config.Ask may have.
func (h *Handler) Ask(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
	found, err := h.ask(ctx, p, query, queries.Blocking, "alert")
	rows, _ := found["results"].(json.RawMessage)
	return rows, err
}
