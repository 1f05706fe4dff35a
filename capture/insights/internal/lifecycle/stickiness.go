package lifecycle

import (
	"fmt"

	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/internal/trends"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// stickiness is a StickinessQuery (§2.8): in how many intervals actors are active.
type stickiness struct {
	// series are the series; their math defines the actors.
	series     []trends.Series
	interval   calendar.Interval
	dates      calendar.Range
	conditions filter.AllOf
	compare    bool
	compareTo  calendar.Date
	// isEnough reports whether a number of events makes an interval active.
	isEnough func(events uint32) bool
	// cumulative counts an actor also for all smaller numbers of intervals.
	cumulative bool
}

// parseStickiness parses a StickinessQuery.
func parseStickiness(n document.Node, p *port.Project) scan.Plan {
	s := &stickiness{interval: calendar.ReadInterval(n, calendar.Hour, calendar.Day, calendar.Week, calendar.Month), dates: calendar.ReadRange(n.Get("dateRange")), conditions: filter.ReadAll(n, p)}
	for i, e := range filter.ReadEntities(n.Get("series"), p, filter.MaxSeries) {
		m := n.Get("series").List(filter.MaxSeries)[i]
		if name := m.Get("math").Text("dau"); name != "dau" && name != "unique_group" && name != "hogql" && name != "total" {
			m.Get("math").Fail(document.InvalidChoice, "The math %s is not supported in a StickinessQuery.", document.Describe(name))
		}
		// In stickiness, the math hogql is an expression for the actor, not an aggregate.
		if m.Get("math").Text("") == "hogql" {
			s.series = append(s.series, trends.Series{Entity: e, Math: trends.Measure{Name: "hogql", Basis: "hogql", Group: scan.AnyPeople, Named: filter.ReadValue(m.Get("math_hogql"), p)}})
			continue
		}
		s.series = append(s.series, trends.Series{Entity: e, Math: trends.ReadMeasure(m, p)})
	}
	// Intervals of several units are not supported.
	n.Get("intervalCount").IntInRange(1, 1, 1)
	compare := n.Get("compareFilter").Object()
	s.compare, s.compareTo = compare.Get("compare").Boolean(), calendar.ReadRelativeDate(compare.Get("compare_to"))
	filter := n.Get("stickinessFilter").Object()
	s.cumulative = filter.Get("computedAs").Choice("non_cumulative", "non_cumulative", "cumulative") == "cumulative"
	criteria := filter.Get("stickinessCriteria").Object()
	threshold := uint32(criteria.Get("value").IntInRange(0, 1<<31, 1))
	switch criteria.Get("operator").Choice("gte", "gte", "lte", "exact") {
	case "lte":
		s.isEnough = func(events uint32) bool { return events <= threshold }
	case "exact":
		s.isEnough = func(events uint32) bool { return events == threshold }
	default:
		s.isEnough = func(events uint32) bool { return events >= threshold }
	}
	return s
}

// StickinessRow is one row of the result: a series in one period.
type StickinessRow struct {
	Action       *filter.EntityView `json:"action"`
	Label        string             `json:"label"`
	Count        scan.Number        `json:"count"`
	Data         []scan.Number      `json:"data"`
	Labels       []string           `json:"labels"`
	Days         []int              `json:"days"`
	Compare      bool               `json:"compare,omitempty"`
	CompareLabel string             `json:"compare_label,omitempty"`
}

// Run computes each series for the period, and for the previous one if they are compared.
func (s *stickiness) Run(r *scan.Run) (*port.Result, error) {
	current, err := r.Period(s.dates, s.interval)
	if err != nil {
		return nil, err
	}
	// labels are the values of compare_label.
	periods, labels := []*scan.Period{current}, []string{""}
	if s.compare {
		before, err := r.PreviousPeriod(current, s.dates, s.compareTo)
		if err != nil {
			return nil, err
		}
		periods, labels = append(periods, before), []string{"current", "previous"}
	}
	results := []*StickinessRow{}
	for k, p := range periods {
		for i := range s.series {
			var row *StickinessRow
			// Only the row remains after each series, so the memory of the counts is released.
			err := r.ReleaseAfter(func() error {
				active, err := s.active(r, p, i)
				if err == nil {
					row = s.row(r, p, i, active)
				}
				return err
			})
			if err == nil {
				err = r.Reserve(scan.AnswerCell * int64(p.Len()))
			}
			if err != nil {
				return nil, err
			}
			row.Compare, row.CompareLabel = s.compare, labels[k]
			results = append(results, row)
		}
	}
	return &port.Result{Results: results, From: current.From, To: current.To}, nil
}

// row returns the row of a series: by number of intervals, how many actors are active in as many.
func (s *stickiness) row(r *scan.Run, p *scan.Period, i int, active map[uint32]int) *StickinessRow {
	n := p.Len()
	points := make([]float64, n)
	for _, intervals := range active {
		points[intervals-1]++
	}
	// Cumulative: active in at least as many intervals.
	if s.cumulative {
		for i := n - 2; i >= 0; i-- {
			points[i] += points[i+1]
		}
	}
	e := &s.series[i].Entity
	row := &StickinessRow{Action: e.Describe(r, i, nil), Label: e.Label(r), Count: scan.Number(len(active)), Data: scan.Numbers(points), Labels: []string{}, Days: []int{}}
	for i := range n {
		unit := string(s.interval)
		if i > 0 {
			unit += "s"
		}
		label := fmt.Sprintf("%d %s", i+1, unit)
		if s.cumulative {
			label += " or more"
		}
		row.Labels, row.Days = append(row.Labels, label), append(row.Days, i+1)
	}
	return row
}

// active returns the number of intervals in which each actor is active. Actors without active
// intervals are not included.
func (s *stickiness) active(r *scan.Run, p *scan.Period, i int) (map[uint32]int, error) {
	active, _, err := s.activeIn(&scan.Binder{Run: r}, p, i)
	return active, err
}

// activeIn is like active, and also returns the keys of the actors; they are nil if the actors are
// persons.
func (s *stickiness) activeIn(b *scan.Binder, p *scan.Period, i int) (map[uint32]int, *scan.Strings, error) {
	r := b.Run
	b.From, b.To = p.CountedRange()
	m := s.series[i].Bind(b)
	common := s.conditions.Bind(b)
	actor, keys := s.actor(b, i)
	if b.Err != nil {
		return nil, nil, b.Err
	}
	// counts are the events of each actor in each bucket.
	counts := map[scan.Cell]uint32{}
	w := scan.NewRow(&b.Needs)
	err := r.Scan(b.Needs.Scan(port.Scan{From: b.From, To: b.To, Names: filter.EventNames(m)}), func(batch *port.Batch) error {
		// Memory is reserved batch by batch.
		before := len(counts)
		for i := range batch.Len() {
			w.MoveTo(batch, i)
			bucket := p.Find(batch.Time[i])
			if bucket < 0 || !m.Matches(w) || !common(w) {
				continue
			}
			if who, ok := actor(w); ok {
				counts[scan.Cell{Value: 0, Bucket: uint32(bucket), Actor: who}]++
			}
		}
		return r.Reserve(40 * int64(len(counts)-before))
	})
	// Reserve memory for active, with at most one entry for each count.
	if err == nil {
		err = r.Reserve(24 * int64(len(counts)))
	}
	if err != nil {
		return nil, nil, err
	}
	// Count the active intervals of each actor.
	active := map[uint32]int{}
	for c, events := range counts {
		if s.isEnough(events) {
			active[c.Actor]++
		}
	}
	return active, keys, nil
}

// actor returns the function that numbers the actors of a series: persons, groups, or the values of
// an expression. The string table has the keys of actors that are not persons.
func (s *stickiness) actor(b *scan.Binder, i int) (func(*scan.Row) (uint32, bool), *scan.Strings) {
	m := &s.series[i].Math
	if m.Basis == "hogql" {
		in := b.NewInterner(m.Named(b))
		return in.Number, in.Strings
	}
	number := b.Actor(m.Group)
	if m.Group < 0 {
		return number, nil
	}
	return number, b.GroupsOf[m.Group].Strings
}
