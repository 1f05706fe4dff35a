package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/results"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// flagExposureEndpoints return how often flags are called (spec/console.md N7, N8).
var flagExposureEndpoints = frame.Resource(frame.InProject, "feature_flag", flagServiceOf, func() []frame.Row[flagService] {
	one := frame.Handle(http.MethodGet, "/feature_flags/{id}/exposures", "Count the calls of a feature flag over time, by value", flagExposures)
	one.Reads = true
	return []frame.Row[flagService]{one, frame.Handle(http.MethodGet, "/feature_flags/exposures", "Count the calls of feature flags by day", manyExposures)}
}())

func manyExposures(svc flagService, c *frame.Call) (*featureflags.ManyExposures, error) {
	days := int64(7)
	if c.ListValues.Has("days") {
		days = c.ListValues.Int("days")
	}
	return svc.ExposuresByID(c.Ctx, c.Scope, c.ListValues.Ints("ids"), days)
}

// exposuresTimeout limits the time for the event queries of one response.
const exposuresTimeout = 5 * time.Second

// flagExposures returns the calls of one flag over time, with the last call.
func flagExposures(svc flagService, c *frame.Call) (*featureflags.Exposures, error) {
	id := flagID(c.Part("id"))
	if id == 0 {
		return nil, management.ErrNotFound()
	}
	v := c.ListValues
	q := featureflags.ExposureQuery{From: v.Time("date_from"), To: v.Time("date_to"), Interval: v.Text("interval"), Count: v.Text("count")}
	if svc.queryService.Runner != nil {
		q.CountCalls = func(ctx context.Context, q featureflags.CallQuery) (*featureflags.CallCounts, error) {
			return svc.countCalls(ctx, c.Scope.Project, &q)
		}
	}
	out, err := svc.Exposures(c.Ctx, c.Scope, id, q)
	if err != nil || svc.history == nil || out.LastCalled.IsZero() {
		return out, err
	}
	last, err := svc.lastCallOf(c.Ctx, c.Project(), out.Key, out.LastCalled.Time)
	if last != nil {
		out.SetLast(last)
	}
	return out, err
}

// lastCallOf returns the call of a flag at time calledAt, or nil if its event has been deleted.
func (svc flagService) lastCallOf(ctx context.Context, project int64, key string, calledAt time.Time) (*featureflags.LastCall, error) {
	for _, name := range capture.Exposures() {
		found, err := svc.history.Events(ctx, project, capture.EventQuery{Name: name, From: calledAt, To: calledAt.Add(time.Microsecond), Limit: callsPage})
		for i := range found {
			properties, _ := capture.ParseObject(found[i].Properties)
			if flag, _ := properties.Text("$feature_flag"); flag == key {
				return callOf(&found[i], properties), nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// anyExposure is the ID of an action that exists only in these queries and matches all kinds of
// exposure events. IDs of stored actions begin with 1 and do not reach it.
const anyExposure = 1 << 53

// exposureAction returns the action with the ID anyExposure.
func exposureAction() port.Action {
	var steps []frame.Object
	for _, name := range capture.Exposures() {
		steps = append(steps, frame.Object{"event": name})
	}
	return port.Action{Name: "exposures", Steps: wire.MustEncode(steps)}
}

// countCalls counts the events of flag calls with trends queries.
func (svc flagService) countCalls(ctx context.Context, p *management.ProjectRecord, q *featureflags.CallQuery) (*featureflags.CallCounts, error) {
	ctx, cancel := context.WithTimeout(ctx, exposuresTimeout)
	defer cancel()
	rows, err := svc.trend(ctx, p, q, "ActionsLineGraph", true)
	if err != nil {
		return nil, err
	}
	dayIndex := map[string]int{}
	for i, start := range q.Buckets {
		format := "2006-01-02 15:04:05"
		if q.Interval == "day" {
			format = time.DateOnly
		}
		dayIndex[start.Format(format)] = i
	}
	out := &featureflags.CallCounts{Series: []featureflags.ExposureSeries{}}
	totals := map[string]int64{}
	for _, r := range rows {
		data := make([]int64, len(q.Buckets))
		for i, day := range r.Days {
			if to, there := dayIndex[day]; there && i < len(r.Data) {
				data[to] += int64(r.Data[i])
				totals[r.value()] += int64(r.Data[i])
			}
		}
		out.Series = append(out.Series, featureflags.ExposureSeries{Value: r.value(), Data: data})
	}
	if q.People { // a person with calls on two days counts once in the total
		if rows, err = svc.trend(ctx, p, q, "ActionsTable", true); err != nil {
			return nil, err
		}
		for _, r := range rows {
			totals[r.value()] = int64(r.Aggregated)
		}
	}
	for i := range out.Series {
		total := totals[out.Series[i].Value]
		out.Series[i].Total, out.Total = &total, out.Total+total
	}
	if !q.People || len(out.Series) < 2 {
		return out, nil
	}
	if rows, err = svc.trend(ctx, p, q, "BoldNumber", false); err == nil && len(rows) > 0 {
		out.Total = int64(rows[0].Aggregated)
	}
	return out, err
}

// trendRow is a row in the result of a trends query.
type trendRow struct {
	Days       []string  `json:"days"`
	Data       []float64 `json:"data"`
	Aggregated float64   `json:"aggregated_value"`
	Breakdown  any       `json:"breakdown_value"`
}

// value returns the flag value that the row counts.
func (r *trendRow) value() string {
	switch text := fmt.Sprint(r.Breakdown); text {
	case "$$_posthog_breakdown_null_$$":
		return "null"
	case "$$_posthog_breakdown_other_$$":
		return "other"
	default:
		return text
	}
}

// trend runs a trends query for the calls of a flag, by value if byValue is true.
func (svc flagService) trend(ctx context.Context, p *management.ProjectRecord, q *featureflags.CallQuery, display string, byValue bool) ([]trendRow, error) {
	math := "total"
	if q.People {
		math = "dau"
	}
	const moment = "2006-01-02T15:04:05"
	query := frame.Object{
		"kind": "TrendsQuery", "interval": q.Interval, "trendsFilter": frame.Object{"display": display},
		"series": []frame.Object{{"kind": "ActionsNode", "id": anyExposure, "math": math, "properties": []frame.Object{{"key": "$feature_flag", "type": "event", "operator": "exact", "value": []string{q.Key}}}}},
		// The query cuts off fractions of seconds.
		"dateRange": frame.Object{"date_from": q.Buckets[0].Format(moment), "date_to": q.To.Add(time.Second).In(p.Zone()).Format(moment), "explicitDate": true},
	}
	if byValue {
		query["breakdownFilter"] = frame.Object{"breakdown": "$feature_flag_response", "breakdown_type": "event", "breakdown_limit": 25}
	}
	project, err := svc.queryService.Project(ctx, p)
	if err != nil {
		return nil, err
	}
	project.Actions = map[int64]port.Action{anyExposure: exposureAction()}
	found, err := svc.queryService.Runner.Execute(ctx, queries.Request{Project: project, Query: wire.MustEncode(query), Mode: queries.Blocking})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, results.Problem(&queries.Error{Kind: queries.TimedOut})
	}
	if err != nil {
		return nil, results.Problem(err)
	}
	var rows []trendRow
	text, err := json.Marshal(found.Result["results"])
	if err == nil {
		err = json.Unmarshal(text, &rows)
	}
	return rows, err
}
