package scan

import (
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
)

// Period is a date range with resolved dates (§3.1.2) and its buckets.
type Period struct {
	From, To time.Time
	// first is the time from which events count (§3.1.3). It may be before from, since the first
	// bucket may begin earlier. Events count up to to, inclusive.
	first time.Time
	Bucketing
	*calendar.Buckets
}

// Bucketing defines how a period is divided.
type Bucketing struct {
	Unit calendar.Interval
	// exact is true if events count from the start of the period instead of that of the first
	// bucket.
	exact bool
	// Single requests one bucket, because the result covers the period as a whole.
	Single bool
}

// CountedRange returns the range of events that count, in microseconds since 1970; both bounds are
// inclusive.
func (p *Period) CountedRange() (from, to int64) { return p.first.UnixMicro(), p.To.UnixMicro() }

// Calendar returns the calendar of the project.
func (r *Run) Calendar() calendar.Calendar {
	return calendar.Calendar{Zone: r.Zone, WeekStart: r.Project.WeekStart}
}

// Period resolves a date range and divides it into intervals.
func (r *Run) Period(d calendar.Range, i calendar.Interval) (*Period, error) {
	return r.PeriodOf(d, Bucketing{Unit: i})
}

// PeriodOf is like period for results that may need a single bucket only. It sets how.exact itself.
func (r *Run) PeriodOf(d calendar.Range, how Bucketing) (*Period, error) {
	i := how.Unit
	from, err := r.DateFrom(d, i)
	if err != nil {
		return nil, err
	}
	how.exact = d.Explicit || d.From.Form == calendar.Relative && (i == calendar.Hour || i == calendar.Minute || i == calendar.Day && d.From.Unit == 'h')
	return r.newPeriod(how, from, r.DateTo(d, i))
}

// newPeriod returns the period between two instants.
func (r *Run) newPeriod(how Bucketing, from, to time.Time) (p *Period, err error) {
	c := r.Calendar()
	p = &Period{From: from, To: to, Bucketing: how, first: from}
	switch {
	case how.exact:
	case how.Unit == calendar.Week:
		p.first = c.StartOf(calendar.Day, from)
	default:
		p.first = c.StartOf(how.Unit, from)
	}
	if how.Single {
		p.Buckets = c.OneBucket(how.Unit, from, to)
		return p, nil
	}
	p.Buckets, err = c.BucketsBetween(how.Unit, from, to)
	return p, err
}

// firstEver is the beginning of "all time", as in PostHog. Devices with a wrong clock send events
// from 1970 or 2000; one such event would add thousands of empty days to a chart.
var firstEver = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)

// DateFrom resolves the start of a range (§3.1.2): 7 days ago by default, and for "all" the first
// event. A relative date is cut to the start of the day or hour, unless the interval is a minute.
func (r *Run) DateFrom(d calendar.Range, i calendar.Interval) (time.Time, error) {
	c := r.Calendar()
	week := calendar.Date{Form: calendar.Relative, Count: 7, Unit: 'd'}
	switch d.From.Form {
	case calendar.NoDate:
		return c.StartOf(calendar.Day, c.Resolve(week, r.Now)), nil
	case calendar.AllTime:
		at, some, err := r.Reader.Earliest(r.Context, firstEver.UnixMicro())
		if err != nil || !some {
			return c.StartOf(calendar.Day, c.Resolve(week, r.Now)), err
		}
		return time.UnixMicro(at), nil
	case calendar.Relative:
		t := c.Resolve(d.From, r.Now)
		switch {
		case d.From.Edge != "" || i == calendar.Minute:
			return t, nil
		case d.From.Unit == 'h':
			return c.StartOf(calendar.Hour, t), nil
		}
		return c.StartOf(calendar.Day, t), nil
	}
	return c.Resolve(d.From, r.Now), nil
}

// DateTo resolves the end of a range (§3.1.2): now by default. Unless the dates are explicit, it is
// extended to the end of the day, or for short intervals to the end of the interval.
func (r *Run) DateTo(d calendar.Range, i calendar.Interval) time.Time {
	c := r.Calendar()
	t := r.Now
	if d.To.Form != calendar.NoDate {
		t = c.Resolve(d.To, r.Now)
	}
	loose := d.To.Form == calendar.NoDate || d.To.Form == calendar.Relative
	switch {
	case d.Explicit:
	case i == calendar.Hour || i == calendar.Minute:
		if loose {
			return c.EndOf(i, t)
		}
	default:
		return c.EndOf(calendar.Day, t)
	}
	return t
}

// PreviousPeriod returns the period with which p is compared (§3.1.4). to is compare_to; if it is a
// relative date, the period is moved back by it, otherwise by the length of p.
func (r *Run) PreviousPeriod(p *Period, d calendar.Range, to calendar.Date) (*Period, error) {
	c := r.Calendar()
	// Compute with local times, so that a change of the clock does not shift the period.
	f, t := c.Clock(p.From), c.Clock(p.To)
	length := t.Sub(f)
	var from, until time.Time
	switch edge := calendar.EdgeUnits[d.From.Unit]; {
	case to.Form == calendar.Relative:
		from = calendar.SubtractOnCalendar(f, to)
		until = from.Add(length)
	// "This month" and the like are compared with the whole previous month.
	case d.From.Form == calendar.Relative && d.From.Edge == "Start" && d.From.Count == 0 && edge != calendar.Hour && edge != calendar.Day && d.To.Form == calendar.NoDate:
		end := p.From
		start := c.StartOf(edge, end.Add(-time.Microsecond))
		return r.newPeriod(p.Bucketing, start, end.Add(-time.Microsecond))
	case p.Interval == calendar.Minute:
		from, until = f.Add(-length), f
	default:
		from = atTimeOf(f.Add(-length), f)
		// A range of whole weeks is compared with the same weekdays.
		if p.Interval == calendar.Day && isMultipleOfWeeks(d.From) && d.To.Form == calendar.NoDate {
			from = from.AddDate(0, 0, 1)
		}
		until = from.Add(length)
		if p.Interval == calendar.Hour {
			until = until.Truncate(time.Hour).Add(t.Sub(t.Truncate(time.Hour)))
		} else {
			until = atTimeOf(until, t)
		}
	}
	return r.newPeriod(p.Bucketing, c.Local(from), c.Local(until))
}

// atTimeOf returns the day of d with the time of day of t, both local times.
func atTimeOf(d, t time.Time) time.Time {
	y, m, dd := d.Date()
	return time.Date(y, m, dd, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// isMultipleOfWeeks reports whether a range begins a whole number of weeks ago, counted in days.
// The default, 7 days, is one.
func isMultipleOfWeeks(d calendar.Date) bool {
	return d.Form == calendar.NoDate || d.Form == calendar.Relative && d.Unit == 'd' && d.Edge == "" && d.Count > 0 && d.Count%7 == 0
}
