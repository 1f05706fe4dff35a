package trends

import (
	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// display is the form of a series' result.
type display uint8

// The forms of results.
const (
	timeSeries display = iota // a number for each bucket
	cumulative                // the sums up to each bucket
	total                     // one number
)

// Displays are the values of the member display.
var Displays = map[string]display{
	"ActionsLineGraph": timeSeries, "ActionsAreaGraph": timeSeries, "ActionsBar": timeSeries,
	"ActionsUnstackedBar": timeSeries, "ActionsStackedBar": timeSeries, "Auto": timeSeries,
	"ActionsLineGraphCumulative": cumulative,
	"BoldNumber":                 total, "ActionsPie": total, "ActionsBarValue": total, "ActionsTable": total, "WorldMap": total, "Progress": total,
}

// worldMap is the display that lists up to 250 countries.
const worldMap = "WorldMap"

// counting computes one series in one period.
type counting struct {
	*scan.Run
	series    *Series
	display   display
	period    *scan.Period
	from, to  int64 // range of the events that are read
	since     int64 // start of the events that count
	matcher   *filter.Matcher
	common    *filter.Matcher // of all series
	values    *breakdown.ValueReader
	binOf     []breakdown.Bins // by part of the breakdown
	ranges    []breakdown.Span // of the numbers, by part of the breakdown
	measuring bool             // the current scan finds the ranges
	rows      []int32          // reusable memory
	index     breakdown.ValueIndex
	tally     tally
	first     firstTally // tally, if it is a firstTally
}

// valuePoints are the results of a series for one breakdown value.
type valuePoints struct {
	value  breakdown.Value
	points []float64
}

// use sets the tally.
func (c *counting) use(t tally) {
	c.tally = t
	c.first, _ = t.(firstTally)
}

// see counts an event.
func (c *counting) see(w *scan.Row) error {
	if !c.matcher.MatchesName(w.Batch, w.Index) {
		return nil
	}
	if c.first != nil { // needs events that do not satisfy the conditions
		return c.first.seeFirst(w, func() bool { return c.passes(w) })
	}
	if !c.passes(w) {
		return nil
	}
	if c.measuring {
		c.measure(w)
		return nil
	}
	bucket := c.bucketOf(w)
	if c.values == nil {
		return c.tally.add(w, 0, bucket)
	}
	return c.eachValue(w, func(value int) error { return c.tally.add(w, value, bucket) })
}

// passes reports whether an event satisfies all conditions.
func (c *counting) passes(w *scan.Row) bool {
	return c.matcher.MatchesConditions(w) && c.common.MatchesConditions(w)
}

// bucketOf returns the bucket of an event; displays with a single number have one bucket.
func (c *counting) bucketOf(w *scan.Row) int {
	if c.display == total {
		return 0
	}
	// Events before the first bucket are read only to fill a window; they have the bucket -1.
	return c.period.Find(w.Batch.Time[w.Index])
}

// eachValue calls do with the number of each breakdown value of an event.
func (c *counting) eachValue(w *scan.Row, do func(value int) error) error {
	if c.values == nil {
		return do(0)
	}
	for _, v := range c.values.ValueKeys(w, c.binOf) {
		before := len(c.index.Values)
		i, err := c.index.IndexOf(v)
		if err == nil && len(c.index.Values) > before {
			err = c.checkSize(len(c.index.Values))
		}
		if err != nil {
			return err
		}
		if w.Batch.Time[w.Index] >= c.since {
			c.index.InRange[i] = true
		}
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// buckets returns how many numbers a row of the result has.
func (c *counting) buckets() int {
	if c.display == total {
		return 1
	}
	return c.period.Len()
}

// checkSize returns an error if there are more breakdown values than a result may have cells.
func (c *counting) checkSize(values int) error {
	if values*c.buckets() > scan.MaxCells {
		return scan.TooManyCells()
	}
	return nil
}

// finish returns the results for each breakdown value, in no particular order.
func (c *counting) finish() ([]valuePoints, error) {
	n := 1
	if c.values != nil {
		n = len(c.index.Values)
	}
	err := c.checkSize(n)
	if err == nil {
		err = c.Reserve(int64(n) * (8*int64(c.buckets()) + 96))
	}
	if err != nil {
		return nil, err
	}
	points, err := c.tally.points(n)
	if err != nil {
		return nil, err
	}
	out := make([]valuePoints, 0, n)
	for i, points := range points {
		row := valuePoints{points: points}
		if c.values != nil {
			if row.value = c.index.Values[i]; !c.isVisible(i, points) {
				continue
			}
		}
		if c.display == cumulative && !c.series.Math.isCountedOnce() {
			sumUp(points)
		}
		out = append(out, row)
	}
	return out, nil
}

// isVisible reports whether the result has a row for a breakdown value: it needs an event in the
// range, and for first-time maths an actor.
func (c *counting) isVisible(value int, points []float64) bool {
	if value < len(c.values.Always) {
		return true
	}
	_, first := c.tally.(*firstTime)
	return c.index.InRange[value] && (!first || scan.Sum(points) > 0)
}

// sumUp makes points cumulative.
func sumUp(points []float64) {
	for i := 1; i < len(points); i++ {
		points[i] += points[i-1]
	}
}

// tally aggregates the events of a series by breakdown value and bucket.
type tally interface {
	// add adds an event. value is the number of the breakdown value; bucket is -1 for an event
	// outside of the buckets.
	add(w *scan.Row, value, bucket int) error
	// points returns the results: for each of the values, a number for each bucket.
	points(values int) ([][]float64, error)
}

// firstTally is implemented by tallies that need all events of the series' name, before the
// conditions are evaluated. passes evaluates the conditions.
type firstTally interface {
	seeFirst(w *scan.Row, passes func() bool) error
}

// measure extends the ranges of the binned properties by an event. Ranges are found in a scan
// before the one that counts.
func (c *counting) measure(w *scan.Row) {
	if c.ranges == nil {
		c.ranges = make([]breakdown.Span, len(c.values.Parts))
	}
	for i, value := range c.values.Parts {
		if f, ok := document.NumberOf(value(w)); ok {
			s := &c.ranges[i]
			if !s.IsSet {
				*s = breakdown.Span{IsSet: true, Min: f, Max: f}
			}
			s.Min, s.Max = min(s.Min, f), max(s.Max, f)
		}
	}
}

// makeBins divides the ranges into bins of equal width. The last bin is 0.01 wider, so that it
// includes the maximum.
func (c *counting) makeBins() {
	c.binOf = make([]breakdown.Bins, len(c.values.Parts))
	for i, s := range c.ranges {
		n := c.values.Breakdown.Parts[i].Bins
		if !s.IsSet || n == 0 {
			continue
		}
		width := (s.Max - s.Min) / float64(n)
		b := &c.binOf[i]
		for k := range n + 1 {
			b.Edges = append(b.Edges, s.Min+float64(k)*width)
		}
		b.Edges[n] = s.Max + 0.01
		for k := range n {
			b.Texts = append(b.Texts, "["+scan.FormatNumber(b.Edges[k])+","+scan.FormatNumber(b.Edges[k+1])+"]")
		}
	}
}
