package insights

import (
	"slices"
	"strings"
	"time"
)

// options are what actors of a trend can be asked by (§2.9.4).
func (t *trends) options(r *run) (map[string]any, error) {
	p, err := t.current(r)
	if err != nil {
		return nil, err
	}
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

type option struct {
	Label string `json:"label"`
	Value any    `json:"value"`
}

func (t *trends) valueOptions(r *run, p *period, out map[string]any) error {
	answer := &trendsAnswer{trends: t, run: r}
	if err := answer.add(p, ""); err != nil {
		return err
	}
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

// optionsPlan is a plan that knows what its actors can be asked by.
type optionsPlan interface {
	options(r *run) (map[string]any, error)
}

func init() { kinds = append(kinds, kind{"InsightActorsQueryOptions", parseOptions}) }

// actorsOptions is an InsightActorsQueryOptions.
type actorsOptions struct{ plan optionsPlan }

func parseOptions(n node, p *Project) plan {
	actors := n.get("source").object()
	if slices.Contains(actorsQueryKinds, actors.get("kind").text("")) {
		n = actors
	}
	inner, plan := n.insight(p)
	source, ok := plan.(optionsPlan)
	if !ok && !n.hasFailed() {
		inner.get("kind").fail(notSupported, "A %s has no actors.", describe(inner.get("kind").value))
	}
	return &actorsOptions{source}
}

func (o *actorsOptions) run(r *run) (*Result, error) {
	extra, err := o.plan.options(r)
	return &Result{Extra: extra}, err
}

// options of a lifecycle are its days and statuses.
func (l *lifecycle) options(r *run) (map[string]any, error) {
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

// options of stickiness are numbers of intervals and series.
func (s *stickiness) options(r *run) (map[string]any, error) {
	p, err := r.period(s.dates, s.interval)
	if err != nil {
		return nil, err
	}
	days, series := []option{}, []option{}
	row := s.row(r, p, 0, nil)
	for i, label := range row.Labels {
		days = append(days, option{label, i + 1})
	}
	for i := range s.series {
		series = append(series, option{s.series[i].label(r), i})
	}
	return map[string]any{"day": days, "series": series}, nil
}
