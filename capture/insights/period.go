package insights

import "time"

// period is a date range with resolved dates (§3.1.2) and its buckets.
type period struct {
	From, To time.Time
	// first is the time from which events count (§3.1.3). It may be before from, since the first
	// bucket may begin earlier. Events count up to to, inclusive.
	first time.Time
	bucketing
	*buckets
}

// bucketing defines how a period is divided.
type bucketing struct {
	Unit interval
	// exact is true if events count from the start of the period instead of that of the first
	// bucket.
	exact bool
	// Single requests one bucket, because the result covers the period as a whole.
	Single bool
}

// CountedRange returns the range of events that count, in microseconds since 1970; both bounds are
// inclusive.
func (p *period) CountedRange() (from, to int64) { return p.first.UnixMicro(), p.To.UnixMicro() }

// Calendar returns the calendar of the project.
func (r *run) Calendar() calendar { return calendar{Zone: r.Zone, WeekStart: r.Project.WeekStart} }

// Period resolves a date range and divides it into intervals.
func (r *run) Period(d dateRange, i interval) (*period, error) {
	return r.PeriodOf(d, bucketing{Unit: i})
}

// PeriodOf is like period for results that may need a single bucket only. It sets how.exact itself.
func (r *run) PeriodOf(d dateRange, how bucketing) (*period, error) {
	i := how.Unit
	from, err := r.DateFrom(d, i)
	if err != nil {
		return nil, err
	}
	how.exact = d.Explicit || d.From.Form == relative && (i == hour || i == minute || i == day && d.From.Unit == 'h')
	return r.newPeriod(how, from, r.DateTo(d, i))
}

// newPeriod returns the period between two instants.
func (r *run) newPeriod(how bucketing, from, to time.Time) (p *period, err error) {
	c := r.Calendar()
	p = &period{From: from, To: to, bucketing: how, first: from}
	switch {
	case how.exact:
	case how.Unit == week:
		p.first = c.StartOf(day, from)
	default:
		p.first = c.StartOf(how.Unit, from)
	}
	if how.Single {
		p.buckets = c.OneBucket(how.Unit, from, to)
		return p, nil
	}
	p.buckets, err = c.BucketsBetween(how.Unit, from, to)
	return p, err
}

// firstEver is the beginning of "all time", as in PostHog. Devices with a wrong clock send events
// from 1970 or 2000; one such event would add thousands of empty days to a chart.
var firstEver = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)

// DateFrom resolves the start of a range (§3.1.2): 7 days ago by default, and for "all" the first
// event. A relative date is cut to the start of the day or hour, unless the interval is a minute.
func (r *run) DateFrom(d dateRange, i interval) (time.Time, error) {
	c := r.Calendar()
	week := date{Form: relative, Count: 7, Unit: 'd'}
	switch d.From.Form {
	case noDate:
		return c.StartOf(day, c.Resolve(week, r.Now)), nil
	case allTime:
		at, some, err := r.Reader.Earliest(r.Context, firstEver.UnixMicro())
		if err != nil || !some {
			return c.StartOf(day, c.Resolve(week, r.Now)), err
		}
		return time.UnixMicro(at), nil
	case relative:
		t := c.Resolve(d.From, r.Now)
		switch {
		case d.From.Edge != "" || i == minute:
			return t, nil
		case d.From.Unit == 'h':
			return c.StartOf(hour, t), nil
		}
		return c.StartOf(day, t), nil
	}
	return c.Resolve(d.From, r.Now), nil
}

// DateTo resolves the end of a range (§3.1.2): now by default. Unless the dates are explicit, it is
// extended to the end of the day, or for short intervals to the end of the interval.
func (r *run) DateTo(d dateRange, i interval) time.Time {
	c := r.Calendar()
	t := r.Now
	if d.To.Form != noDate {
		t = c.Resolve(d.To, r.Now)
	}
	loose := d.To.Form == noDate || d.To.Form == relative
	switch {
	case d.Explicit:
	case i == hour || i == minute:
		if loose {
			return c.EndOf(i, t)
		}
	default:
		return c.EndOf(day, t)
	}
	return t
}

// PreviousPeriod returns the period with which p is compared (§3.1.4). to is compare_to; if it is a
// relative date, the period is moved back by it, otherwise by the length of p.
func (r *run) PreviousPeriod(p *period, d dateRange, to date) (*period, error) {
	c := r.Calendar()
	// Compute with local times, so that a change of the clock does not shift the period.
	f, t := c.Clock(p.From), c.Clock(p.To)
	length := t.Sub(f)
	var from, until time.Time
	switch edge := edgeUnits[d.From.Unit]; {
	case to.Form == relative:
		from = subtractOnCalendar(f, to)
		until = from.Add(length)
	// "This month" and the like are compared with the whole previous month.
	case d.From.Form == relative && d.From.Edge == "Start" && d.From.Count == 0 && edge != hour && edge != day && d.To.Form == noDate:
		end := p.From
		start := c.StartOf(edge, end.Add(-time.Microsecond))
		return r.newPeriod(p.bucketing, start, end.Add(-time.Microsecond))
	case p.Interval == minute:
		from, until = f.Add(-length), f
	default:
		from = atTimeOf(f.Add(-length), f)
		// A range of whole weeks is compared with the same weekdays.
		if p.Interval == day && isMultipleOfWeeks(d.From) && d.To.Form == noDate {
			from = from.AddDate(0, 0, 1)
		}
		until = from.Add(length)
		if p.Interval == hour {
			until = until.Truncate(time.Hour).Add(t.Sub(t.Truncate(time.Hour)))
		} else {
			until = atTimeOf(until, t)
		}
	}
	return r.newPeriod(p.bucketing, c.Local(from), c.Local(until))
}

// atTimeOf returns the day of d with the time of day of t, both local times.
func atTimeOf(d, t time.Time) time.Time {
	y, m, dd := d.Date()
	return time.Date(y, m, dd, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// isMultipleOfWeeks reports whether a range begins a whole number of weeks ago, counted in days.
// The default, 7 days, is one.
func isMultipleOfWeeks(d date) bool {
	return d.Form == noDate || d.Form == relative && d.Unit == 'd' && d.Edge == "" && d.Count > 0 && d.Count%7 == 0
}
