package featureflags

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Limits of responses about exposures (console.md N7, N8).
const (
	maxPoints        = 1000      // points in time of one response
	maxSeries        = 25        // values of one response; all further values are summed up as otherSeries
	maxPeopleCalls   = 1_000_000 // calls up to which events are counted by person or by minute
	maxExposureIDs   = 200       // flags of one ExposuresByID call
	maxExposureDays  = 31        // days of one ExposuresByID call
	otherSeries      = "other"
	defaultExposures = 7 * 24 * time.Hour
)

// HourRetention is how long the hourly counts of flag evaluations are stored.
const HourRetention = 92 * 24 * time.Hour

// ExposureQuery requests the number of calls of a flag over time.
type ExposureQuery struct {
	From, To time.Time // default: the last seven days
	Interval string    // minute, hour or day (the default)
	Count    string    // calls (the default), people or evaluations
	// CountCalls counts exposure events. If nil, queries that need events are not supported.
	CountCalls func(context.Context, CallQuery) (*CallCounts, error)
}

// CallQuery requests the number of calls, or of the persons who made them, from events.
type CallQuery struct {
	Key      string
	Buckets  []time.Time // start times, ascending
	To       time.Time
	Interval string
	People   bool
}

// CallCounts are numbers of calls, or of persons, by value. A person with two values counts in
// both series.
type CallCounts struct {
	Series []ExposureSeries
	Total  int64
}

// Exposures is the number of calls of a flag over time.
type Exposures struct {
	Interval string             `json:"interval"`
	Labels   []management.Stamp `json:"labels"` // start times of the data points
	Series   []ExposureSeries   `json:"series"` // largest first
	// Total is null if the calls were not counted.
	Total       *int64           `json:"total"`
	FirstCalled management.Stamp `json:"first_called_at"`
	LastCalled  management.Stamp `json:"last_called_at"`
	Last        *lastExposure    `json:"last"`
	Key         string           `json:"-"`
}

// ExposureSeries is the data of one value of a flag. Data and Total are null if there are too
// many calls to count persons.
type ExposureSeries struct {
	Value string  `json:"value"`
	Data  []int64 `json:"data"`
	Total *int64  `json:"total"`
}

// lastExposure is the most recent call of a flag.
type lastExposure struct {
	DistinctID string           `json:"distinct_id"`
	Value      any              `json:"value"`
	At         management.Stamp `json:"at"`
}

// SetLast sets the most recent call.
func (e *Exposures) SetLast(call *LastCall) {
	e.Last = &lastExposure{call.DistinctID, call.Value, management.NewStamp(call.At)}
}

// Exposures returns the number of calls of a flag over time. Calls and evaluations by hour or day
// come from hourly counters; people and data by minute are counted from events with q.CountCalls.
func (s Flags) Exposures(ctx context.Context, scope *management.Scope, id int64, q ExposureQuery) (*Exposures, error) {
	buckets, end, err := q.setDefaults(s.Env.Now(), scope.Project.Zone())
	if err != nil {
		return nil, err
	}
	isHourly := q.isHourly()
	out := &Exposures{Interval: q.Interval, Series: []ExposureSeries{}}
	for _, start := range buckets {
		out.Labels = append(out.Labels, management.NewStamp(start))
	}
	// many is true if there are too many calls to read their events.
	many := false
	err = s.Env.Store.Read(ctx, func(tx storeTx) error {
		f, err := s.stored.Load(tx, scope, id)
		if err == nil {
			err = scope.RequireAccess(management.Viewer, f.AccessObject())
		}
		if err != nil {
			return err
		}
		if err := out.setCallTimes(tx, f); err != nil {
			return err
		}
		// To is rounded up: where the offset of the time zone is not a whole hour, the last point also
		// contains the beginning of an hour that ends after it.
		hours := management.HoursQuery{Project: scope.Project.ID, Evaluations: q.Count == "evaluations", Keys: []string{f.Key}, From: buckets[0], To: end.Add(time.Hour - 1)}
		if isHourly { // an hour that begins before the first point is not part of it
			hours.From = hours.From.Add(time.Hour - 1).Truncate(time.Hour)
		}
		totals, err := tx.FlagTotals(hours)
		if err != nil {
			return err
		}
		if isHourly {
			return out.addHours(tx, hours, totals, buckets)
		}
		// The hourly totals are the number of events, without reading the events.
		if many = sum(maps.Values(totals)) > maxPeopleCalls; many && q.Count == "people" {
			for _, value := range topValues(totals) {
				out.Series = append(out.Series, ExposureSeries{Value: value})
			}
		}
		return nil
	})
	if err != nil || isHourly {
		return out, err
	}
	return out, out.addCalls(ctx, &q, buckets, many)
}

// isHourly reports whether the query is answered from hourly counters rather than from events.
func (q *ExposureQuery) isHourly() bool { return q.Interval != "minute" && q.Count != "people" }

// setDefaults fills in default values, validates the query, and returns its buckets and their
// end.
func (q *ExposureQuery) setDefaults(now time.Time, zone *time.Location) (buckets []time.Time, end time.Time, err error) {
	if q.To.IsZero() {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-defaultExposures)
	}
	q.Interval, q.Count = cmp.Or(q.Interval, "day"), cmp.Or(q.Count, "calls")
	buckets, end, err = q.buckets(zone)
	switch {
	case err != nil:
	// Evaluations cause no events, so they cannot be counted by minute.
	case !q.isHourly() && q.Count == "evaluations":
		err = management.Fault("interval", "Evaluations are counted by the hour: choose hour or day.")
	// A day of tolerance: the first bucket may begin a day before the requested time.
	case q.isHourly() && buckets[0].Before(now.Add(-HourRetention-24*time.Hour)):
		err = management.Fault("date_from", "Counts are kept for %d days.", HourRetention/24/time.Hour)
	}
	return buckets, end, err
}

// addCalls adds the counts of events. many is true if there are more than maxPeopleCalls calls:
// then the series for people remain without data, and any other query is an error.
func (e *Exposures) addCalls(ctx context.Context, q *ExposureQuery, buckets []time.Time, many bool) error {
	switch {
	// Exposures has added the series without data.
	case many && q.Count == "people":
		return nil
	case many:
		return management.Fault("interval", "There are more than %d calls: choose hour or day.", maxPeopleCalls)
	case q.CountCalls == nil:
		return management.Fault("count", "This server does not query events: choose calls or evaluations by hour or day.")
	}
	counts, err := q.CountCalls(ctx, CallQuery{e.Key, buckets, q.To, q.Interval, q.Count == "people"})
	if err == nil {
		e.Series, e.Total = counts.Series, &counts.Total
	}
	return err
}

// buckets returns the start times of the data points, in the project's time zone, and the end of
// the last one.
func (q *ExposureQuery) buckets(zone *time.Location) (starts []time.Time, end time.Time, err error) {
	if !q.From.Before(q.To) {
		return nil, end, management.Fault("date_to", "The end of the period must be after its start.")
	}
	// Data points begin at full minutes, hours or days.
	start := q.From.In(zone).Truncate(time.Minute)
	next := func(t time.Time) time.Time { return t.Add(time.Minute) }
	switch year, month, day := start.Date(); q.Interval {
	case "hour":
		// Truncate would use hours in UTC, but the offset of some time zones is not a whole hour.
		start = start.Add(-time.Duration(start.Minute()) * time.Minute)
		next = func(t time.Time) time.Time { return t.Add(time.Hour) }
	case "day":
		start = time.Date(year, month, day, 0, 0, 0, 0, zone)
		// AddDate and not 24 hours, because of daylight saving time.
		next = func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }
	}
	for ; start.Before(q.To); start = next(start) {
		if len(starts) == maxPoints {
			return nil, end, management.Fault("interval", "There are more than %d points: choose a longer interval or a shorter time.", maxPoints)
		}
		starts = append(starts, start)
	}
	return starts, start, nil
}

// setCallTimes sets the times of the first and the last call of a flag, of all values and
// regardless of the requested period.
func (e *Exposures) setCallTimes(tx storeTx, f *storedflags.Flag) error {
	e.Key = f.Key
	calls, err := tx.FlagCalls(f.Project, f.Key)
	for _, c := range calls {
		if e.FirstCalled.IsZero() || c.First.Before(e.FirstCalled.Time) {
			e.FirstCalled = management.NewStamp(c.First)
		}
		if c.Last.After(e.LastCalled.Time) {
			e.LastCalled = management.NewStamp(c.Last)
		}
	}
	return err
}

// bucketOf returns the index of the bucket that contains a time, or -1 if t is before all
// buckets.
func bucketOf(buckets []time.Time, t time.Time) int {
	i, exact := slices.BinarySearchFunc(buckets, t, time.Time.Compare)
	if !exact {
		i--
	}
	return i
}

// addHours adds the hourly counts to the buckets that contain the beginning of each hour. The
// largest maxSeries values have their own series; the remaining ones are summed up as
// otherSeries.
func (e *Exposures) addHours(tx storeTx, q management.HoursQuery, totals map[string]int64, buckets []time.Time) error {
	data := map[string][]int64{}
	// gather adds the hourly counts of some values, or of all if values is nil, to the data
	// points.
	gather := func(values []string, into func(h *management.FlagHour) []int64) error {
		// An empty list would match all values in the store.
		if q.Values = values; values != nil && len(values) == 0 {
			return nil
		}
		hours, err := tx.FlagHours(q)
		for i := range hours {
			if bucket := bucketOf(buckets, hours[i].At); bucket >= 0 {
				into(&hours[i])[bucket] += hours[i].N
			}
		}
		return err
	}
	names := topValues(totals)
	for _, value := range names {
		data[value] = make([]int64, len(buckets))
	}
	if err := gather(names, func(h *management.FlagHour) []int64 { return data[h.Value] }); err != nil {
		return err
	}
	if len(totals) > len(names) { // the remainder is the total minus the listed series
		others := make([]int64, len(buckets))
		if err := gather(nil, func(*management.FlagHour) []int64 { return others }); err != nil {
			return err
		}
		for _, value := range names {
			for i, n := range data[value] {
				others[i] -= n
			}
		}
		names, data[otherSeries] = append(names, otherSeries), others
	}
	all := int64(0)
	for _, value := range names {
		total := sum(slices.Values(data[value]))
		e.Series = append(e.Series, ExposureSeries{value, data[value], &total})
		all += total
	}
	e.Total = &all
	return nil
}

// topValues returns the values with the largest totals, at most maxSeries. If there are more, a
// variant with the name otherSeries is one of the rest. The result is never nil, because a nil list
// of values would match all values in the store.
func topValues(totals map[string]int64) []string {
	if len(totals) > maxSeries {
		totals = maps.Clone(totals)
		delete(totals, otherSeries)
	}
	values := slices.SortedFunc(maps.Keys(totals), func(a, b string) int {
		// Equal totals are sorted by value, so that the result is deterministic.
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
	return append([]string{}, values[:min(len(values), maxSeries)]...)
}

// sum returns the sum of a sequence.
func sum(values func(func(int64) bool)) (n int64) {
	for x := range values {
		n += x
	}
	return n
}

// ManyExposures are the numbers of calls of several flags, by id (console.md N8).
type ManyExposures struct {
	Results map[string]*flagExposures `json:"results"`
}

// flagExposures are the numbers of calls of one flag.
type flagExposures struct {
	Calls      int64            `json:"calls"`
	Days       []int64          `json:"days"` // oldest first; today is the last
	LastCalled management.Stamp `json:"last_called_at"`
}

// ExposuresByID returns the numbers of calls of several flags over the last days, including
// today. ids must contain 1 to 200 ids, and days must be from 1 to 31. Flags that do not exist or
// that the caller may not see are left out.
func (s Flags) ExposuresByID(ctx context.Context, scope *management.Scope, ids []int64, days int64) (*ManyExposures, error) {
	switch {
	case len(ids) == 0:
		return nil, management.CodedFault(management.CodeRequired, "ids", "This field is required.")
	case len(ids) > maxExposureIDs:
		return nil, management.Fault("ids", "Give at most %d ids.", maxExposureIDs)
	case days < 1 || days > maxExposureDays:
		return nil, management.Fault("days", "Ensure this value is between 1 and %d.", maxExposureDays)
	}
	now := s.Env.Now()
	// The extra nanosecond keeps From before To if days is 1.
	q := ExposureQuery{From: now.In(scope.Project.Zone()).AddDate(0, 0, int(1-days)), To: now.Add(1), Interval: "day"}
	buckets, end, err := q.buckets(scope.Project.Zone())
	if err != nil {
		return nil, err
	}
	out := &ManyExposures{map[string]*flagExposures{}}
	return out, s.Env.Store.Read(ctx, func(tx storeTx) error {
		byKey, err := out.addFlags(tx, scope, ids, len(buckets))
		if err != nil || len(byKey) == 0 {
			return err
		}
		// A single query reads the counts of all flags.
		hours, err := tx.FlagHours(management.HoursQuery{Project: scope.Project.ID, Keys: slices.Sorted(maps.Keys(byKey)), From: buckets[0], To: end})
		for _, h := range hours {
			if i := bucketOf(buckets, h.At); i >= 0 {
				byKey[h.Flag].Days[i] += h.N
				byKey[h.Flag].Calls += h.N
			}
		}
		return err
	})
}

// addFlags adds an entry for each flag that exists and that the caller may see, and returns these
// entries by key.
func (e *ManyExposures) addFlags(tx storeTx, scope *management.Scope, ids []int64, days int) (map[string]*flagExposures, error) {
	byKey := map[string]*flagExposures{}
	last, err := tx.LastCalls(scope.Project.ID)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := tx.Definition(management.FlagDefinition, scope.Project.ID, id)
		if err != nil {
			return nil, err
		}
		if d == nil || d.Deleted {
			continue
		}
		f, err := storedflags.Decode(scope.Project.ID, d)
		if err != nil {
			return nil, err
		}
		if scope.CanSee(f.AccessObject()) {
			byKey[f.Key] = &flagExposures{Days: make([]int64, days), LastCalled: management.NewStamp(last[f.Key])}
			e.Results[strconv.FormatInt(id, 10)] = byKey[f.Key]
		}
	}
	return byKey, nil
}
