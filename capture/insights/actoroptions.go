package insights

import (
	"slices"
	"strings"
	"time"
)

// Options returns the values by which the actors of a trend can be selected (§2.9.4): its series,
// buckets and breakdown values.
func (t *trends) Options(r *run) (map[string]any, error) {
	p, err := t.current(r)
	if err != nil {
		return nil, err
	}
	// Members that do not apply remain null.
	out := map[string]any{"breakdown": nil, "breakdowns": nil, "compare": nil}
	series := []option{}
	for i := range t.series {
		series = append(series, option{t.series[i].label(r), i})
	}
	out["series"] = series
	if t.display != total {
		days := []option{}
		for i, label := range p.labels(p.from, p.to) {
			days = append(days, option{label, p.start(i).Format(time.RFC3339)})
		}
		out["day"] = days
	}
	if t.compare {
		out["compare"] = []option{{"Current", "current"}, {"Previous", "previous"}}
	}
	if t.breakdown == nil {
		return out, nil
	}
	return out, t.valueOptions(r, p, out)
}

// option is a value that can be selected, and its label.
type option struct {
	Label string `json:"label"`
	Value any    `json:"value"`
}

// valueOptions adds the breakdown values of the result to out.
func (t *trends) valueOptions(r *run, p *period, out map[string]any) error {
	// The values are those of the result, so compute it.
	answer := &trendsAnswer{trends: t, run: r}
	if err := answer.add(p, ""); err != nil {
		return err
	}
	// There is one list of values for each part of the breakdown.
	lists := make([][]option, max(1, len(t.breakdown.parts)))
	for _, rows := range answer.periods[0].series {
		for _, row := range rows {
			for i, text := range row.value.texts {
				o := option{text, text}
				switch {
				case t.breakdown.byCohort:
					o = option{answer.valueLabel(row.value), answer.displayValue(row.value)}
				case text == nullValue:
					o.Label = "None (i.e. no value)"
				case text == otherValue:
					o.Label = "Other (i.e. all remaining values)"
				}
				if !slices.Contains(lists[i], o) {
					lists[i] = append(lists[i], o)
				}
			}
		}
	}
	if !t.breakdown.several {
		out["breakdown"] = lists[0]
		return nil
	}
	several := []map[string]any{}
	for _, list := range lists {
		several = append(several, map[string]any{"values": list})
	}
	out["breakdowns"] = several
	return nil
}

// optionsPlan is implemented by plans whose actors can be selected.
type optionsPlan interface {
	// Options returns the values of each member by which actors are selected.
	Options(r *run) (map[string]any, error)
}

// Without these assertions, a plan whose method differs would be answered as if it had no actors.
var _, _, _, _, _ optionsPlan = (*trends)(nil), (*lifecycle)(nil), (*stickiness)(nil), (*funnelQuery)(nil), (*retentionQuery)(nil)

// actorsOptions is an InsightActorsQueryOptions: it returns the values with which an
// InsightActorsQuery over the same source can select actors.
type actorsOptions struct{ plan optionsPlan }

// parseOptions parses an InsightActorsQueryOptions. Its source is an insight, or an actors query
// over one.
func (s sources) parseOptions(n node, p *Project) plan {
	actors := n.get("source").object()
	// The source may be an actors query, or its source.
	if slices.Contains(actorsQueryKinds, actors.get("kind").text("")) {
		n = actors
	}
	inner, plan := s.insight(n, p)
	source, ok := plan.(optionsPlan)
	if !ok && !n.hasFailed() {
		inner.get("kind").fail(notSupported, "A %s has no actors.", describe(inner.get("kind").value))
	}
	return &actorsOptions{source}
}

// run returns the options, which are the whole result.
func (o *actorsOptions) run(r *run) (*Result, error) {
	extra, err := o.plan.Options(r)
	return &Result{Extra: extra}, err
}

// Options returns the buckets and statuses of a lifecycle.
func (l *lifecycle) Options(r *run) (map[string]any, error) {
	p, err := r.period(l.dates, l.interval)
	if err != nil {
		return nil, err
	}
	days, statuses := []option{}, []option{}
	for i, label := range p.labels(p.from, p.to) {
		days = append(days, option{label, p.start(i).Format(time.RFC3339)})
	}
	for _, s := range lifecycleStatuses {
		statuses = append(statuses, option{strings.ToUpper(s[:1]) + s[1:], s})
	}
	return map[string]any{"day": days, "status": statuses}, nil
}

// Options returns the numbers of intervals and the series of stickiness.
func (s *stickiness) Options(r *run) (map[string]any, error) {
	p, err := r.period(s.dates, s.interval)
	if err != nil {
		return nil, err
	}
	days, series := []option{}, []option{}
	// A row without actors has the labels.
	row := s.row(r, p, 0, nil)
	for i, label := range row.Labels {
		days = append(days, option{label, i + 1})
	}
	for i := range s.series {
		series = append(series, option{s.series[i].label(r), i})
	}
	return map[string]any{"day": days, "series": series}, nil
}
