package trends

import (
	"cmp"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Kinds are the kinds of queries about trends.
var Kinds = []scan.Kind{
	{Name: "TrendsQuery", Parse: parseTrends},
}

// trends is a TrendsQuery (§2.4).
type trends struct {
	series     []Series
	interval   calendar.Interval
	dates      calendar.Range
	conditions filter.AllOf
	// compare requests the previous period as well, or with compareTo another one.
	compare   bool
	compareTo calendar.Date
	breakdown *breakdown.Breakdown
	display   display
	formulas  []formula
	// smoothing is the number of buckets of which each point is the mean; 1: no smoothing.
	smoothing int
}

// parseTrends parses a TrendsQuery.
func parseTrends(n document.Node, p *port.Project) scan.Plan {
	t := &trends{
		interval:   calendar.ReadInterval(n, calendar.Minute, calendar.Hour, calendar.Day, calendar.Week, calendar.Month),
		dates:      calendar.ReadRange(n.Get("dateRange")),
		conditions: filter.ReadAll(n, p),
	}
	entities := filter.ReadEntities(n.Get("series"), p, filter.MaxSeries)
	for i, e := range entities {
		t.series = append(t.series, Series{e, ReadMeasure(n.Get("series").List(filter.MaxSeries)[i], p)})
	}
	n.RejectMembers("conversionGoal")
	n.Get("aggregation_group_type_index").IntInRange(0, scan.MaxGroupTypes-1, 0)
	compare := n.Get("compareFilter").Object()
	t.compare = compare.Get("compare").Boolean() && t.dates.From.Form != calendar.AllTime
	t.compareTo = calendar.ReadRelativeDate(compare.Get("compare_to"))
	filter := n.Get("trendsFilter").Object()
	name := cmp.Or(filter.Get("display").Text("ActionsLineGraph"), "ActionsLineGraph")
	display, ok := Displays[name]
	if !ok {
		filter.Get("display").Fail(document.InvalidChoice, "The display %q is not supported.", wire.Shorten(name, 100))
	}
	if t.display = display; display == total {
		t.interval = calendar.Day
	}
	t.smoothing = int(filter.Get("smoothingIntervals").IntInRange(1, calendar.MaxBuckets, 1))
	t.formulas = readFormulas(filter, len(t.series))
	t.breakdown = breakdown.Read(n.Get("breakdownFilter").Object(), p, filter)
	if t.breakdown != nil && name == worldMap {
		t.breakdown.Limit = 250
	}
	return t
}

// current returns the period of the query.
func (t *trends) current(r *scan.Run) (*scan.Period, error) {
	return r.PeriodOf(t.dates, scan.Bucketing{Unit: t.interval, Single: t.display == total})
}

// currentLabel returns compare_label of the current period.
func (t *trends) currentLabel() string {
	if t.compare {
		return "current"
	}
	return ""
}

// count computes all series in a period.
func (t *trends) count(r *scan.Run, p *scan.Period) ([][]valuePoints, error) {
	out := make([][]valuePoints, len(t.series))
	b := &scan.Binder{Run: r}
	b.From, b.To = p.CountedRange()
	scans := make([]*counting, len(t.series))
	values := t.breakdown.Bind(b)
	common := t.conditions.BindMatcher(b)
	for i := range t.series {
		scans[i] = t.series[i].begin(b, t, p, common, values)
	}
	if b.Err != nil {
		return nil, b.Err
	}
	if p.Len() > 0 {
		if err := t.bins(r, b, scans); err != nil {
			return nil, err
		}
		if err := sweep(r, b, scans); err != nil {
			return nil, err
		}
	}
	for i, c := range scans {
		var err error
		if out[i], err = c.finish(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bins finds the minimum and maximum of each series whose breakdown has numeric bins. That needs a
// scan of its own.
func (t *trends) bins(r *scan.Run, b *scan.Binder, scans []*counting) error {
	if t.breakdown == nil || !t.breakdown.HasBins() {
		return nil
	}
	for _, c := range scans {
		c.measuring = true
	}
	if err := sweep(r, b, scans); err != nil {
		return err
	}
	for _, c := range scans {
		c.measuring = false
		c.makeBins()
	}
	return nil
}

// smooth replaces each point by the mean of itself and up to n-1 points before it, rounded down.
func smooth(points []float64, n int) []float64 {
	if n <= 1 {
		return points
	}
	out := make([]float64, len(points))
	for i := range points {
		from := max(0, i-n+1)
		sum := 0.0
		for _, v := range points[from : i+1] {
			sum += v
		}
		out[i] = floor(sum / float64(i+1-from))
	}
	return out
}
