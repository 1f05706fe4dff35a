package insights

import (
	"cmp"

	"github.com/bunting-flags/bunting/flags/wire"
)

// trendsKinds are the kinds of queries about trends.
var trendsKinds = []kind{
	{name: "TrendsQuery", parse: parseTrends},
}

// trends is a TrendsQuery (§2.4).
type trends struct {
	series     []measuredSeries
	interval   interval
	dates      dateRange
	conditions allOf
	// compare requests the previous period as well, or with compareTo another one.
	compare   bool
	compareTo date
	breakdown *breakdown
	display   display
	formulas  []formula
	// smoothing is the number of buckets of which each point is the mean; 1: no smoothing.
	smoothing int
}

// measuredSeries is a series and what is computed from its events.
type measuredSeries struct {
	entity
	math measure
}

// display is the form of a series' result.
type display uint8

// The forms of results.
const (
	timeSeries display = iota // a number for each bucket
	cumulative                // the sums up to each bucket
	total                     // one number
)

// displays are the values of the member display.
var displays = map[string]display{
	"ActionsLineGraph": timeSeries, "ActionsAreaGraph": timeSeries, "ActionsBar": timeSeries,
	"ActionsUnstackedBar": timeSeries, "ActionsStackedBar": timeSeries, "Auto": timeSeries,
	"ActionsLineGraphCumulative": cumulative,
	"BoldNumber":                 total, "ActionsPie": total, "ActionsBarValue": total, "ActionsTable": total, "WorldMap": total, "Progress": total,
}

// worldMap is the display that lists up to 250 countries.
const worldMap = "WorldMap"

// parseTrends parses a TrendsQuery.
func parseTrends(n node, p *Project) plan {
	t := &trends{
		interval:   readInterval(n, minute, hour, day, week, month),
		dates:      readDateRange(n.get("dateRange")),
		conditions: queryConditions(n, p),
	}
	entities := readEntities(n.get("series"), p, maxSeries)
	for i, e := range entities {
		t.series = append(t.series, measuredSeries{e, readMeasure(n.get("series").list(maxSeries)[i], p)})
	}
	n.rejectMembers("conversionGoal")
	n.get("aggregation_group_type_index").intInRange(0, maxGroupTypes-1, 0)
	compare := n.get("compareFilter").object()
	t.compare = compare.get("compare").boolean() && t.dates.from.form != allTime
	t.compareTo = readRelativeDate(compare.get("compare_to"))
	filter := n.get("trendsFilter").object()
	name := cmp.Or(filter.get("display").text("ActionsLineGraph"), "ActionsLineGraph")
	display, ok := displays[name]
	if !ok {
		filter.get("display").fail(invalidChoice, "The display %q is not supported.", wire.Shorten(name, 100))
	}
	if t.display = display; display == total {
		t.interval = day
	}
	t.smoothing = int(filter.get("smoothingIntervals").intInRange(1, maxBuckets, 1))
	t.formulas = readFormulas(filter, len(t.series))
	t.breakdown = readBreakdown(n.get("breakdownFilter").object(), p, filter)
	if t.breakdown != nil && name == worldMap {
		t.breakdown.limit = 250
	}
	return t
}

// readInterval parses the member interval: one of the allowed intervals, by default day.
func readInterval(n node, allowed ...interval) interval {
	names := make([]string, len(allowed))
	for i, name := range allowed {
		names[i] = string(name)
	}
	return interval(n.get("interval").choice(string(day), names...))
}

// readRelativeDate returns a relative date; one with the form noDate if the node is absent.
func readRelativeDate(n node) date {
	d := readDate(n, false)
	if d.form != noDate && d.form != relative {
		n.fail(invalidInput, "%s is not a relative date such as -1m.", describe(n.value))
	}
	return d
}

// run computes the period, and the previous one if they are compared.
func (t *trends) run(r *run) (*Result, error) {
	current, err := t.current(r)
	if err != nil {
		return nil, err
	}
	answer := &trendsAnswer{trends: t, run: r}
	if err := answer.add(current, t.currentLabel()); err != nil {
		return nil, err
	}
	if t.compare {
		before, err := r.previousPeriod(current, t.dates, t.compareTo)
		if err != nil {
			return nil, err
		}
		if err := answer.add(before, "previous"); err != nil {
			return nil, err
		}
	}
	if len(t.formulas) > 0 {
		if err := answer.applyFormulas(); err != nil {
			return nil, err
		}
	}
	result := &Result{Results: answer.rows(), From: current.from, To: current.to}
	if t.breakdown != nil {
		result.HasMore = &answer.more
	}
	return result, nil
}

// current returns the period of the query.
func (t *trends) current(r *run) (*period, error) {
	return r.periodOf(t.dates, bucketing{unit: t.interval, single: t.display == total})
}

// currentLabel returns compare_label of the current period.
func (t *trends) currentLabel() string {
	if t.compare {
		return "current"
	}
	return ""
}

// count computes all series in a period.
func (t *trends) count(r *run, p *period) ([][]valuePoints, error) {
	out := make([][]valuePoints, len(t.series))
	b := &binder{run: r}
	b.from, b.to = p.countedRange()
	scans := make([]*counting, len(t.series))
	values := t.breakdown.bind(b)
	common := t.conditions.bindOrNil(b)
	for i := range t.series {
		scans[i] = t.series[i].begin(b, t, p, common, values)
	}
	if b.err != nil {
		return nil, b.err
	}
	if p.len() > 0 {
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
func (t *trends) bins(r *run, b *binder, scans []*counting) error {
	if t.breakdown == nil || !t.breakdown.hasBins() {
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

// counting computes one series in one period.
type counting struct {
	*run
	series    *measuredSeries
	display   display
	period    *period
	from, to  int64 // range of the events that are read
	since     int64 // start of the events that count
	matcher   *matcher
	common    func(*row) bool
	values    *valueReader
	binOf     []bins // by part of the breakdown
	ranges    []span // of the numbers, by part of the breakdown
	measuring bool   // the current scan finds the ranges
	index     valueIndex
	tally     tally
	first     firstTally // tally, if it is a firstTally
}

// valuePoints are the results of a series for one breakdown value.
type valuePoints struct {
	value  breakdownValue
	points []float64
}

// begin returns the counting of a series, ready to scan.
func (m *measuredSeries) begin(b *binder, t *trends, p *period, common func(*row) bool, values *valueReader) *counting {
	c := &counting{run: b.run, series: m, display: t.display, period: p, matcher: m.bind(b), common: common, values: values}
	c.from, c.to = p.countedRange()
	c.since = c.from
	c.index.limit = maxBreakdownValues
	c.index.reserve = b.reserve
	if values != nil {
		c.index.addAll(values.always)
	}
	c.use(m.math.begin(b, c))
	return c
}

// use sets the tally.
func (c *counting) use(t tally) {
	c.tally = t
	c.first, _ = t.(firstTally)
}

// see counts an event.
func (c *counting) see(w *row) error {
	if !c.matcher.matchesName(w.b, w.i) {
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
func (c *counting) passes(w *row) bool {
	return c.matcher.matchesConditions(w) && (c.common == nil || c.common(w))
}

// bucketOf returns the bucket of an event; displays with a single number have one bucket.
func (c *counting) bucketOf(w *row) int {
	if c.display == total {
		return 0
	}
	// Events before the first bucket are read only to fill a window; they have the bucket -1.
	return c.period.find(w.b.Time[w.i])
}

// eachValue calls do with the number of each breakdown value of an event.
func (c *counting) eachValue(w *row, do func(value int) error) error {
	if c.values == nil {
		return do(0)
	}
	for _, v := range c.values.valueKeys(w, c.binOf) {
		before := len(c.index.values)
		i, err := c.index.indexOf(v)
		if err == nil && len(c.index.values) > before {
			err = c.checkSize(len(c.index.values))
		}
		if err != nil {
			return err
		}
		if w.b.Time[w.i] >= c.since {
			c.index.inRange[i] = true
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
	return c.period.len()
}

// checkSize returns an error if there are more breakdown values than a result may have cells.
func (c *counting) checkSize(values int) error {
	if values*c.buckets() > maxCells {
		return tooManyCells()
	}
	return nil
}

// tooManyCells returns the error of a result that is too large.
func tooManyCells() error {
	return newError(tooLarge, "", "A result may have at most %d cells, values times buckets: choose a shorter period or fewer breakdown values.", maxCells)
}

// finish returns the results for each breakdown value, in no particular order.
func (c *counting) finish() ([]valuePoints, error) {
	n := 1
	if c.values != nil {
		n = len(c.index.values)
	}
	err := c.checkSize(n)
	if err == nil {
		err = c.reserve(int64(n) * (8*int64(c.buckets()) + 96))
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
			if row.value = c.index.values[i]; !c.isVisible(i, points) {
				continue
			}
		}
		if c.display == cumulative && !c.series.math.isCountedOnce() {
			sumUp(points)
		}
		out = append(out, row)
	}
	return out, nil
}

// isVisible reports whether the result has a row for a breakdown value: it needs an event in the
// range, and for first-time maths an actor.
func (c *counting) isVisible(value int, points []float64) bool {
	if value < len(c.values.always) {
		return true
	}
	_, first := c.tally.(*firstTime)
	return c.index.inRange[value] && (!first || sum(points) > 0)
}

// maxCells is the maximum number of numbers of a result (§5.4).
const maxCells = 1_000_000

// maxBreakdownValues is the maximum number of values of a breakdown (§5.4).
const maxBreakdownValues = 100_000

// sumUp makes points cumulative.
func sumUp(points []float64) {
	for i := 1; i < len(points); i++ {
		points[i] += points[i-1]
	}
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
