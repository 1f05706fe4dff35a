package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

const usageHelp = `Usage: bunting usage [OPTIONS]

Prints an organization's usage in this UTC month: the count and the limit of each
resource, then the counts by project, key and SDK. The key needs the scope
organization:read.

  --organization ID   @current (default) is your current one
` + managerOptions + `  --json            print JSON, with every day
`

var usageAction = action{options: func(m *manager) runner {
	organization := m.fs.String("organization", "@current", "")
	return func(ctx context.Context, m *manager, _ []string) error {
		return m.showUsage(ctx, "/api/organizations/"+pathPart(*organization)+"/usage/")
	}
}}

// usageView contains the members that are read of a month's usage of one resource.
type usageView struct {
	Usage int64  `json:"usage"`
	Today int64  `json:"todays_usage"`
	Limit *int64 `json:"limit"`
	Until string `json:"quota_limited_until"`
}

// usageDayView is the usage of one SDK with one key on one day.
type usageDayView struct {
	Project  int64  `json:"project_id"`
	Resource string `json:"resource"`
	Key      string `json:"key"`
	SDK      string `json:"sdk"`
	Count    int64  `json:"count"`
}

// resourceOrder is the order in which resources are printed.
var resourceOrder = []string{"events", "feature_flags", "exceptions", "surveys", "recordings", "llm_events"}

func (m *manager) showUsage(ctx context.Context, path string) error {
	var raw json.RawMessage
	if printed, err := m.fetch(ctx, "GET", path, nil, &raw); printed || err != nil {
		return err
	}
	var members map[string]json.RawMessage
	var sources struct{ Sources []usageDayView }
	if err := cmp.Or(json.Unmarshal(raw, &members), json.Unmarshal(raw, &sources)); err != nil {
		return fmt.Errorf("the server's response cannot be read: %w", err)
	}
	rows := [][]string{{"RESOURCE", "THIS MONTH", "TODAY", "LIMIT", "LIMITED UNTIL"}}
	for _, name := range resourceOrder {
		var u usageView
		if err := json.Unmarshal(members[name], &u); err != nil {
			continue // another version of the server may not have it
		}
		limit := "none"
		if u.Limit != nil {
			limit = strconv.FormatInt(*u.Limit, 10)
		}
		rows = append(rows, []string{name, strconv.FormatInt(u.Usage+u.Today, 10), strconv.FormatInt(u.Today, 10), limit, cmp.Or(u.Until, "-")})
	}
	if err := m.printTable(rows); err != nil || len(sources.Sources) == 0 {
		return err
	}
	rows = [][]string{{"\nPROJECT", "RESOURCE", "KEY", "SDK", "THIS MONTH"}}
	for _, s := range monthly(sources.Sources) {
		rows = append(rows, []string{strconv.FormatInt(s.Project, 10), s.Resource, cli.Cell(s.Key), cli.Cell(s.SDK), strconv.FormatInt(s.Count, 10)})
	}
	return m.printTable(rows)
}

// monthly sums up the days, and sorts by count, the largest first.
func monthly(days []usageDayView) (out []usageDayView) {
	sums := map[usageDayView]int64{}
	for _, d := range days {
		n := d.Count
		d.Count = 0
		sums[d] += n
	}
	for s, n := range sums {
		s.Count = n
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b usageDayView) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Resource+" "+a.Key+" "+a.SDK, b.Resource+" "+b.Key+" "+b.SDK))
	})
	return out
}
