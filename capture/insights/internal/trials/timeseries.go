package trials

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// timeseriesQuery is an ExperimentTimeseriesQuery: one stored metric of an experiment as it was at
// the end of each day (experiments.md §3.8). PostHog does not have this kind.
type timeseriesQuery struct {
	Trial
	metric *experimentQuery
}

// maxTimeseries is the maximum number of days of a response.
const maxTimeseries = 1000

// parseTimeseries parses an ExperimentTimeseriesQuery. The metric may be primary or secondary.
func parseTimeseries(n document.Node, p *port.Project) scan.Plan {
	q := &timeseriesQuery{Trial: readTrial(n, p, true)}
	if q.Experiment == nil {
		return q
	}
	uuid := n.Get("metric_uuid").Text("")
	results := resultsQuery{Trial: q.Trial}
	found := append(results.metrics(q.Primary, []string{uuid}, p), results.metrics(q.Secondary, []string{uuid}, p)...)
	switch {
	case q.Start.IsZero():
		n.Fail(document.InvalidInput, "Experiment has not been started yet")
	case uuid == "" || len(found) == 0:
		n.Get("metric_uuid").Fail(document.InvalidInput, "The experiment has no metric %s.", document.Describe(uuid))
	case found[0].fault != nil:
		n.Get("metric_uuid").Fail(document.InvalidInput, "%s", faultText(found[0].fault))
	default:
		q.metric = found[0].query
	}
	return q
}

// faultText returns the detail of an *Error, or the text of another error.
func faultText(err error) string {
	var fault *port.Error
	if errors.As(err, &fault) {
		return fault.Detail
	}
	return err.Error()
}

// Run computes the metric for each local day, from the start of the experiment to its end.
func (q *timeseriesQuery) Run(r *scan.Run) (*port.Result, error) {
	out := map[string]any{}
	end := q.end(r.Now)
	// Days are those of the project's time zone.
	year, month, day := q.Start.In(r.Zone).Date()
	for i := 0; ; i++ {
		from := time.Date(year, month, day+i, 0, 0, 0, 0, r.Zone)
		if from.After(end) {
			return &port.Result{Extra: map[string]any{"kind": "ExperimentTimeseriesQuery", "timeseries": out}}, nil
		}
		if i == maxTimeseries {
			return nil, document.NewFault(document.TooLarge, "query", "The experiment has more than %d days.", maxTimeseries)
		}
		// A day that is not over ends now.
		last := time.Date(year, month, day+i+1, 0, 0, 0, 0, r.Zone).Add(-time.Microsecond)
		if last.After(end) {
			last = end
		}
		found, err := q.resultAsOf(r, last)
		if err != nil {
			return nil, err
		}
		out[from.Format(time.DateOnly)] = found
	}
}

// resultAsOf returns the results of the metric from the events up to an instant.
func (q *timeseriesQuery) resultAsOf(r *scan.Run, last time.Time) (json.RawMessage, error) {
	past := *r // what it reserves without retaining is released at the end
	past.Now = last
	f := newExperimentRun(&past, q.Trial, q.metric.exposure, nil)
	f.last = last.UnixMicro()
	a := &experimentAnswer{experimentQuery: q.metric, f: f}
	err := f.readExposures()
	if err == nil {
		err = a.read()
	}
	// The reader and the numbers of persons are shared with r, so their memory and counts carry
	// over.
	r.Read, r.EventPersons = past.Read, past.EventPersons
	r.Reserved, r.Retained = r.Reserved+past.Retained-r.Retained, past.Retained
	if err != nil {
		return nil, err
	}
	// Sessions of funnel steps are left out, since they would be repeated for every day.
	members := a.members()
	delete(members["baseline"].(map[string]any), "step_sessions")
	for _, v := range members["variant_results"].([]any) {
		delete(v.(map[string]any), "step_sessions")
	}
	return wire.MustEncode(members), nil
}
