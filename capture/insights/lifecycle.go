package insights

import "slices"

func init() { kinds = append(kinds, kind{"LifecycleQuery", parseLifecycle}) }

// lifecycle is a LifecycleQuery (§2.7): who is new, stays, comes back and goes.
type lifecycle struct {
	entity     entity
	interval   interval
	dates      dateRange
	conditions allOf
}

// The kinds of people in a bucket, in the order of the results.
var lifecycleStatuses = []string{"new", "returning", "resurrecting", "dormant"}

const (
	statusNew = iota
	statusReturning
	statusResurrecting
	statusDormant
)

func parseLifecycle(n node, p *Project) plan {
	l := &lifecycle{interval: n.interval(hour, day, week, month), dates: n.get("dateRange").dateRange(), conditions: queryConditions(n, p)}
	series := n.get("series")
	if list, _ := series.value.([]any); len(list) > 1 {
		series.fail(invalidInput, "A LifecycleQuery has one series.")
	}
	if entities := series.entities(p, maxSeries); len(entities) > 0 {
		l.entity = entities[0]
	}
	n.rejectMembers("aggregation_group_type_index")
	n.get("lifecycleFilter").object()
	return l
}

// stay is a bucket in which a person has a status; bucket 0 is the one before the
// range.
type stay struct {
	person uint32
	bucket int
	status int
}

func (l *lifecycle) run(r *run) (*Result, error) {
	p, err := r.period(l.dates, l.interval)
	if err != nil {
		return nil, err
	}
	stays, err := l.stays(r, p)
	if err != nil {
		return nil, err
	}
	if err := r.reserve(answerCell * int64(len(lifecycleStatuses)*p.len())); err != nil {
		return nil, err
	}
	data := makeRows(len(lifecycleStatuses), p.len(), func(int) float64 { return 0 })
	for _, s := range stays {
		if s.status == statusDormant {
			data[s.status][s.bucket]--
		} else {
			data[s.status][s.bucket]++
		}
	}
	label := l.entity.label(r)
	results := make([]*lifecycleRow, len(data))
	for i, points := range data {
		results[i] = &lifecycleRow{
			Status: lifecycleStatuses[i], Data: toNumbers(points), Days: p.days(), Labels: p.labels(p.from, p.to),
			Count: number(sum(points)), Label: label + " - " + lifecycleStatuses[i],
			Action: l.entity.describe(r, 0, p.instants()),
		}
		math := "total"
		results[i].Action.Math = &math
	}
	return &Result{Results: results, From: p.from, To: p.to}, nil
}

type lifecycleRow struct {
	Action *action  `json:"action"`
	Status string   `json:"status"`
	Data   []number `json:"data"`
	Days   []string `json:"days"`
	Labels []string `json:"labels"`
	Count  number   `json:"count"`
	Label  string   `json:"label"`
}

// stays are who is what in the buckets of the range. Looked at is one bucket more
// before it and after it.
func (l *lifecycle) stays(r *run, p *period) ([]stay, error) {
	if p.len() == 0 {
		return nil, nil
	}
	c := r.calendar()
	before := c.startOf(l.interval, p.start(0).Add(-1))
	after := c.next(l.interval, c.next(l.interval, p.start(p.len()-1)))
	around, err := c.bucketsBetween(l.interval, before, after.Add(-1))
	if err != nil {
		return nil, err
	}
	cells, err := l.active(r, around)
	if err != nil {
		return nil, err
	}
	if err := r.reserve(48 * int64(len(cells))); err != nil { // twice a stay
		return nil, err
	}
	out := make([]stay, 0, 2*len(cells))
	for i, at := range cells {
		first := i == 0 || cells[i-1].actor != at.actor
		status := statusResurrecting
		switch {
		case first:
			if created := r.createdAt(at.actor); around.find(created) == int(at.bucket) {
				status = statusNew
			}
		case cells[i-1].bucket+1 == at.bucket:
			status = statusReturning
		}
		out = append(out, stay{at.actor, int(at.bucket) - 1, status})
		if last := i+1 == len(cells) || cells[i+1].actor != at.actor; last || cells[i+1].bucket != at.bucket+1 {
			out = append(out, stay{at.actor, int(at.bucket), statusDormant})
		}
	}
	return slices.DeleteFunc(out, func(s stay) bool { return s.bucket < 0 || s.bucket >= p.len() }), nil
}

// createdAt is when the person of a number was created, -1 for nobody.
func (r *run) createdAt(number uint32) int64 {
	if r.mode == modeNoOverride {
		return -1
	}
	return r.reader.Person(number).CreatedAt
}

// active are the buckets in which people have events, by person and bucket.
func (l *lifecycle) active(r *run, around *buckets) ([]cell, error) {
	b := &binder{run: r}
	b.from, b.to = around.starts[0], around.end-1
	m := l.entity.bind(b)
	common, person := l.conditions.bind(b), b.people()
	if b.err != nil {
		return nil, b.err
	}
	b.needs.columns |= PeopleCreated
	seen := set{reserve: r.reserve}
	w := newRow(&b.needs)
	err := r.scan(Scan{From: b.from, To: b.to, Names: eventNames(m), Columns: b.needs.columns}, func(batch *Batch) error {
		for i := range batch.Len() {
			w.moveTo(batch, i)
			if !m.matches(w) || !common(w) {
				continue
			}
			n := person(w)
			if r.mode != modeNoOverride && !r.reader.Person(n).Exists {
				continue
			}
			if err := seen.put(cell{0, uint32(around.find(batch.Time[i])), n}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.reserve(12 * int64(seen.n)); err != nil {
		return nil, err
	}
	return seen.sorted(), nil
}
