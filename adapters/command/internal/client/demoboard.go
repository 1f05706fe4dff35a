package client

import (
	"context"
	"encoding/json"
	"net/http"
)

const (
	demoDashboard = "Demo (made-up data)"
	demoAbout     = "Everything here is made up: events of people who do not exist, written by bunting demo."
)

// demoInsights are the insights of the dashboard, by name.
var demoInsights = []struct{ name, about, query string }{
	{"Page views", "Page views by day.", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$pageview"}],"interval":"day","dateRange":{"date_from":"-29d"}}`},
	{"People by source", "Unique visitors by day and source.", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}],"interval":"day","dateRange":{"date_from":"-13d"},"breakdownFilter":{"breakdown":"source","breakdown_type":"event"},"trendsFilter":{"display":"ActionsBar"}}`},
	{"Orders this week", "Orders of the last seven days, and of the seven days before.", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"order placed"}],"dateRange":{"date_from":"-6d"},"compareFilter":{"compare":true},"trendsFilter":{"display":"BoldNumber"}}`},
	{"From visit to order", "How many people continue from step to step, within two weeks.", `{"kind":"FunnelsQuery","series":[{"kind":"EventsNode","event":"$pageview"},{"kind":"EventsNode","event":"signed up"},{"kind":"EventsNode","event":"item added"},{"kind":"EventsNode","event":"order placed"}],"dateRange":{"date_from":"-29d"},"funnelsFilter":{"funnelWindowInterval":14,"funnelWindowIntervalUnit":"day"}}`},
	{"Who comes back", "How many of the people who first came on a day came back on later days.", `{"kind":"RetentionQuery","retentionFilter":{"period":"Day","totalIntervals":10,"retentionType":"retention_first_time","targetEntity":{"id":"$pageview","type":"events"},"returningEntity":{"id":"$pageview","type":"events"}}}`},
	{"Browsers", "Page views by browser.", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$pageview"}],"dateRange":{"date_from":"-29d"},"breakdownFilter":{"breakdown":"$browser","breakdown_type":"event"},"trendsFilter":{"display":"ActionsPie"}}`},
}

// createBoard creates the dashboard with its insights, and returns its link. The link is empty if the
// organization disables sharing.
func (d *demoRun) createBoard(ctx context.Context) (url string, err error) {
	board, err := d.ensure(ctx, demoBoards, demoDashboard, map[string]any{"name": demoDashboard, "description": demoAbout, "tags": []string{demoTag}})
	if err != nil {
		return "", err
	}
	for _, i := range demoInsights {
		body := map[string]any{"name": i.name, "description": i.about + " Made up.", "tags": []string{demoTag}, "dashboards": []json.RawMessage{board.ID}, "query": json.RawMessage(i.query)}
		if _, err := d.ensure(ctx, demoInsightKind, i.name, body); err != nil {
			return "", err
		}
	}
	var link struct {
		Token string `json:"access_token"`
	}
	err = d.send(ctx, http.MethodPatch, d.inProject(demoBoards.path)+board.id()+"/sharing/", map[string]any{"enabled": true}, &link)
	if statusOf(err) == http.StatusForbidden {
		return "", nil
	}
	return d.client.server + "/shared/" + link.Token, err
}
