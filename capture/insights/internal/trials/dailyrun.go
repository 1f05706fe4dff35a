package trials

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// foldUntilNow folds all events, from the newest checkpoint on.
func (d *daily) foldUntilNow(days []day) error {
	defer d.stop()
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
	if len(past) < len(days) {
		if err := d.readDay(days[len(past):]); err != nil {
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
	defer d.stop()
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

// begin loads the newest checkpoint that is not after an instant, and reads what covariates need.
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
		d.end, d.activated = c.end, slices.Clone(c.activated)
	}
	if d.read = d.end; d.lookback() == 0 {
		return nil
	}
	if err := d.readAhead(d.end); err != nil {
		return err
	}
	return d.readEarly()
}

// foldDay folds the events until the end of the first of some days. It may read the events of the
// following days too, which must be over.
func (d *daily) foldDay(days []day) error {
	if err := d.readDay(days); err != nil {
		return err
	}
	days[0].at(d.experimentRun, d.Trial)
	return d.fold(days[0].last() + 1)
}

// foldNow folds all events that count now, including events after the end of the experiment or in the
// future.
func (d *daily) foldNow() error {
	d.to, d.now, d.last = d.Trial.end(d.Run.Now).UnixMicro(), d.Run.Now.UnixMicro(), never
	d.asOf = d.to
	from := d.read
	if err := d.b.ScanBound(d.eventsUntil(never), d.see); err != nil {
		return err
	}
	if err := d.join(from); err != nil {
		return err
	}
	d.read = never
	return d.fold(never)
}

// readDay reads the events of the first of some days, and of the days after it if there are few
// events, unless they have been read. It reads a day with many events in parts. The next events of the
// days are read ahead.
func (d *daily) readDay(days []day) error {
	for d.read <= days[0].last() {
		if d.end < d.read { // releases memory for the next events
			if err := d.fold(d.read); err != nil {
				return err
			}
		}
		if d.next == nil {
			if err := d.scanAhead(days); err != nil {
				return err
			}
		}
		from, next := d.read, d.next
		next.last.at(d.experimentRun, d.Trial)
		d.next = nil
		if err := next.Finish(); err != nil {
			return err
		}
		d.read = next.last.last() + 1
		if rest := slices.IndexFunc(days, func(v day) bool { return v.last() >= d.read }); rest >= 0 {
			if err := d.scanAhead(days[rest:]); err != nil {
				return err
			}
		}
		if err := d.join(from); err != nil {
			return err
		}
	}
	return nil
}

// scanAhead begins to read the events of the first of some days, none of which is read completely, and
// those of the days after it if there are few events.
func (d *daily) scanAhead(days []day) error {
	last := days[len(days)-1]
	events, err := d.eventsLeft(last.last())
	if err != nil {
		return err
	}
	if events > d.most {
		to := d.read + int64(float64(last.end-d.read)*float64(d.most)/float64(events))
		n, _ := slices.BinarySearchFunc(days, to, func(v day, to int64) int { return cmp.Compare(v.end, to) })
		if last = days[max(n-1, 0)]; last.end > to { // one of the equal parts of the day
			rest, part := last.end-d.read, max(to-d.read, 1)
			last.end, last.isComplete = d.read+rest/((rest+part-1)/part), true
		}
	}
	last.at(d.experimentRun, d.Trial)
	d.next = &aheadScan{d.b.ScanAhead(d.eventsUntil(last.last()), d.see), last}
	return nil
}

// eventsLeft returns about how many events there are from read to an instant. Counting some of them takes
// as long as reading them, so the result is used for several ranges, unless one has many more events than
// the average.
func (d *daily) eventsLeft(to int64) (int64, error) {
	e := &d.estimate
	left := e.events - (d.Read - e.read)
	if e.to == to && e.uses < estimateUses && left > d.most && d.Read-e.last <= 2*d.most {
		e.uses++
		e.last = d.Read
		return left, nil
	}
	events, err := d.Reader.Count(d.Context, port.Scan{From: d.read, To: to, Names: d.names})
	*e = estimate{to: to, events: events, read: d.Read, last: d.Read}
	return events, err
}

// stop ends the scan ahead.
func (d *daily) stop() {
	if d.next != nil {
		d.next.Stop()
		d.next = nil
	}
}

// eventsUntil selects the events from read until an instant.
func (d *daily) eventsUntil(to int64) port.Scan {
	until := d.to
	for _, m := range d.metrics {
		if m != nil {
			until = max(until, (&experimentAnswer{experimentQuery: m.query, f: d.experimentRun}).until())
		}
	}
	return port.Scan{From: d.read, To: min(to, until), Names: d.names, Detailed: d.detailed}
}

// fold adds the events before an instant to the states of the metrics.
func (d *daily) fold(end int64) error {
	exposures := d.exposures.take(end)
	for _, m := range d.metrics {
		if err := d.Context.Err(); err != nil {
			return err
		}
		if m != nil {
			if err := m.fold(end, exposures); err != nil {
				return err
			}
		}
	}
	d.end, d.isCounted = end, false
	return nil
}

// count finds the entities that count now.
func (d *daily) count() {
	if d.isCounted {
		return
	}
	d.history.sort()
	d.counted, d.countedByNumber, d.isCounted = d.counted[:0], d.countedByNumber[:0], true
	for _, i := range d.history.order {
		if int(i) < len(d.entities) && d.counts(&d.entities[i]) {
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
	if more := len(d.entities) - cap(d.measured); more > 0 {
		if err := d.Reserve((figuresSize + 8) * int64(more)); err != nil {
			return nil, err
		}
		d.measured = make([]figures, len(d.entities))
	}
	d.measured = d.measured[:len(d.entities)]
	clear(d.measured)
	if err := m.finish(d.experimentRun, d.measured); err != nil {
		return nil, err
	}
	d.count()
	a := &experimentAnswer{experimentQuery: m.query, f: d.experimentRun, measured: d.measured, entities: d.counted}
	isSmall, excludes := d.inspect()
	// The sums of whole numbers are exact in any order, and this order is faster.
	if m.isIntegral() && isSmall {
		a.entities = d.countedByNumber
	}
	if excludes {
		a.entities = slices.DeleteFunc(slices.Clone(a.entities), func(actor uint32) bool { return d.measured[actor].excluded })
	}
	return a, d.ReleaseAfter(a.cutOutliers)
}

// inspect reports whether the sums of squares and products of the figures would be less than 2^53 if they are
// whole numbers, and whether entities are excluded.
func (d *daily) inspect() (isSmall, excludes bool) {
	most := 0.0
	for i := range d.measured {
		m := &d.measured[i]
		// This is faster than max.
		if m.value > most {
			most = m.value
		}
		if m.below > most {
			most = m.below
		}
		if m.before > most {
			most = m.before
		}
		excludes = excludes || m.excluded
	}
	return most*most*float64(len(d.measured)) < 1<<53, excludes
}
