package insights

import "time"

// dateRange is a query's dateRange.
type dateRange struct {
	from, to date
	explicit bool
}

func (n node) dateRange() dateRange {
	object := n.object()
	return dateRange{from: object.get("date_from").date(true), to: object.get("date_to").lastDate(), explicit: object.get("explicitDate").boolean()}
}

// period is a range with its dates found (§3.1.2).
type period struct {
	from, to time.Time
	// first is the time from which events count (§3.1.3); they count up to to.
	first time.Time
	bucketing
	*buckets
}

// bucketing is how a period is cut.
type bucketing struct {
	unit   interval
	exact  bool // events count from the period's start on, not from that of its bucket
	single bool // one bucket: the answer is of the period as a whole
}

// countedRange are the bounds of events that count, in microseconds.
func (p *period) countedRange() (from, to int64) { return p.first.UnixMicro(), p.to.UnixMicro() }

func (r *run) calendar() calendar { return calendar{zone: r.zone, weekStart: r.project.WeekStart} }

// period finds the dates of a range and its buckets.
func (r *run) period(d dateRange, i interval) (*period, error) {
	return r.periodOf(d, bucketing{unit: i})
}

// periodOf is period where the answer may need no buckets.
func (r *run) periodOf(d dateRange, how bucketing) (*period, error) {
	i := how.unit
	from, err := r.dateFrom(d, i)
	if err != nil {
		return nil, err
	}
	how.exact = d.explicit || d.from.form == relative && (i == hour || i == minute || i == day && d.from.unit == 'h')
	return r.newPeriod(how, from, r.dateTo(d, i))
}

// newPeriod is a period between two instants.
func (r *run) newPeriod(how bucketing, from, to time.Time) (p *period, err error) {
	c := r.calendar()
	p = &period{from: from, to: to, bucketing: how, first: from}
	switch {
	case how.exact:
	case how.unit == week:
		p.first = c.startOf(day, from)
	default:
		p.first = c.startOf(how.unit, from)
	}
	if how.single {
		p.buckets = c.oneBucket(how.unit, from, to)
		return p, nil
	}
	p.buckets, err = c.bucketsBetween(how.unit, from, to)
	return p, err
}

// firstEver is where all time begins, as it does for PostHog: clocks that are wrong
// stand at 1970 or 2000, and anybody may send such an event, after which a chart of
// all time would have thousands of empty days before the first real one.
var firstEver = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)

func (r *run) dateFrom(d dateRange, i interval) (time.Time, error) {
	c := r.calendar()
	week := date{form: relative, count: 7, unit: 'd'}
	switch d.from.form {
	case noDate:
		return c.startOf(day, c.resolve(week, r.now)), nil
	case allTime:
		at, some, err := r.reader.Earliest(r.ctx, firstEver.UnixMicro())
		if err != nil || !some {
			return c.startOf(day, c.resolve(week, r.now)), err
		}
		return time.UnixMicro(at), nil
	case relative:
		t := c.resolve(d.from, r.now)
		switch {
		case d.from.edge != "" || i == minute:
			return t, nil
		case d.from.unit == 'h':
			return c.startOf(hour, t), nil
		}
		return c.startOf(day, t), nil
	}
	return c.resolve(d.from, r.now), nil
}

func (r *run) dateTo(d dateRange, i interval) time.Time {
	c := r.calendar()
	t := r.now
	if d.to.form != noDate {
		t = c.resolve(d.to, r.now)
	}
	loose := d.to.form == noDate || d.to.form == relative
	switch {
	case d.explicit:
	case i == hour || i == minute:
		if loose {
			return c.endOf(i, t)
		}
	default:
		return c.endOf(day, t)
	}
	return t
}

// previousPeriod is the period that a comparison puts beside p (§3.1.4); of a relative
// form to has its text.
func (r *run) previousPeriod(p *period, d dateRange, to date) (*period, error) {
	c := r.calendar()
	f, t := c.clock(p.from), c.clock(p.to)
	length := t.Sub(f)
	var from, until time.Time
	switch edge := edgeUnits[d.from.unit]; {
	case to.form == relative:
		from = subtractOnCalendar(f, to)
		until = from.Add(length)
	case d.from.form == relative && d.from.edge == "Start" && d.from.count == 0 && edge != hour && edge != day && d.to.form == noDate:
		end := p.from
		start := c.startOf(edge, end.Add(-time.Microsecond))
		return r.newPeriod(p.bucketing, start, end.Add(-time.Microsecond))
	case p.interval == minute:
		from, until = f.Add(-length), f
	default:
		from = atTimeOf(f.Add(-length), f)
		if p.interval == day && isMultipleOfWeeks(d.from) && d.to.form == noDate {
			from = from.AddDate(0, 0, 1)
		}
		until = from.Add(length)
		if p.interval == hour {
			until = until.Truncate(time.Hour).Add(t.Sub(t.Truncate(time.Hour)))
		} else {
			until = atTimeOf(until, t)
		}
	}
	return r.newPeriod(p.bucketing, c.local(from), c.local(until))
}

// atTimeOf is the day of one wall clock's time with the time of day of another.
func atTimeOf(d, t time.Time) time.Time {
	y, m, dd := d.Date()
	return time.Date(y, m, dd, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// isMultipleOfWeeks says whether a start is some weeks of days ago, as 7 days are without
// one.
func isMultipleOfWeeks(d date) bool {
	return d.form == noDate || d.form == relative && d.unit == 'd' && d.edge == "" && d.count > 0 && d.count%7 == 0
}
