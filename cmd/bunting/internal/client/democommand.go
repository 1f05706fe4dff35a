package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
)

const demoHelp = `Usage: bunting demo [OPTIONS]

Fills a project with a month of made-up events: invented people visit an invented
shop. Every event has the property made_up. Then the command creates a dashboard
with six insights, shares it and prints the link. Anyone with the link can read the
dashboard.

Running it again adds the days since then and duplicates nothing. If the project has
other events, the command asks for confirmation. A separate project is better, since
bunting projects delete removes it with everything in it:

  bunting projects create Demo
  bunting demo --project Demo

` + projectOption + yesHelp + managerOptions + `  --json            print JSON
`

var demoAction = action{project: writesProject, needsConfirmation: true, run: makeDemo}

const (
	demoDashboard = "Demo (made-up data)"
	demoTag       = "made-up"
	demoBatch     = 500 // events in a request
	demoAbout     = "Everything here is made up: events of people who do not exist, written by bunting demo."
)

// demoResult describes the state after the command.
type demoResult struct {
	Events    int    `json:"events"`
	People    int    `json:"people"`
	Dashboard int64  `json:"dashboard"`
	Insights  int    `json:"insights"`
	URL       string `json:"url"` // empty if the organization disables sharing
}

// makeDemo implements the command demo, which may be run repeatedly.
func makeDemo(ctx context.Context, m *manager, _ []string) error {
	if m.project.Token == "" {
		return errors.New("the key cannot read the project, whose public key is needed to send events: use a key with the scope project:read")
	}
	foreign, err := m.foreignEvents(ctx)
	if err != nil {
		return err
	}
	if foreign > 0 {
		if err := m.confirm(ctx, fmt.Sprintf("Mix made-up events with the existing %s?", cli.Plural(foreign, "event"))); err != nil {
			return err
		}
	}
	result := demoResult{}
	if err := m.sendDemo(ctx, &result); err != nil {
		return err
	}
	if err := m.demoBoard(ctx, &result); err != nil {
		return err
	}
	if *m.asJSON {
		return m.printJSON(result)
	}
	text := fmt.Sprintf("%d made-up events of %d made-up people in the last %d days\ndashboard %d, %s, with %d insights\n",
		result.Events, result.People, demoDays, result.Dashboard, demoDashboard, result.Insights)
	if result.URL == "" {
		return m.Print(text + "It has no link: the organization does not allow public sharing.\n")
	}
	return m.Print(text + "\nOpen it:\n\n  " + result.URL + "\n\n")
}

// foreignEvents returns the number of the project's events that this command did not create. It
// bypasses the cache of results, which might miss the newest events.
func (m *manager) foreignEvents(ctx context.Context) (int, error) {
	var a struct{ Results [][]int }
	question := map[string]string{"kind": "HogQLQuery", "query": "SELECT count() FROM events WHERE properties.made_up IS NULL"}
	if err := m.send(ctx, "POST", m.inProject("/query/"), map[string]any{"query": question, "name": "bunting demo", "refresh": "force_blocking"}, &a); err != nil {
		return 0, err
	}
	if len(a.Results) != 1 || len(a.Results[0]) != 1 {
		return 0, errors.New("the server did not return how many events the project has")
	}
	return a.Results[0][0], nil
}

// sendDemo sends the events. The server stores each event only once, by its uuid.
func (m *manager) sendDemo(ctx context.Context, result *demoResult) error {
	all := demoEvents(time.Now())
	progress := cli.NewProgress(m.Stderr)
	progress.Println("Writing %d made-up events of the last %d days into project %s", len(all), demoDays, m.project)
	defer progress.Clear()
	public := *m.client
	public.key = "" // events are sent with the public key only
	people := map[string]bool{}
	for from := 0; from < len(all); from += demoBatch {
		part := all[from:min(from+demoBatch, len(all))]
		if err := public.send(ctx, "POST", "/batch/", map[string]any{"api_key": m.project.Token, "historical_migration": true, "batch": part}, nil); err != nil {
			return err
		}
		for i := range part {
			people[part[i].DistinctID] = true
		}
		result.Events += len(part)
		progress.Show(int64(result.Events), int64(len(all)), fmt.Sprintf("%d of %d made-up events", result.Events, len(all)))
	}
	result.People = len(people)
	return nil
}

// demoInsights are the insights of the dashboard, by name.
var demoInsights = []struct{ name, about, query string }{
	{"Page views", "Page views by day.", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$pageview"}],"interval":"day","dateRange":{"date_from":"-29d"}}`},
	{"People by source", "Unique visitors by day and source.", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}],"interval":"day","dateRange":{"date_from":"-13d"},"breakdownFilter":{"breakdown":"source","breakdown_type":"event"},"trendsFilter":{"display":"ActionsBar"}}`},
	{"Orders this week", "Orders of the last seven days, and of the seven days before.", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"order placed"}],"dateRange":{"date_from":"-6d"},"compareFilter":{"compare":true},"trendsFilter":{"display":"BoldNumber"}}`},
	{"From visit to order", "How many people continue from step to step, within two weeks.", `{"kind":"FunnelsQuery","series":[{"kind":"EventsNode","event":"$pageview"},{"kind":"EventsNode","event":"signed up"},{"kind":"EventsNode","event":"item added"},{"kind":"EventsNode","event":"order placed"}],"dateRange":{"date_from":"-29d"},"funnelsFilter":{"funnelWindowInterval":14,"funnelWindowIntervalUnit":"day"}}`},
	{"Who comes back", "How many of the people who first came on a day came back on later days.", `{"kind":"RetentionQuery","retentionFilter":{"period":"Day","totalIntervals":10,"retentionType":"retention_first_time","targetEntity":{"id":"$pageview","type":"events"},"returningEntity":{"id":"$pageview","type":"events"}}}`},
	{"Browsers", "Page views by browser.", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$pageview"}],"dateRange":{"date_from":"-29d"},"breakdownFilter":{"breakdown":"$browser","breakdown_type":"event"},"trendsFilter":{"display":"ActionsPie"}}`},
}

// demoBoard creates the missing parts of the dashboard, and its link.
func (m *manager) demoBoard(ctx context.Context, result *demoResult) error {
	id, there, err := m.findDemo(ctx)
	if err != nil {
		return err
	}
	result.Dashboard, result.Insights = id, len(demoInsights)
	for _, i := range demoInsights {
		if there[i.name] {
			continue
		}
		body := map[string]any{"name": i.name, "description": i.about + " Made up.", "tags": []string{demoTag}, "dashboards": []int64{id}, "query": json.RawMessage(i.query)}
		if err := m.send(ctx, "POST", m.inProject("/insights/"), body, nil); err != nil {
			return err
		}
	}
	var link struct {
		Token string `json:"access_token"`
	}
	err = m.send(ctx, "PATCH", m.inProject(fmt.Sprintf("/dashboards/%d/sharing/", id)), map[string]any{"enabled": true}, &link)
	if statusOf(err) == http.StatusForbidden {
		return nil
	}
	result.URL = m.client.server + "/shared/" + link.Token
	return err
}

// findDemo returns the dashboard of an earlier run with the names of its insights, or creates it.
func (m *manager) findDemo(ctx context.Context) (id int64, there map[string]bool, err error) {
	type board struct {
		ID    int64    `json:"id"`
		Name  string   `json:"name"`
		Tags  []string `json:"tags"`
		Tiles []struct {
			Insight *struct{ Name string } `json:"insight"`
		} `json:"tiles"`
	}
	list, err := pages[board](ctx, m.client, m.inProject("/dashboards/?search="+url.QueryEscape(demoDashboard)))
	if err != nil {
		return 0, nil, err
	}
	there = map[string]bool{}
	for _, found := range list {
		if found.Name != demoDashboard {
			continue
		}
		if err := m.send(ctx, "GET", m.inProject(fmt.Sprintf("/dashboards/%d/?refresh=force_cache", found.ID)), nil, &found); err != nil {
			return 0, nil, err
		}
		for _, tile := range found.Tiles {
			if tile.Insight != nil {
				there[tile.Insight.Name] = true
			}
		}
		return found.ID, there, nil
	}
	var created board
	err = m.send(ctx, "POST", m.inProject("/dashboards/"), map[string]any{"name": demoDashboard, "description": demoAbout, "tags": []string{demoTag}}, &created)
	return created.ID, there, err
}
