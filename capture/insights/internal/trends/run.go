package trends

import (
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
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

// sweep reads the events for some series. Series with the same time range share one scan.
func sweep(r *scan.Run, b *scan.Binder, scans []*counting) error {
	// stretches are the series by time range.
	stretches := map[[2]int64]*scanGroup{}
	for _, c := range scans {
		at := [2]int64{c.from, c.to}
		if stretches[at] == nil {
			stretches[at] = &scanGroup{}
		}
		stretches[at].add(c)
	}
	for at, s := range stretches {
		w := scan.NewRow(&b.Needs)
		err := r.Scan(b.Needs.Scan(port.Scan{From: at[0], To: at[1], Names: filter.EventNames(s.matchers...)}), func(batch *port.Batch) error {
			return s.see(w, batch)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scanGroup are the series of one scan. Series that are bare only count events by name, and series with tests
// also by values of properties: for these, faster loops are used.
type scanGroup struct {
	bare, tested, others []*counting
	matchers             []*filter.Matcher
}

// add adds a series to the scan.
func (s *scanGroup) add(c *counting) {
	s.matchers = append(s.matchers, c.matcher)
	switch {
	case !c.addsBatches():
		s.others = append(s.others, c)
	case c.matcher.HasConditions() || c.common.HasConditions():
		s.tested = append(s.tested, c)
	default:
		s.bare = append(s.bare, c)
	}
}

// see counts a batch for all series of the group.
func (s *scanGroup) see(w *scan.Row, batch *port.Batch) error {
	for _, c := range s.bare {
		if err := c.countBatch(batch); err != nil {
			return err
		}
	}
	if batch.EventProperties == nil {
		return seeEach(w, batch, s.others, s.tested)
	}
	for _, c := range s.tested {
		if err := c.countSelected(batch); err != nil {
			return err
		}
	}
	return seeEach(w, batch, s.others)
}

// seeEach counts the events of a batch for some series, one by one.
func seeEach(w *scan.Row, batch *port.Batch, lists ...[]*counting) error {
	list := slices.Concat(lists...)
	if len(list) == 0 {
		return nil
	}
	for i := range batch.Len() {
		w.MoveTo(batch, i)
		for _, c := range list {
			if err := c.see(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// addsBatches reports whether the series only counts events, or their persons, by name and values of
// properties: it has no other conditions, no breakdown, and a tally that adds events with the same bucket at once.
func (c *counting) addsBatches() bool {
	t, ok := c.tally.(batchTally)
	return ok && t.addsBatches() && c.matcher.CanSelect() && c.common.CanSelect() && c.values == nil && !c.measuring
}

// batchTally is implemented by tallies that add events of a bucket without a breakdown at once.
type batchTally interface {
	// addsBatches reports whether addAll may be called.
	addsBatches() bool
	// addAll is add for the events from index from to index to of a batch.
	addAll(b *port.Batch, from, to, bucket int) error
	// addRows is add for the events with some indexes in a batch.
	addRows(b *port.Batch, rows []int32, bucket int) error
}

// countSelected counts the events of a batch with EventProperties for a series with tests.
func (c *counting) countSelected(b *port.Batch) error {
	t := c.tally.(batchTally)
	rows := c.rows[:0]
	for i := range b.Len() {
		if c.matcher.MatchesName(b, i) {
			rows = append(rows, int32(i))
		}
	}
	c.rows = rows
	rows = c.common.Select(b, c.matcher.Select(b, rows))
	for len(rows) > 0 {
		bucket, n := 0, len(rows)
		if c.display != total {
			bucket = c.period.Find(b.Time[rows[0]])
			for n = 1; n < len(rows) && c.period.Find(b.Time[rows[n]]) == bucket; n++ {
			}
		}
		if err := t.addRows(b, rows[:n], bucket); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// countBatch counts the events of a batch for a series without conditions. It avoids moving the row for
// each event.
func (c *counting) countBatch(b *port.Batch) error {
	t := c.tally.(batchTally)
	for from := 0; from < b.Len(); {
		bucket, n := 0, b.Len()-from
		if c.display != total {
			bucket, n = c.period.FindRun(b.Time[from:])
		}
		for end := from + n; from < end; {
			if !c.matcher.MatchesName(b, from) {
				from++
				continue
			}
			to := end
			if c.matcher.Names != nil {
				for to = from + 1; to < end && c.matcher.MatchesName(b, to); to++ {
				}
			}
			if err := t.addAll(b, from, to, bucket); err != nil {
				return err
			}
			from = to
		}
	}
	return nil
}
