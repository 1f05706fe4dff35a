package funnels

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Step is a step of the result (§2.5.3). Times are in seconds.
type Step struct {
	ActionID   any     `json:"action_id"`
	Name       any     `json:"name"`
	CustomName *string `json:"custom_name"`
	Order      int     `json:"order"`
	// People is always empty: the actors are returned by other queries.
	People  []string `json:"people"`
	Count   int64    `json:"count"`
	Type    string   `json:"type"`
	Average *float64 `json:"average_conversion_time"`
	Median  *float64 `json:"median_conversion_time"`
	// Breakdown is the value, of cohorts the name; BreakdownValue is the value or the id.
	Breakdown      any `json:"breakdown,omitempty"`
	BreakdownValue any `json:"breakdown_value,omitempty"`
}

// funnelBins is the result of time_to_convert (§2.5.4). Each bin is its start in seconds and its
// number of actors.
type funnelBins struct {
	Bins    [][2]int64 `json:"bins"`
	Average *float64   `json:"average_conversion_time"`
}

// funnelLine is one line of the result of trends (§2.5.5). Data are percentages by bucket.
type funnelLine struct {
	Count          int       `json:"count"`
	Data           []float64 `json:"data"`
	Days           []string  `json:"days"`
	Labels         []string  `json:"labels"`
	BreakdownValue any       `json:"breakdown_value,omitempty"`
}

// Run computes the funnel in the form that funnelVizType selects.
func (q *funnelQuery) Run(r *scan.Run) (*port.Result, error) {
	f, err := q.read(r)
	if err != nil {
		return nil, err
	}
	result := &port.Result{From: f.period.From, To: f.period.To}
	switch q.viz {
	case timeToConvert:
		result.Results, err = f.bins()
	case TrendsView:
		result.Results, err = f.trends()
	default:
		result.Results, err = f.stepsResult()
	}
	return result, err
}

// bins computes the histogram of the times between the two steps, over the actors that reached the
// second.
func (f *funnelRun) bins() (*funnelBins, error) {
	// took are the times in microseconds.
	var took []int64
	err := f.eachReached(func(_, _ uint32, times []int64) error {
		if len(times) <= f.to {
			return nil
		}
		if err := f.Reserve(16); err != nil { // with the spare capacity of append
			return err
		}
		took = append(took, times[f.to]-times[f.from])
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &funnelBins{Bins: histogram(took, f.funnelQuery.bins)}
	if len(took) > 0 {
		mean := meanSeconds(took)
		out.Average = &mean
	}
	return out, nil
}

// label returns breakdown and breakdown_value for a value. other is true for the row that sums the
// values beyond the limit; value is not used then, except for cohorts, which are not limited.
func (f *funnelRun) label(value uint32, other bool) (name, id any) {
	switch {
	case f.split.IsByCohort():
		c := f.split.Cohorts[value]
		return c.Name, c.ID
	case other && f.split.Kind == "group":
		return "Other", "Other"
	case other:
		return []string{"Other"}, []string{"Other"}
	}
	list := f.values.List(value)
	if f.split.Kind == "group" && len(list) == 1 {
		return list[0], list[0]
	}
	return list, list
}

// isGrouped reports whether the funnel has a breakdown.
func (f *funnelRun) isGrouped() bool { return f.split.Kind != "" }

// stepSums returns the counts of each breakdown value.
func (f *funnelRun) stepSums() (*breakdown.Sums[*funnelTally], error) {
	sums := breakdown.NewSums(f.Run, &f.split, f.values, 40*len(f.steps), func() *funnelTally { return newFunnelTally(len(f.steps)) })
	return sums, f.eachReached(func(_, value uint32, times []int64) error {
		gaps := 0
		err := sums.Add(value, func(t *funnelTally) { gaps += t.add(times) })
		return cmp.Or(err, f.Reserve(16*int64(gaps))) // with the spare capacity of append
	})
}

// stepsResult returns a list of steps, or with a breakdown a list of such lists.
func (f *funnelRun) stepsResult() (any, error) {
	sums, err := f.stepSums()
	if err != nil {
		return nil, err
	}
	// Without a breakdown, all actors have the value 0.
	if !f.isGrouped() {
		sum, err := sums.SumOf(0)
		if err != nil {
			return nil, err
		}
		return f.stepList(sum), nil
	}
	out := [][]Step{}
	top, rest := sums.Ranked(moreConverted, (*funnelTally).merge)
	// The row of the other values is inserted by its counts, after rows with equal counts.
	if rest != nil {
		at := slices.IndexFunc(top, func(g breakdown.Group[*funnelTally]) bool { return moreConverted(g.Sum, rest.Sum) > 0 })
		if at < 0 {
			at = len(top)
		}
		top = slices.Insert(top, at, *rest)
	}
	for _, g := range top {
		list := f.stepList(g.Sum)
		// Every step of a row has the breakdown value.
		for i := range list {
			list[i].Breakdown, list[i].BreakdownValue = f.label(g.Value, g.Other)
		}
		out = append(out, list)
	}
	return out, nil
}

// stepList returns the steps for the counts of one breakdown value.
func (f *funnelRun) stepList(t *funnelTally) []Step {
	out := make([]Step, len(f.steps))
	for i := range f.steps {
		e := &f.steps[i]
		s := Step{ActionID: e.ID(), Name: e.ID(), CustomName: e.CustomName, Order: i, People: []string{}, Count: t.counts[i], Type: e.Kind()}
		switch {
		// Steps in any order have numbers instead of names.
		case f.order == unorderedSteps:
			s.ActionID, s.CustomName, s.Name = nil, nil, fmt.Sprintf("Completed %d steps", i+1)
			if i == 0 {
				s.Name = "Completed 1 step"
			}
		case e.Action != 0:
			s.ActionID, s.Name = e.Action, e.Label(f.Run)
		}
		s.Average, s.Median = t.times(i)
		out[i] = s
	}
	return out
}

// trends returns one line, or with a breakdown one for each value in the order of the values.
func (f *funnelRun) trends() (any, error) {
	n := f.period.Len()
	sums := breakdown.NewSums(f.Run, &f.split, f.values, 16*n, func() *conversion { return &conversion{make([]int64, n), make([]int64, n)} })
	err := f.eachEntrance(func(_, value uint32, bucket, reached int) error {
		return sums.Add(value, func(c *conversion) { c.add(bucket, reached > f.from, reached > f.to) })
	})
	if err != nil {
		return nil, err
	}
	if !f.isGrouped() {
		sum, err := sums.SumOf(0)
		if err != nil {
			return nil, err
		}
		return f.lines([]*conversion{sum})
	}
	top, rest := sums.Ranked(moreEntered, (*conversion).merge)
	// The rank determines which values are listed; their order is that of the values.
	slices.SortFunc(top, func(a, b breakdown.Group[*conversion]) int { return sums.Compare(a.Value, b.Value) })
	if rest != nil {
		top = append(top, *rest)
	}
	counts := make([]*conversion, len(top))
	for i := range top {
		counts[i] = top[i].Sum
	}
	out, err := f.lines(counts)
	// out is nil after an error.
	for i := range out {
		_, out[i].BreakdownValue = f.label(top[i].Value, top[i].Other)
	}
	return out, err
}

// lines returns the lines of the result, and checks the limit of their total size.
func (f *funnelRun) lines(conversions []*conversion) ([]funnelLine, error) {
	cells := len(conversions) * f.period.Len()
	if cells > scan.MaxCells {
		return nil, scan.TooManyCells()
	}
	if err := f.Reserve(scan.AnswerCell*int64(cells) + scan.RowSize*int64(len(conversions))); err != nil {
		return nil, err
	}
	days, labels := f.period.Days(), f.period.Labels(f.period.From, f.period.To)
	out := make([]funnelLine, len(conversions))
	for i, c := range conversions {
		out[i] = funnelLine{Count: f.period.Len(), Data: c.percents(), Days: days, Labels: labels}
	}
	return out, nil
}
