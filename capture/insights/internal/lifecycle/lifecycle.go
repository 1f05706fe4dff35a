package lifecycle

import (
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Kinds are the kinds of queries about lifecycle and stickiness.
var Kinds = []scan.Kind{
	{Name: "LifecycleQuery", Parse: parseLifecycle},
	{Name: "StickinessQuery", Parse: parseStickiness},
}

// lifecycle is a LifecycleQuery (§2.7): how many persons are new, return, return after a pause, or
// become inactive in each bucket.
type lifecycle struct {
	// entity defines the events that make a person active.
	entity     filter.Entity
	interval   calendar.Interval
	dates      calendar.Range
	conditions filter.AllOf
}

// lifecycleStatuses are the statuses of persons in a bucket, in the order of the results.
var lifecycleStatuses = []string{"new", "returning", "resurrecting", "dormant"}

// Indexes of lifecycleStatuses.
const (
	statusNew = iota
	statusReturning
	statusResurrecting
	statusDormant
)

// parseLifecycle parses a LifecycleQuery, which has exactly one series.
func parseLifecycle(n document.Node, p *port.Project) scan.Plan {
	l := &lifecycle{interval: calendar.ReadInterval(n, calendar.Hour, calendar.Day, calendar.Week, calendar.Month), dates: calendar.ReadRange(n.Get("dateRange")), conditions: filter.ReadAll(n, p)}
	series := n.Get("series")
	if list, _ := series.Value.([]any); len(list) > 1 {
		series.Fail(document.InvalidInput, "A LifecycleQuery has one series.")
	}
	if entities := filter.ReadEntities(series, p, filter.MaxSeries); len(entities) > 0 {
		l.entity = entities[0]
	}
	n.RejectMembers("aggregation_group_type_index")
	n.Get("lifecycleFilter").Object()
	return l
}

// stay is a person's status in one bucket. Bucket 0 is the first bucket of the range.
type stay struct {
	person uint32
	bucket int
	status int
}

// Run counts the persons by status and bucket. Dormant persons are counted as negative numbers.
func (l *lifecycle) Run(r *scan.Run) (*port.Result, error) {
	p, err := r.Period(l.dates, l.interval)
	if err != nil {
		return nil, err
	}
	stays, err := l.stays(r, p)
	if err != nil {
		return nil, err
	}
	if err := r.Reserve(scan.AnswerCell * int64(len(lifecycleStatuses)*p.Len())); err != nil {
		return nil, err
	}
	data := scan.Rows(len(lifecycleStatuses), p.Len(), func(int) float64 { return 0 })
	for _, s := range stays {
		if s.status == statusDormant {
			data[s.status][s.bucket]--
		} else {
			data[s.status][s.bucket]++
		}
	}
	label := l.entity.Label(r)
	results := make([]*Row, len(data))
	for i, points := range data {
		results[i] = &Row{
			Status: lifecycleStatuses[i], Data: scan.Numbers(points), Days: p.Days(), Labels: p.Labels(p.From, p.To),
			Count: scan.Number(scan.Sum(points)), Label: label + " - " + lifecycleStatuses[i],
			Action: l.entity.Describe(r, 0, p.Instants()),
		}
		// Results always have the math total, whatever the query has.
		math := "total"
		results[i].Action.Math = &math
	}
	return &port.Result{Results: results, From: p.From, To: p.To}, nil
}

// Row is one row of the result: a status.
type Row struct {
	Action *filter.EntityView `json:"action"`
	Status string             `json:"status"`
	Data   []scan.Number      `json:"data"`
	Days   []string           `json:"days"`
	Labels []string           `json:"labels"`
	Count  scan.Number        `json:"count"`
	Label  string             `json:"label"`
}

// stays returns the status of each person in the buckets of the range. It scans one bucket before
// the range, to recognize persons that return, and one after it.
func (l *lifecycle) stays(r *scan.Run, p *scan.Period) ([]stay, error) {
	if p.Len() == 0 {
		return nil, nil
	}
	// around is the range with one more bucket before and after it.
	c := r.Calendar()
	before := c.StartOf(l.interval, p.Start(0).Add(-1))
	after := c.Next(l.interval, c.Next(l.interval, p.Start(p.Len()-1)))
	around, err := c.BucketsBetween(l.interval, before, after.Add(-1))
	if err != nil {
		return nil, err
	}
	cells, err := l.active(r, around)
	if err != nil {
		return nil, err
	}
	if err := r.Reserve(48 * int64(len(cells))); err != nil { // up to two stays for each cell
		return nil, err
	}
	// The cells are sorted by person and bucket, so the previous cell is the person's previous
	// bucket. Buckets of cells are one greater than those of stays.
	out := make([]stay, 0, 2*len(cells))
	for i, at := range cells {
		first := i == 0 || cells[i-1].Actor != at.Actor
		status := statusResurrecting
		switch {
		// The person's first event in the scan: the person is new if created in this bucket,
		// otherwise resurrecting.
		case first:
			if created := createdAt(r, at.Actor); around.Find(created) == int(at.Bucket) {
				status = statusNew
			}
		case cells[i-1].Bucket+1 == at.Bucket:
			status = statusReturning
		}
		out = append(out, stay{at.Actor, int(at.Bucket) - 1, status})
		// A person without events in the next bucket is dormant in it.
		if last := i+1 == len(cells) || cells[i+1].Actor != at.Actor; last || cells[i+1].Bucket != at.Bucket+1 {
			out = append(out, stay{at.Actor, int(at.Bucket), statusDormant})
		}
	}
	return slices.DeleteFunc(out, func(s stay) bool { return s.bucket < 0 || s.bucket >= p.Len() }), nil
}

// createdAt returns when the person with a number was created, in microseconds since 1970. It
// returns -1 if persons are those of the time of the event, which have no such time.
func createdAt(r *scan.Run, number uint32) int64 {
	if r.Mode == scan.ModeNoOverride {
		return -1
	}
	return r.Reader.Person(number).CreatedAt
}

// active returns the buckets in which each person has an event, sorted by person and bucket.
func (l *lifecycle) active(r *scan.Run, around *calendar.Buckets) ([]scan.Cell, error) {
	b := &scan.Binder{Run: r}
	b.From, b.To = around.Starts[0], around.End-1
	m := l.entity.Bind(b)
	common, person := l.conditions.Bind(b), b.People()
	if b.Err != nil {
		return nil, b.Err
	}
	b.Needs.Columns |= port.PeopleCreated
	seen := scan.Set{Reserve: r.Reserve}
	w := scan.NewRow(&b.Needs)
	err := r.Scan(b.Needs.Scan(port.Scan{From: b.From, To: b.To, Names: filter.EventNames(m)}), func(batch *port.Batch) error {
		for i := range batch.Len() {
			w.MoveTo(batch, i)
			if !m.Matches(w) || !common(w) {
				continue
			}
			// Events of persons that no longer exist do not count.
			n := person(w)
			if r.Mode != scan.ModeNoOverride && !r.Reader.Person(n).Exists {
				continue
			}
			if err := seen.Put(scan.Cell{Value: 0, Bucket: uint32(around.Find(batch.Time[i])), Actor: n}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.Reserve(12 * int64(seen.Len)); err != nil {
		return nil, err
	}
	return seen.Sorted(), nil
}
