package trials

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
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
	metric *storedMetric
	// all are all metrics of the experiment: their days are computed together.
	all []storedMetric
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
	q.all = q.metrics(p)
	found := slices.IndexFunc(q.all, func(m storedMetric) bool { return m.uuid() == uuid })
	switch {
	case q.Start.IsZero():
		n.Fail(document.InvalidInput, "Experiment has not been started yet")
	case uuid == "" || found < 0:
		n.Get("metric_uuid").Fail(document.InvalidInput, "The experiment has no metric %s.", document.Describe(uuid))
	case q.all[found].fault != nil:
		n.Get("metric_uuid").Fail(document.InvalidInput, "%s", faultText(q.all[found].fault))
	default:
		q.metric = &q.all[found]
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

// Run computes the metric for each local day, from the start of the experiment to its end. Days that
// cannot be computed are null, with the reason in errors. If there are no others, Run returns the
// error of the first day.
func (q *timeseriesQuery) Run(r *scan.Run) (*port.Result, error) {
	days, ok := q.days(r, maxTimeseries)
	if !ok {
		return nil, document.NewFault(document.TooLarge, "query", "The experiment has more than %d days.", maxTimeseries)
	}
	found, err := q.continued(r, days)
	if isTooLarge(err) {
		r.Reserved, err = r.Retained, nil // one metric may need less memory than all together
	}
	if err != nil {
		return nil, err
	}
	out, failed := map[string]any{}, map[string]string{}
	var first error
	for i, v := range days {
		if found != nil {
			out[v.name] = found[i]
			continue
		}
		result, err := q.resultAsOf(r, v)
		switch {
		case err == nil:
			out[v.name] = result
		case isTooLarge(err): // other days may need less memory
			out[v.name], failed[v.name], first = nil, faultText(err), cmp.Or(first, err)
		default:
			return nil, err
		}
	}
	if len(failed) == len(out) && first != nil {
		return nil, first
	}
	extra := map[string]any{"kind": "ExperimentTimeseriesQuery", "timeseries": out}
	if len(failed) > 0 {
		extra["errors"] = failed
	}
	return &port.Result{Extra: extra}, nil
}

// isTooLarge reports whether a query needs more memory than it may use.
func isTooLarge(err error) bool {
	fault := new(port.Error)
	return errors.As(err, &fault) && fault.Code == document.TooLarge
}

// continued returns the results of the days from the stored state and the events since. It returns
// nil if the metric cannot be measured day by day.
func (q *timeseriesQuery) continued(r *scan.Run, days []day) (out []json.RawMessage, err error) {
	d, err := openDaily(r, q.Trial, q.metric.query.exposure, q.all)
	if d == nil || err != nil {
		return nil, err
	}
	defer func() { d.close(err) }()
	if d.metrics[q.metric.index] != nil {
		out, err = d.series(days, q.metric.index)
	}
	d.isDone = err == nil
	return out, err
}

// resultAsOf returns the results of the metric from the events of the days up to one of them.
func (q *timeseriesQuery) resultAsOf(r *scan.Run, v day) (json.RawMessage, error) {
	past := *r // memory that it reserves without retaining is released at the end
	past.Now = time.UnixMicro(v.end)
	f := newExperimentRun(&past, q.Trial, q.metric.query.exposure, nil)
	f.last = v.last()
	a := &experimentAnswer{experimentQuery: q.metric.query, f: f}
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
	return a.dayResult(), nil
}

// dayResult returns the members of the response without the sessions of funnel steps, which would be
// repeated for every day.
func (a *experimentAnswer) dayResult() json.RawMessage {
	members := a.members()
	delete(members["baseline"].(map[string]any), "step_sessions")
	for _, v := range members["variant_results"].([]any) {
		delete(v.(map[string]any), "step_sessions")
	}
	return wire.MustEncode(members)
}
