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
	maxSeriesShown   = 25
	maxPeopleCalls   = 1_000_000
	maxExposureIDs   = 200
	maxExposureDays  = 31
	otherSeries      = "other"
	defaultExposures = 7 * 24 * time.Hour
)

// HoursKept is how long it is known in which hour a flag was answered.
const HoursKept = 92 * 24 * time.Hour

// ExposureQuery asks how often a flag was asked for, over time.
type ExposureQuery struct {
	From, To time.Time // zero: seven days ago, now
	Interval string    // minute, hour, day; empty: day
	Count    string    // calls, people, evaluations; empty: calls
	// Told counts the events by which SDKs tell of calls; nil: it cannot be done.
	Told func(context.Context, ToldQuery) (*Told, error)
}

// ToldQuery asks for calls, or for the people who made them, from events.
type ToldQuery struct {
	Key      string
	Buckets  []time.Time // where they begin, in order
	To       time.Time
	Interval string
	People   bool
}

// Told are calls, or people, by value; a person with two values counts for each.
type Told struct {
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
	e.Last = &lastExposure{call.DistinctID, call.Value, management.At(call.At)}
}

// Exposures says how often a flag was asked for.
func (s Flags) Exposures(ctx context.Context, st *management.Standing, id int64, q ExposureQuery) (*Exposures, error) {
	buckets, end, err := q.complete(s.Desk.Now(), st.Project.Zone())
	if err != nil {
		return nil, err
	}
	counted := q.counted()
	out := &Exposures{Interval: q.Interval, Series: []ExposureSeries{}}
	for _, at := range buckets {
		out.Labels = append(out.Labels, management.At(at))
	}
	many := false
	err = s.Desk.Store.Read(ctx, func(tx Tx) error {
		f, err := s.loadFlag(tx, st, id)
		if err == nil {
			err = st.Needs(management.Viewer, f.thing())
		}
		if err != nil {
			return err
		}
		if err := out.called(tx, f); err != nil {
			return err
		}
		hours := HoursQuery{Project: st.Project.ID, Evaluations: q.Count == "evaluations", Keys: []string{f.Key}, From: buckets[0], To: end}
		totals, err := tx.FlagTotals(hours)
		if err != nil {
			return err
		}
		if counted {
			return out.count(tx, hours, totals, buckets)
		}
		if many = sum(maps.Values(totals)) > maxPeopleCalls; many && q.Count == "people" {
			for _, value := range top(totals) {
				out.Series = append(out.Series, ExposureSeries{Value: value})
			}
		}
		return nil
	})
	if err != nil || counted {
		return out, err
	}
	return out, out.tell(ctx, &q, buckets, many)
}

// counted reports whether counts by the hour are the answer, and not events.
func (q *ExposureQuery) counted() bool { return q.Interval != "minute" && q.Count != "people" }

// complete fills in what was not said, and cuts the time into points.
func (q *ExposureQuery) complete(now time.Time, zone *time.Location) (buckets []time.Time, end time.Time, err error) {
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
	case !q.counted() && q.Count == "evaluations":
		err = management.Fault("interval", "Evaluations are counted by the hour: choose hour or day.")
	case q.counted() && buckets[0].Before(now.Add(-HoursKept-24*time.Hour)):
		err = management.Fault("date_from", "Counts are kept for %d days.", HoursKept/24/time.Hour)
	}
	return buckets, end, err
}

// tell fills in what events say.
func (e *Exposures) tell(ctx context.Context, q *ExposureQuery, buckets []time.Time, many bool) error {
	switch {
	case many && q.Count == "people":
		return nil
	case many:
		return management.Fault("interval", "There are more than %d calls: choose hour or day.", maxPeopleCalls)
	case q.Told == nil:
		return management.Fault("count", "This server does not ask events: choose calls or evaluations by hour or day.")
	}
	told, err := q.Told(ctx, ToldQuery{e.Key, buckets, q.To, q.Interval, q.Count == "people"})
	if err == nil {
		e.Series, e.Total = told.Series, &told.Total
	}
	return err
}

// buckets are where the points begin, in a project's zone, and where the last one ends.
func (q *ExposureQuery) buckets(zone *time.Location) (starts []time.Time, end time.Time, err error) {
	if !q.From.Before(q.To) {
		return nil, end, management.Fault("date_to", "The time ends before it begins.")
	}
	at := q.From.In(zone).Truncate(time.Minute)
	next := func(t time.Time) time.Time { return t.Add(time.Minute) }
	switch year, month, day := at.Date(); q.Interval {
	case "hour":
		at = at.Add(-time.Duration(at.Minute()) * time.Minute)
		next = func(t time.Time) time.Time { return t.Add(time.Hour) }
	case "day":
		at = time.Date(year, month, day, 0, 0, 0, 0, zone)
		next = func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }
	}
	for ; at.Before(q.To); at = next(at) {
		if len(starts) == maxPoints {
			return nil, end, management.Fault("interval", "There are more than %d points: choose a longer interval or a shorter time.", maxPoints)
		}
		starts = append(starts, at)
	}
	return starts, at, nil
}

// called says when a flag was called first and last.
func (e *Exposures) called(tx Tx, f *storedFlag) error {
	e.Key = f.Key
	calls, err := tx.FlagCalls(f.Project, f.Key)
	for _, c := range calls {
		if e.FirstCalled.IsZero() || c.First.Before(e.FirstCalled.Time) {
			e.FirstCalled = management.At(c.First)
		}
		if c.Last.After(e.LastCalled.Time) {
			e.LastCalled = management.At(c.Last)
		}
	}
	return err
}

// bucketOf is the point that a time belongs to, -1 for one before all.
func bucketOf(buckets []time.Time, at time.Time) int {
	i, exact := slices.BinarySearchFunc(buckets, at, time.Time.Compare)
	if !exact {
		i--
	}
	return i
}

// count fills in what was counted by the hour. An hour belongs to where it begins.
func (e *Exposures) count(tx Tx, q HoursQuery, totals map[string]int64, buckets []time.Time) error {
	data := map[string][]int64{}
	gather := func(values []string, into func(h *FlagHour) []int64) error {
		if q.Values = values; values != nil && len(values) == 0 {
			return nil
		}
		hours, err := tx.FlagHours(q)
		for i := range hours {
			if at := bucketOf(buckets, hours[i].At); at >= 0 {
				into(&hours[i])[at] += hours[i].N
			}
		}
		return err
	}
	shown := top(totals)
	for _, value := range shown {
		data[value] = make([]int64, len(buckets))
	}
	if err := gather(shown, func(h *FlagHour) []int64 { return data[h.Value] }); err != nil {
		return err
	}
	if len(totals) > len(shown) { // all, less those that are shown
		others := make([]int64, len(buckets))
		if err := gather(nil, func(*FlagHour) []int64 { return others }); err != nil {
			return err
		}
		for _, value := range shown {
			for i, n := range data[value] {
				others[i] -= n
			}
		}
		shown, data[otherSeries] = append(shown, otherSeries), others
	}
	all := int64(0)
	for _, value := range shown {
		total := sum(slices.Values(data[value]))
		e.Series = append(e.Series, ExposureSeries{value, data[value], &total})
		all += total
	}
	e.Total = &all
	return nil
}

// top are the values with most answers, at most maxSeriesShown.
func top(totals map[string]int64) []string {
	values := slices.SortedFunc(maps.Keys(totals), func(a, b string) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
	return append([]string{}, values[:min(len(values), maxSeriesShown)]...)
}

func sum(of func(func(int64) bool)) (n int64) {
	for x := range of {
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

// ExposuresOf counts the calls of some flags over some days. Flags that are not
// there are left out.
func (s Flags) ExposuresOf(ctx context.Context, st *management.Standing, ids []int64, days int64) (*ManyExposures, error) {
	switch {
	case len(ids) == 0:
		return nil, management.Coded(management.CodeRequired, "ids", "This field is required.")
	case len(ids) > maxExposureIDs:
		return nil, management.Fault("ids", "Give at most %d ids.", maxExposureIDs)
	case days < 1 || days > maxExposureDays:
		return nil, management.Fault("days", "Ensure this value is between 1 and %d.", maxExposureDays)
	}
	now := s.Desk.Now()
	q := ExposureQuery{From: now.In(st.Project.Zone()).AddDate(0, 0, int(1-days)), To: now.Add(1), Interval: "day"}
	buckets, end, err := q.buckets(st.Project.Zone())
	if err != nil {
		return nil, err
	}
	out := &ManyExposures{map[string]*flagExposures{}}
	return out, s.Desk.Store.Read(ctx, func(tx Tx) error {
		byKey, err := out.flags(tx, st, ids, len(buckets))
		if err != nil || len(byKey) == 0 {
			return err
		}
		hours, err := tx.FlagHours(HoursQuery{Project: st.Project.ID, Keys: slices.Sorted(maps.Keys(byKey)), From: buckets[0], To: end})
		for _, h := range hours {
			if i := bucketOf(buckets, h.At); i >= 0 {
				byKey[h.Flag].Days[i] += h.N
				byKey[h.Flag].Calls += h.N
			}
		}
		return err
	})
}

// flags puts those of the flags into the answer that there are, and are shown to the
// caller; they are given by key too.
func (e *ManyExposures) flags(tx Tx, st *management.Standing, ids []int64, days int) (map[string]*flagExposures, error) {
	byKey := map[string]*flagExposures{}
	last, err := tx.LastCalls(st.Project.ID)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := tx.Definition(FlagDefinition, st.Project.ID, id)
		if err != nil {
			return nil, err
		}
		if d == nil || d.Deleted {
			continue
		}
		f, err := decodeFlag(st.Project.ID, d)
		if err != nil {
			return nil, err
		}
		if st.Sees(f.thing()) {
			byKey[f.Key] = &flagExposures{Days: make([]int64, days), LastCalled: management.At(last[f.Key])}
			e.Results[strconv.FormatInt(id, 10)] = byKey[f.Key]
		}
	}
	return byKey, nil
}
