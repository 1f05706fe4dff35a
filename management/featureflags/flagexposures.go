package featureflags

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Bounds of answers about exposures (console.md N7, N8).
const (
	maxPoints        = 1000
	maxSeries        = 25
	maxPeopleCalls   = 1_000_000
	maxExposureIDs   = 200
	maxExposureDays  = 31
	otherSeries      = "other"
	defaultExposures = 7 * 24 * time.Hour
)

// HourRetention is how long it is known in which hour a flag was answered.
const HourRetention = 92 * 24 * time.Hour

// ExposureQuery asks how often a flag was asked for, over time.
type ExposureQuery struct {
	From, To time.Time // zero: seven days ago, now
	Interval string    // minute, hour, day; empty: day
	Count    string    // calls, people, evaluations; empty: calls
	// CountCalls counts the events by which SDKs tell of calls; nil: it cannot be done.
	CountCalls func(context.Context, CallQuery) (*CallCounts, error)
}

// CallQuery asks for calls, or for the people who made them, from events.
type CallQuery struct {
	Key      string
	Buckets  []time.Time // where they begin, in order
	To       time.Time
	Interval string
	People   bool
}

// CallCounts are calls, or people, by value; a person with two values counts for each.
type CallCounts struct {
	Series []ExposureSeries
	Total  int64
}

// Exposures is how often a flag was asked for, over time.
type Exposures struct {
	Interval string             `json:"interval"`
	Labels   []management.Stamp `json:"labels"` // when each of the data begins
	Series   []ExposureSeries   `json:"series"` // the greatest first
	// Total is null where nobody has counted.
	Total       *int64           `json:"total"`
	FirstCalled management.Stamp `json:"first_called_at"`
	LastCalled  management.Stamp `json:"last_called_at"`
	Last        *lastExposure    `json:"last"`
	Key         string           `json:"-"`
}

// ExposureSeries is one value of a flag; Data and Total are null where people are too
// many to be counted.
type ExposureSeries struct {
	Value string  `json:"value"`
	Data  []int64 `json:"data"`
	Total *int64  `json:"total"`
}

// lastExposure is the last call of a flag.
type lastExposure struct {
	DistinctID string           `json:"distinct_id"`
	Value      any              `json:"value"`
	At         management.Stamp `json:"at"`
}

// SetLast says whose the last call was.
func (e *Exposures) SetLast(call *LastCall) {
	e.Last = &lastExposure{call.DistinctID, call.Value, management.NewStamp(call.At)}
}

// Exposures says how often a flag was asked for.
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
	many := false
	err = s.Env.Store.Read(ctx, func(tx Tx) error {
		f, err := s.loadFlag(tx, scope, id)
		if err == nil {
			err = scope.RequireAccess(management.Viewer, f.accessObject())
		}
		if err != nil {
			return err
		}
		if err := out.setCallTimes(tx, f); err != nil {
			return err
		}
		hours := HoursQuery{Project: scope.Project.ID, Evaluations: q.Count == "evaluations", Keys: []string{f.Key}, From: buckets[0], To: end}
		totals, err := tx.FlagTotals(hours)
		if err != nil {
			return err
		}
		if isHourly {
			return out.addHours(tx, hours, totals, buckets)
		}
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

// isHourly reports whether counts by the hour are the answer, and not events.
func (q *ExposureQuery) isHourly() bool { return q.Interval != "minute" && q.Count != "people" }

// setDefaults fills in what was not said, and cuts the time into points.
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
	case !q.isHourly() && q.Count == "evaluations":
		err = management.Fault("interval", "Evaluations are counted by the hour: choose hour or day.")
	case q.isHourly() && buckets[0].Before(now.Add(-HourRetention-24*time.Hour)):
		err = management.Fault("date_from", "Counts are kept for %d days.", HourRetention/24/time.Hour)
	}
	return buckets, end, err
}

// addCalls fills in what events say.
func (e *Exposures) addCalls(ctx context.Context, q *ExposureQuery, buckets []time.Time, many bool) error {
	switch {
	case many && q.Count == "people":
		return nil
	case many:
		return management.Fault("interval", "There are more than %d calls: choose hour or day.", maxPeopleCalls)
	case q.CountCalls == nil:
		return management.Fault("count", "This server does not ask events: choose calls or evaluations by hour or day.")
	}
	counts, err := q.CountCalls(ctx, CallQuery{e.Key, buckets, q.To, q.Interval, q.Count == "people"})
	if err == nil {
		e.Series, e.Total = counts.Series, &counts.Total
	}
	return err
}

// buckets are where the points begin, in a project's zone, and where the last one ends.
func (q *ExposureQuery) buckets(zone *time.Location) (starts []time.Time, end time.Time, err error) {
	if !q.From.Before(q.To) {
		return nil, end, management.Fault("date_to", "The time ends before it begins.")
	}
	start := q.From.In(zone).Truncate(time.Minute)
	next := func(t time.Time) time.Time { return t.Add(time.Minute) }
	switch year, month, day := start.Date(); q.Interval {
	case "hour":
		start = start.Add(-time.Duration(start.Minute()) * time.Minute)
		next = func(t time.Time) time.Time { return t.Add(time.Hour) }
	case "day":
		start = time.Date(year, month, day, 0, 0, 0, 0, zone)
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

// setCallTimes says when a flag was called first and last.
func (e *Exposures) setCallTimes(tx Tx, f *storedFlag) error {
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

// bucketOf is the point that a time belongs to, -1 for one before all.
func bucketOf(buckets []time.Time, t time.Time) int {
	i, exact := slices.BinarySearchFunc(buckets, t, time.Time.Compare)
	if !exact {
		i--
	}
	return i
}

// addHours fills in what was counted by the hour. An hour belongs to where it begins.
func (e *Exposures) addHours(tx Tx, q HoursQuery, totals map[string]int64, buckets []time.Time) error {
	data := map[string][]int64{}
	gather := func(values []string, into func(h *FlagHour) []int64) error {
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
	if err := gather(names, func(h *FlagHour) []int64 { return data[h.Value] }); err != nil {
		return err
	}
	if len(totals) > len(names) { // all, less those that are shown
		others := make([]int64, len(buckets))
		if err := gather(nil, func(*FlagHour) []int64 { return others }); err != nil {
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

// topValues are the values with most answers, at most maxSeries.
func topValues(totals map[string]int64) []string {
	values := slices.SortedFunc(maps.Keys(totals), func(a, b string) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
	return append([]string{}, values[:min(len(values), maxSeries)]...)
}

func sum(values func(func(int64) bool)) (n int64) {
	for x := range values {
		n += x
	}
	return n
}

// ManyExposures are the calls of flags, by id (console.md N8).
type ManyExposures struct {
	Results map[string]*flagExposures `json:"results"`
}

type flagExposures struct {
	Calls      int64            `json:"calls"`
	Days       []int64          `json:"days"` // today is the last
	LastCalled management.Stamp `json:"last_called_at"`
}

// ExposuresByID counts the calls of some flags over some days. Flags that are not
// there are left out.
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
	q := ExposureQuery{From: now.In(scope.Project.Zone()).AddDate(0, 0, int(1-days)), To: now.Add(1), Interval: "day"}
	buckets, end, err := q.buckets(scope.Project.Zone())
	if err != nil {
		return nil, err
	}
	out := &ManyExposures{map[string]*flagExposures{}}
	return out, s.Env.Store.Read(ctx, func(tx Tx) error {
		byKey, err := out.addFlags(tx, scope, ids, len(buckets))
		if err != nil || len(byKey) == 0 {
			return err
		}
		hours, err := tx.FlagHours(HoursQuery{Project: scope.Project.ID, Keys: slices.Sorted(maps.Keys(byKey)), From: buckets[0], To: end})
		for _, h := range hours {
			if i := bucketOf(buckets, h.At); i >= 0 {
				byKey[h.Flag].Days[i] += h.N
				byKey[h.Flag].Calls += h.N
			}
		}
		return err
	})
}

// addFlags puts those of the flags into the answer that there are, and are shown to the
// caller; they are given by key too.
func (e *ManyExposures) addFlags(tx Tx, scope *management.Scope, ids []int64, days int) (map[string]*flagExposures, error) {
	byKey := map[string]*flagExposures{}
	last, err := tx.LastCalls(scope.Project.ID)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := tx.Definition(FlagDefinition, scope.Project.ID, id)
		if err != nil {
			return nil, err
		}
		if d == nil || d.Deleted {
			continue
		}
		f, err := decodeFlag(scope.Project.ID, d)
		if err != nil {
			return nil, err
		}
		if scope.CanSee(f.accessObject()) {
			byKey[f.Key] = &flagExposures{Days: make([]int64, days), LastCalled: management.NewStamp(last[f.Key])}
			e.Results[strconv.FormatInt(id, 10)] = byKey[f.Key]
		}
	}
	return byKey, nil
}
