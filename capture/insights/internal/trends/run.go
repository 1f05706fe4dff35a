package trends

import (
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Run computes the period, and the previous one if they are compared.
func (t *trends) Run(r *scan.Run) (*port.Result, error) {
	current, err := t.current(r)
	if err != nil {
		return nil, err
	}
	answer := &trendsAnswer{trends: t, run: r}
	if err := answer.add(current, t.currentLabel()); err != nil {
		return nil, err
	}
	if t.compare {
		before, err := r.PreviousPeriod(current, t.dates, t.compareTo)
		if err != nil {
			return nil, err
		}
		if err := answer.add(before, "previous"); err != nil {
			return nil, err
		}
	}
	if len(t.formulas) > 0 {
		if err := answer.applyFormulas(); err != nil {
			return nil, err
		}
	}
	result := &port.Result{Results: answer.rows(), From: current.From, To: current.To}
	if t.breakdown != nil {
		result.HasMore = &answer.more
	}
	return result, nil
}

// add computes a period and retains only what the result needs of it.
func (a *trendsAnswer) add(p *scan.Period, label string) error {
	var series [][]valuePoints
	err := a.run.ReleaseAfter(func() (err error) {
		if series, err = a.count(a.run, p); err != nil {
			return err
		}
		// Smooth first, since the rank of a value depends on its points.
		for i, rows := range series {
			for k := range rows {
				if a.display != total { // a single number is not smoothed
					rows[k].points = smooth(rows[k].points, a.smoothing)
				}
			}
			series[i] = a.limitRows(rows)
		}
		return nil
	})
	if err != nil {
		return err
	}
	result := trendsPeriod{Period: p, label: label, series: series}
	if a.display != total {
		result.days, result.labels, result.instants = p.Days(), p.Labels(p.From, p.To), p.Instants()
	}
	a.periods = append(a.periods, result)
	// Reserve memory for what remains after ReleaseAfter.
	for _, rows := range series {
		bytes := int64(0)
		for _, row := range rows {
			bytes += 8 * int64(len(row.points))
			for _, text := range row.value.Texts {
				bytes += 3 * int64(len(text)) // also in the label and in JSON
			}
		}
		if err := a.run.Reserve(bytes); err != nil {
			return err
		}
		if len(a.formulas) > 0 { // the result has the rows of the formulas instead
			continue
		}
		if err := a.reserveRows(len(rows), p); err != nil {
			return err
		}
	}
	return nil
}
