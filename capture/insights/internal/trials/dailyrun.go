package trials

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// foldUntilNow folds all events, from the newest checkpoint on.
func (d *daily) foldUntilNow(days []day) error {
	past := complete(days)
	if err := d.begin(past.end()); err != nil {
		return err
	}
	for i, v := range past {
		if v.end <= d.end {
			continue
		}
		// The states are only needed at checkpoints.
		if last := len(past) - 1; isCheckpoint(i, last) {
			if err := d.foldDay(past[i:]); err != nil {
				return err
			}
			d.save(i, last)
		} else if err := d.readDay(past[i:]); err != nil {
			return err
		}
	}
	return d.foldNow()
}

// series returns the results of a metric at the end of each day, and stores the results of all
// metrics for the days that are over.
func (d *daily) series(days []day, metric int) ([]json.RawMessage, error) {
	out, missing := d.stored(days, metric)
	if missing == len(days) {
		return out, nil
	}
	if err := d.begin(days[missing].from); err != nil {
		return nil, err
	}
	past := complete(days)
	for i, v := range days {
		if v.last() < d.end {
			continue
		}
		ahead := days[i : i+1]
		if v.isComplete {
			ahead = past[i:]
		}
		if err := d.foldDay(ahead); err != nil {
			return nil, err
		}
		if v.isComplete {
			d.save(i, len(past)-1)
		}
		result, err := d.dayResults(v, metric)
		if err != nil {
			return nil, err
		}
		if result != nil {
			out[i] = result
		}
	}
	return out, nil
}

// stored returns the stored results of a metric by day, and the index of the first day without a
// result, or the number of days.
func (d *daily) stored(days []day, metric int) ([]json.RawMessage, int) {
	out, missing := make([]json.RawMessage, len(days)), len(days)
	for i, v := range days {
		if result := d.history.results[metric][v.name]; result.end == v.last()+1 {
			out[i] = result.json
		} else {
			missing = min(missing, i)
		}
	}
	return out, missing
}

// dayResults returns the result of a metric at the end of a day, nil if it is stored already. If the
// day is over, it stores the results of all metrics.
func (d *daily) dayResults(v day, metric int) (out json.RawMessage, err error) {
	isFinal := v.isComplete || !d.End.IsZero() && v.end == d.End.UnixMicro()
	for k, m := range d.metrics {
		if m == nil || !isFinal && k != metric || d.history.results[k][v.name].end == v.last()+1 {
			continue
		}
		a, err := d.answer(m)
		if err != nil {
			return nil, err
		}
		result := a.dayResult()
		if isFinal {
			d.history.results[k][v.name] = dayResult{v.last() + 1, result}
		}
		if k == metric {
			out = result
		}
	}
	return out, nil
}

// isCheckpoint reports whether the state at the end of a day is stored, given the last day that is over.
// These are the last two days, to which most late events belong, and two older days.
func isCheckpoint(day, last int) bool {
	return day >= last-1 || day == last&^3 || day == last&^15
}

// chunkEvents is the number of events that are read together, unless a single day has more.
const chunkEvents = 250_000

// begin loads the newest checkpoint that is not after an instant, and reads the exposures after it.
func (d *daily) begin(before int64) error {
	d.end = d.from
	list := d.history.checkpoints
	if n := slices.IndexFunc(list, func(c checkpoint) bool { return c.end > before }); n >= 0 {
		list = list[:n]
	}
	if len(list) > 0 {
		c := &list[len(list)-1]
		if err := d.Reserve(c.bytes); err != nil {
			return err
		}
		for i, m := range d.metrics {
			if m == nil {
				continue
			}
			if err := m.load(c.states[i]); err != nil {
				return err
			}
		}
		d.end, d.activated = c.end, c.activated
	}
	d.read = d.end
	if err := d.readExposures(d.end); err != nil {
		return err
	}
	for _, g := range d.groups {
		if err := g.readEarly(); err != nil {
			return err
		}
	}
	return nil
}

// readEarly reads the events before the exposures for the covariates of metrics.
func (g *dailyGroup) readEarly() error {
	latest, lookback := int64(0), int64(0)
	for i := range g.entities {
		if g.entities[i].active {
			latest = max(latest, g.entities[i].first)
		}
	}
	var early []*dailyMetric
	var matchers []*filter.Matcher
	for _, m := range g.metrics {
		if m.lookback() > 0 {
			lookback = max(lookback, m.lookback())
			early, matchers = append(early, m), append(matchers, m.matchers...)
		}
	}
	if len(early) == 0 || latest == 0 {
		return nil
	}
	return g.b.ScanBound(port.Scan{From: g.from - lookback, To: latest - 1, Names: filter.EventNames(matchers...)}, func(r *scan.Row) error {
		actor, ok := g.number(r)
		if !ok || !g.entities[actor].active || r.Batch.Time[r.Index] >= g.entities[actor].first {
			return nil
		}
		for _, m := range early {
			if err := m.seeEarly(r, actor, &g.entities[actor]); err != nil {
				return err
			}
		}
		return nil
	})
}

// setDay sets the time as of which entities and results are determined.
func (d *daily) setDay(v day) {
	v.at(d.experimentRun, d.Trial)
	for _, g := range d.groups {
		v.at(g.experimentRun, d.Trial)
	}
}

// foldDay folds the events until the end of the first of some days. It may read the events of the
// following days too, which must be over.
func (d *daily) foldDay(days []day) error {
	if err := d.readDay(days); err != nil {
		return err
	}
	d.setDay(days[0])
	return d.fold(days[0].last() + 1)
}

// foldNow folds all events that count now, including events after the end of the experiment or in the
// future.
func (d *daily) foldNow() error {
	now := d.Run.Now
	for _, f := range append([]*dailyGroup{{experimentRun: d.experimentRun}}, d.groups...) {
		f.to, f.now, f.last = d.Trial.end(now).UnixMicro(), now.UnixMicro(), never
		f.asOf = f.to
	}
	if err := d.scan(never); err != nil {
		return err
	}
	return d.fold(never)
}

// scan reads the events of all metrics from read until an instant.
func (d *daily) scan(to int64) error {
	for _, g := range d.groups {
		if err := g.scan(d.read, to, d.exposure.firstSeen); err != nil {
			return err
		}
	}
	return nil
}

// readDay reads the events of the first of some days, and of the days after it if there are few
// events, unless they have been read.
func (d *daily) readDay(days []day) error {
	if days[0].last() < d.read {
		return nil
	}
	if d.end < d.read { // releases memory for the next events
		if err := d.fold(d.read); err != nil {
			return err
		}
	}
	n := len(days)
	if n > 1 {
		events, err := d.Reader.Count(d.Context, port.Scan{From: d.read, To: days[n-1].end, Names: d.names()})
		if err != nil {
			return err
		}
		n = min(n, int(chunkEvents*int64(n)/max(events, 1))+1)
	}
	d.setDay(days[n-1])
	err := d.scan(d.last)
	d.read = d.last + 1
	return err
}

// scan reads the events of a group of metrics in a range.
func (g *dailyGroup) scan(from, to int64, firstSeen bool) error {
	until := int64(0)
	for _, m := range g.metrics {
		until = max(until, (&experimentAnswer{experimentQuery: m.query, f: g.experimentRun}).until())
	}
	return g.b.ScanBound(port.Scan{From: from, To: min(to, until), Names: filter.EventNames(g.matchers...)}, func(r *scan.Row) error {
		actor, ok := g.number(r)
		if !ok {
			return nil
		}
		e := &g.entities[actor]
		if r.Batch.Time[r.Index] < e.first || !firstSeen && e.second < from {
			return nil
		}
		for _, m := range g.metrics {
			if err := m.see(r, actor, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// fold adds the events before an instant to the states of the metrics.
func (d *daily) fold(end int64) error {
	if err := d.Context.Err(); err != nil {
		return err
	}
	find := func(at int64) int {
		i, _ := slices.BinarySearchFunc(d.exposures, at, func(m moment, at int64) int { return cmp.Compare(m.at, at) })
		return i
	}
	exposures := d.exposures[find(d.end):find(min(end, d.to+1))]
	for _, m := range d.metrics {
		if m == nil {
			continue
		}
		if err := m.fold(end, exposures); err != nil {
			return err
		}
	}
	d.end = end
	d.count()
	return nil
}

// count finds the entities that count now.
func (d *daily) count() {
	d.counted, d.countedByNumber = d.counted[:0], d.countedByNumber[:0]
	for _, i := range d.history.order {
		if d.counts(&d.entities[i]) {
			d.counted = append(d.counted, i)
		}
	}
	for i := range d.entities {
		if d.counts(&d.entities[i]) {
			d.countedByNumber = append(d.countedByNumber, uint32(i))
		}
	}
}

// save keeps the states of the metrics at the end of a day, if it is a checkpoint, and drops older
// checkpoints. last is the last day that is over.
func (d *daily) save(day, last int) {
	h := d.history
	if n := len(h.checkpoints); !isCheckpoint(day, last) || n > 0 && h.checkpoints[n-1].end >= d.end {
		return
	}
	c := checkpoint{end: d.end, day: day, states: make([]any, len(d.metrics))}
	for i, m := range d.metrics {
		if m != nil {
			var bytes int64
			c.states[i], bytes = m.save(len(d.entities))
			c.bytes += bytes
		}
	}
	if d.activation != nil {
		c.activated = d.activatedBefore(d.end)
		c.bytes += 8 * int64(len(c.activated))
	}
	h.checkpoints = append(slices.DeleteFunc(h.checkpoints, func(c checkpoint) bool { return !isCheckpoint(c.day, last) }), c)
}

// answer returns the answer about a metric from its state, which is valid until the next call.
func (d *daily) answer(m *dailyMetric) (*experimentAnswer, error) {
	f := m.group.experimentRun
	a := &experimentAnswer{experimentQuery: m.query, f: f, measure: m.continuous, measured: d.measured, entities: d.counted}
	clear(d.measured)
	if err := m.finish(f, d.measured); err != nil {
		return nil, err
	}
	// The sums of whole numbers are exact in any order, and this order is faster.
	if m.isIntegral() && areSmall(d.measured) {
		a.entities = d.countedByNumber
	}
	excluded := func(actor uint32) bool { return d.measured[actor].excluded }
	if slices.ContainsFunc(a.entities, excluded) {
		a.entities = slices.DeleteFunc(slices.Clone(a.entities), excluded)
	}
	return a, f.ReleaseAfter(a.cutOutliers)
}

// areSmall reports whether the sums of squares and products of figures, which are whole numbers, are
// less than 2^53.
func areSmall(list []figures) bool {
	most := 0.0
	for i := range list {
		most = max(most, list[i].value, list[i].below, list[i].before)
	}
	return most*most*float64(len(list)) < 1<<53
}
