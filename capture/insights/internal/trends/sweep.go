package trends

import (
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

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
		err := r.Scan(port.Scan{From: at[0], To: at[1], Names: filter.EventNames(s.matchers...), Columns: b.Needs.Columns}, func(batch *port.Batch) error {
			return s.see(w, batch)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scanGroup are the series of one scan. Series that are bare only count events by name, for which a
// faster loop is used.
type scanGroup struct {
	bare, others []*counting
	matchers     []*filter.Matcher
}

// add adds a series to the scan.
func (s *scanGroup) add(c *counting) {
	s.matchers = append(s.matchers, c.matcher)
	if c.isBare() {
		s.bare = append(s.bare, c)
	} else {
		s.others = append(s.others, c)
	}
}

// see counts a batch for all series of the group.
func (s *scanGroup) see(w *scan.Row, batch *port.Batch) error {
	for _, c := range s.bare {
		if err := c.countBatch(batch); err != nil {
			return err
		}
	}
	if len(s.others) == 0 {
		return nil
	}
	for i := range batch.Len() {
		w.MoveTo(batch, i)
		for _, c := range s.others {
			if err := c.see(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// isBare reports whether the series only counts events by name: it has no conditions, no breakdown,
// and the math total.
func (c *counting) isBare() bool {
	_, only := c.tally.(*events)
	return only && c.matcher.Holds == nil && c.common == nil && c.values == nil && !c.measuring
}

// countBatch counts the events of a batch for a series that is bare. It avoids moving the row for
// each event.
func (c *counting) countBatch(b *port.Batch) error {
	counts := c.tally.(*events)
	for i := range b.Len() {
		if !c.matcher.MatchesName(b, i) {
			continue
		}
		bucket := 0
		if c.display != total {
			bucket = c.period.Find(b.Time[i])
		}
		if err := counts.add(nil, 0, bucket); err != nil {
			return err
		}
	}
	return nil
}
