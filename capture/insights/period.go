package insights

import "time"

// period is a date range with resolved dates (§3.1.2) and its buckets.
type period struct {
	from, to time.Time
	// first is the time from which events count (§3.1.3). It may be before from, since the first
	// bucket may begin earlier. Events count up to to, inclusive.
	first time.Time
	bucketing
	*buckets
}

// bucketing defines how a period is divided.
type bucketing struct {
	unit interval
	// exact is true if events count from the start of the period instead of that of the first
	// bucket.
	exact bool
	// single requests one bucket, because the result covers the period as a whole.
	single bool
}

// countedRange returns the range of events that count, in microseconds since 1970; both bounds are
// inclusive.
func (p *period) countedRange() (from, to int64) { return p.first.UnixMicro(), p.to.UnixMicro() }

// calendar returns the calendar of the project.
func (r *run) calendar() calendar { return calendar{zone: r.zone, weekStart: r.project.WeekStart} }

// period resolves a date range and divides it into intervals.
func (r *run) period(d dateRange, i interval) (*period, error) {
	return r.periodOf(d, bucketing{unit: i})
}

// periodOf is like period for results that may need a single bucket only. It sets how.exact itself.
func (r *run) periodOf(d dateRange, how bucketing) (*period, error) {
	i := how.unit
	from, err := r.dateFrom(d, i)
	if err != nil {
		return nil, err
	}
	how.exact = d.explicit || d.from.form == relative && (i == hour || i == minute || i == day && d.from.unit == 'h')
	return r.newPeriod(how, from, r.dateTo(d, i))
}

// newPeriod returns the period between two instants.
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

// firstEver is the beginning of "all time", as in PostHog. Devices with a wrong clock send events
// from 1970 or 2000; one such event would add thousands of empty days to a chart.
var firstEver = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)

// dateFrom resolves the start of a range (§3.1.2): 7 days ago by default, and for "all" the first
// event. A relative date is cut to the start of the day or hour, unless the interval is a minute.
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

// dateTo resolves the end of a range (§3.1.2): now by default. Unless the dates are explicit, it is
// extended to the end of the day, or for short intervals to the end of the interval.
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

// previousPeriod returns the period with which p is compared (§3.1.4). to is compare_to; if it is a
// relative date, the period is moved back by it, otherwise by the length of p.
func (r *run) previousPeriod(p *period, d dateRange, to date) (*period, error) {
	c := r.calendar()
	// Compute with local times, so that a change of the clock does not shift the period.
	f, t := c.clock(p.from), c.clock(p.to)
	length := t.Sub(f)
	var from, until time.Time
	switch edge := edgeUnits[d.from.unit]; {
	case to.form == relative:
		from = subtractOnCalendar(f, to)
		until = from.Add(length)
	// "This month" and the like are compared with the whole previous month.
	case d.from.form == relative && d.from.edge == "Start" && d.from.count == 0 && edge != hour && edge != day && d.to.form == noDate:
		end := p.from
		start := c.startOf(edge, end.Add(-time.Microsecond))
		return r.newPeriod(p.bucketing, start, end.Add(-time.Microsecond))
	case p.interval == minute:
		from, until = f.Add(-length), f
	default:
		from = atTimeOf(f.Add(-length), f)
		// A range of whole weeks is compared with the same weekdays.
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

// atTimeOf returns the day of d with the time of day of t, both local times.
func atTimeOf(d, t time.Time) time.Time {
	y, m, dd := d.Date()
	return time.Date(y, m, dd, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// isMultipleOfWeeks reports whether a range begins a whole number of weeks ago, counted in days.
// The default, 7 days, is one.
func isMultipleOfWeeks(d date) bool {
	return d.form == noDate || d.form == relative && d.unit == 'd' && d.edge == "" && d.count > 0 && d.count%7 == 0
}
