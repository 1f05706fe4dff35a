package lifecycle

import (
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// Options returns the buckets and statuses of a lifecycle.
func (l *lifecycle) Options(r *scan.Run) (map[string]any, error) {
	p, err := r.Period(l.dates, l.interval)
	if err != nil {
		return nil, err
	}
	days, statuses := []scan.Option{}, []scan.Option{}
	for i, label := range p.Labels(p.From, p.To) {
		days = append(days, scan.Option{Label: label, Value: p.Start(i).Format(time.RFC3339)})
	}
	for _, s := range lifecycleStatuses {
		statuses = append(statuses, scan.Option{Label: strings.ToUpper(s[:1]) + s[1:], Value: s})
	}
	return map[string]any{"day": days, "status": statuses}, nil
}

// Options returns the numbers of intervals and the series of stickiness.
func (s *stickiness) Options(r *scan.Run) (map[string]any, error) {
	p, err := r.Period(s.dates, s.interval)
	if err != nil {
		return nil, err
	}
	days, series := []scan.Option{}, []scan.Option{}
	// A row without actors has the labels.
	row := s.row(r, p, 0, nil)
	for i, label := range row.Labels {
		days = append(days, scan.Option{Label: label, Value: i + 1})
	}
	for i := range s.series {
		series = append(series, scan.Option{Label: s.series[i].Label(r), Value: i})
	}
	return map[string]any{"day": days, "series": series}, nil
}
