package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/flags/wire"
)

var _ scan.ActorsPlan = (*lifecycle)(nil)

// ActorFinder finds the persons with a status in a bucket.
func (l *lifecycle) ActorFinder(n document.Node) scan.ActorFinder {
	status := slices.Index(lifecycleStatuses, n.Get("status").Choice("new", lifecycleStatuses...))
	if n.Get("day").IsAbsent() {
		n.Get("day").Fail(document.Required, "Actors of a LifecycleQuery need a day.")
	}
	when := calendar.ReadDate(n.Get("day"), false)
	return func(r *scan.Run) (*scan.ActorSet, error) {
		p, err := r.Period(l.dates, l.interval)
		if err != nil {
			return nil, err
		}
		stays, err := l.stays(r, p)
		if err != nil {
			return nil, err
		}
		bucket := p.Find(r.Calendar().Resolve(when, r.Now).UnixMicro())
		out := &scan.ActorSet{GroupType: -1}
		for _, s := range stays {
			if s.bucket == bucket && s.status == status {
				out.Members = append(out.Members, scan.Member{Person: r.PersonID(s.person)})
			}
		}
		return out, nil
	}
}

var _ scan.ActorsPlan = (*stickiness)(nil)

// ActorFinder finds the actors that are active in a number of intervals: exactly, at least or at
// most as many.
func (s *stickiness) ActorFinder(n document.Node) scan.ActorFinder {
	days := n.Get("day").IntInRange(1, calendar.MaxBuckets, 1)
	series := int(n.Get("series").IntInRange(0, int64(max(0, len(s.series)-1)), 0))
	// In a cumulative result, a column includes all larger numbers of intervals.
	fallback := "exact"
	if s.cumulative {
		fallback = "gte"
	}
	operator := n.Get("operator").Choice(fallback, "exact", "gte", "lte")
	attr := fmt.Sprintf("%s__series__%d__math_hogql", n.Get("source").Attr, series)
	return func(r *scan.Run) (*scan.ActorSet, error) {
		p, err := r.Period(s.dates, s.interval)
		if err != nil {
			return nil, err
		}
		active, keys, err := s.activeIn(&scan.Binder{Run: r}, p, series)
		if err != nil {
			return nil, err
		}
		out := &scan.ActorSet{GroupType: s.series[series].Math.Group}
		for who, n := range active {
			// Skip the actor unless the number is equal, or the operator permits a larger or
			// smaller number.
			if n := int64(n); n != days && (operator != "gte" || n < days) && (operator != "lte" || n > days) {
				continue
			}
			m := scan.Member{}
			switch {
			case keys == nil:
				m.Person = r.PersonID(who)
			case out.GroupType >= 0:
				m.Group = keys.All[who]
			default: // the value of an expression
				id, ok := wire.ParseUUID(keys.All[who])
				if !ok {
					return nil, document.NewFault(document.NotSupported, attr, "Actors of a series whose math is an expression are only available if the expression is a person id, such as person_id, not %s.", document.Describe(keys.All[who]))
				}
				m.Person = id
			}
			out.Members = append(out.Members, m)
		}
		return out, nil
	}
}

// Options returns the buckets and statuses of a lifecycle.
func (l *lifecycle) Options(r *scan.Run) (map[string]any, error) {
	p, err := r.Period(l.dates, l.interval)
	if err != nil {
		return nil, err
	}
	days, statuses := []scan.Option{}, []scan.Option{}
	for i, label := range p.Labels(p.From, p.To) {
		days = append(days, scan.Option{Label: label, Value: p.Start(i).Format(time.RFC3339)})
	}
	for _, s := range lifecycleStatuses {
		statuses = append(statuses, scan.Option{Label: strings.ToUpper(s[:1]) + s[1:], Value: s})
	}
	return map[string]any{"day": days, "status": statuses}, nil
}

// Options returns the numbers of intervals and the series of stickiness.
func (s *stickiness) Options(r *scan.Run) (map[string]any, error) {
	p, err := r.Period(s.dates, s.interval)
	if err != nil {
		return nil, err
	}
	days, series := []scan.Option{}, []scan.Option{}
	// A row without actors has the labels.
	row := s.row(r, p, 0, nil)
	for i, label := range row.Labels {
		days = append(days, scan.Option{Label: label, Value: i + 1})
	}
	for i := range s.series {
		series = append(series, scan.Option{Label: s.series[i].Label(r), Value: i})
	}
	return map[string]any{"day": days, "series": series}, nil
}
