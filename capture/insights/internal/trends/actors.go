package trends

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

var _ scan.ActorsPlan = (*trends)(nil)

// ActorFinder finds the actors of one bucket of a series.
func (t *trends) ActorFinder(n document.Node) scan.ActorFinder {
	dayNode := n.Get("day")
	switch {
	case t.display == total && !dayNode.IsAbsent():
		dayNode.Fail(document.InvalidInput, "A single number has no day.")
	case t.display != total && dayNode.IsAbsent():
		dayNode.Fail(document.Required, "Actors of a series over time need a day.")
	}
	when := calendar.ReadDate(dayNode, false)
	series := int(n.Get("series").IntInRange(0, int64(max(0, len(t.series)-1)), 0))
	previous := n.Get("compare").Choice("current", "current", "previous") == "previous"
	texts, anyValue := breakdown.ReadValue(n.Get("breakdown"))
	return func(r *scan.Run) (*scan.ActorSet, error) {
		p, err := t.current(r)
		if err != nil {
			return nil, err
		}
		// A single number has one bucket.
		bucket := 0
		if t.display != total {
			bucket = p.Find(r.Calendar().Resolve(when, r.Now).UnixMicro())
		}
		if previous {
			if p, err = r.PreviousPeriod(p, t.dates, t.compareTo); err != nil {
				return nil, err
			}
		}
		// The day is outside of the range, so there are no actors.
		if bucket < 0 || bucket >= max(1, p.Len()) || p.Len() == 0 {
			return &scan.ActorSet{GroupType: t.series[series].Math.Group}, nil
		}
		return t.collectActors(r, p, series, bucket, texts, anyValue)
	}
}

// collectActors scans the events of one series and returns the actors of a bucket.
func (t *trends) collectActors(r *scan.Run, p *scan.Period, series, bucket int, texts []string, anyValue bool) (*scan.ActorSet, error) {
	b := &scan.Binder{Run: r}
	b.From, b.To = p.CountedRange()
	values, common := t.breakdown.Bind(b), t.conditions.BindMatcher(b)
	// In addition to what the series needs, members have distinct ids and ids of events.
	b.Needs.Columns |= port.DistinctIDs | port.IDs
	c := t.series[series].begin(b, t, p, common, values)
	// The collector replaces the tally of the series. Everything else is as for the result.
	found := &collector{c: c, inner: c.tally, bucket: bucket, found: map[scan.Cell]*scan.Member{}, actor: b.Actor(t.series[series].Math.Group)}
	found.prepare(b, &t.series[series].Math)
	if b.Err != nil {
		return nil, b.Err
	}
	c.use(found)
	if err := t.bins(r, b, []*counting{c}); err != nil {
		return nil, err
	}
	if err := sweep(r, b, []*counting{c}); err != nil {
		return nil, err
	}
	matches, err := t.matchValue(r, p, series, c, texts, anyValue)
	if err != nil {
		return nil, err
	}
	return found.actorSet(r, t.series[series].Math.Group, matches), nil
}

// matchValue returns a function that reports whether the breakdown value with a number is selected
// by texts. The value "other" selects all values that are not among the rows of the result, which
// have to be counted for that.
func (t *trends) matchValue(r *scan.Run, p *scan.Period, series int, c *counting, texts []string, anyValue bool) (func(value int) bool, error) {
	if t.breakdown == nil || anyValue {
		return func(int) bool { return true }, nil
	}
	if t.breakdown.ByCohort {
		return func(v int) bool {
			text := "all"
			if id := t.breakdown.Cohorts[v]; id != 0 {
				text = string(document.Node{Value: json.Number(scan.FormatNumber(float64(id)))}.Raw())
			}
			return text == texts[0] || texts[0] == "0" && text == "all"
		}, nil
	}
	if !slices.Contains(texts, breakdown.OtherValue) {
		return func(v int) bool { return slices.Equal(c.index.Values[v].Texts, texts) }, nil
	}
	// Count the series as for the result, to find the values that have a row of their own.
	all, err := t.count(r, p)
	if err != nil {
		return nil, err
	}
	answer := &trendsAnswer{trends: t, run: r}
	rows := map[string]bool{}
	for _, row := range answer.limitRows(all[series]) {
		rows[strings.Join(row.value.Texts, "\x00")] = true
	}
	return func(v int) bool { return !rows[strings.Join(c.index.Values[v].Texts, "\x00")] }, nil
}

// Options returns the values by which the actors of a trend can be selected (§2.9.4): its series,
// buckets and breakdown values.
func (t *trends) Options(r *scan.Run) (map[string]any, error) {
	p, err := t.current(r)
	if err != nil {
		return nil, err
	}
	// Members that do not apply remain null.
	out := map[string]any{"breakdown": nil, "breakdowns": nil, "compare": nil}
	series := []scan.Option{}
	for i := range t.series {
		series = append(series, scan.Option{Label: t.series[i].Label(r), Value: i})
	}
	out["series"] = series
	if t.display != total {
		days := []scan.Option{}
		for i, label := range p.Labels(p.From, p.To) {
			days = append(days, scan.Option{Label: label, Value: p.Start(i).Format(time.RFC3339)})
		}
		out["day"] = days
	}
	if t.compare {
		out["compare"] = []scan.Option{{Label: "Current", Value: "current"}, {Label: "Previous", Value: "previous"}}
	}
	if t.breakdown == nil {
		return out, nil
	}
	return out, t.valueOptions(r, p, out)
}

// valueOptions adds the breakdown values of the result to out.
func (t *trends) valueOptions(r *scan.Run, p *scan.Period, out map[string]any) error {
	// The values are those of the result, so compute it.
	answer := &trendsAnswer{trends: t, run: r}
	if err := answer.add(p, ""); err != nil {
		return err
	}
	// There is one list of values for each part of the breakdown.
	lists := make([][]scan.Option, max(1, len(t.breakdown.Parts)))
	for _, rows := range answer.periods[0].series {
		for _, row := range rows {
			for i, text := range row.value.Texts {
				o := scan.Option{Label: text, Value: text}
				switch {
				case t.breakdown.ByCohort:
					o = scan.Option{Label: answer.valueLabel(row.value), Value: answer.displayValue(row.value)}
				case text == breakdown.NullValue:
					o.Label = "None (i.e. no value)"
				case text == breakdown.OtherValue:
					o.Label = "Other (i.e. all remaining values)"
				}
				if !slices.Contains(lists[i], o) {
					lists[i] = append(lists[i], o)
				}
			}
		}
	}
	if !t.breakdown.Several {
		out["breakdown"] = lists[0]
		return nil
	}
	several := []map[string]any{}
	for _, list := range lists {
		several = append(several, map[string]any{"values": list})
	}
	out["breakdowns"] = several
	return nil
}
