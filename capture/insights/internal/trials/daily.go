package trials

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// history is the state of an experiment that is stored between two runs (experiments.md §3.8). Exposures and
// checkpoints are valid for all events up to position. An event that is recorded later with an
// earlier time invalidates the checkpoints and results after this time, but not the
// exposures: adding an exposure results in the same entities in any order.
type history struct {
	position int64
	// keys are the entities that were exposed: groups by their key, persons by the bytes of their
	// UUID. entities and the states of metrics have the same numbers.
	keys     *scan.Strings
	entities []exposedEntity
	// order are the numbers of the entities, sorted by key.
	order []uint32
	// isAboutGroups is true if the entities are groups, and countsPeople if a metric counts the persons
	// of a group.
	isAboutGroups, countsPeople bool
	// checkpoints are sorted by time.
	checkpoints []checkpoint
	// results are the results of complete days by the index of the metric and the name of the day.
	results []map[string]dayResult
}

// checkpoint has the states of the metrics after all events before end.
type checkpoint struct {
	end, bytes int64
	// day is the number of the day, from the first of the experiment on.
	day    int
	states []any // nil for a metric that is not continuous
	// activated are the times of activations by entity, see daily.activated.
	activated []int64
}

// dayResult is the result of a metric after all events before end.
type dayResult struct {
	end  int64
	json json.RawMessage
}

// newHistory returns an empty history.
func newHistory(metrics int) *history {
	h := &history{keys: scan.NewStrings(nil), results: make([]map[string]dayResult, metrics)}
	for i := range h.results {
		h.results[i] = map[string]dayResult{}
	}
	return h
}

// DependsOn reports whether the history depends on which events persons have: those who were exposed, or
// all of them if they are counted.
func (h *history) DependsOn(people []capture.UUID) bool {
	if h.isAboutGroups {
		return h.countsPeople && len(people) > 0
	}
	return slices.ContainsFunc(people, func(id capture.UUID) bool {
		_, ok := h.keys.Find(string(id[:]))
		return ok
	})
}

// through returns the end of the last day that has a checkpoint or result.
func (h *history) through() int64 {
	through := int64(0)
	for _, c := range h.checkpoints {
		through = max(through, c.end)
	}
	for _, days := range h.results {
		for _, d := range days {
			through = max(through, d.end)
		}
	}
	return through
}

// forget removes the checkpoints and results that depend on events at or after an instant.
func (h *history) forget(from int64) {
	h.checkpoints = slices.DeleteFunc(h.checkpoints, func(c checkpoint) bool { return c.end > from })
	for _, days := range h.results {
		for name, d := range days {
			if d.end > from {
				delete(days, name)
			}
		}
	}
}

// size returns the approximate size of the history in bytes.
func (h *history) size() int64 {
	bytes := exposedSize*int64(len(h.entities)) + 4*int64(len(h.order))
	for _, key := range h.keys.All {
		bytes += int64(len(key)) + 72
	}
	for _, c := range h.checkpoints {
		bytes += c.bytes
	}
	for _, days := range h.results {
		for name, d := range days {
			bytes += int64(len(name)+len(d.json)) + 64
		}
	}
	return bytes
}

// daily measures all metrics of an experiment in one pass over its events, day by day from the
// newest checkpoint of its history on. It reads the events of some days in any order. When they are
// read, it knows which actors were exposed until then, and adds their events to the metrics.
type daily struct {
	*experimentRun
	history *history
	// name and version identify the history, and isStored is true if it is stored between runs.
	name, version string
	isStored      bool
	// isDone must be set at the end of a run without an error.
	isDone  bool
	metrics []*dailyMetric // by the index of the stored metric; nil if it is not continuous
	// kinds are the kinds of events by name, and others is the kind of events with any other name.
	kinds  map[string]*dailyKind
	others *dailyKind
	// names are the names of all events that may matter, and detailed those of events of which more
	// than short columns is needed; nil means any.
	names, detailed []string
	// isFunnel is true if the metrics need the exposures, which exposures has then.
	isFunnel  bool
	exposures moments
	// activation matches the activations; nil if the experiment does not need them. activated are their
	// times by entity, 0 without an activation.
	activation  *filter.Matcher
	activations moments
	activated   []int64
	// numbers are the numbers in the history plus 2 by the number of the actor in this run: 0 is unknown,
	// and isAbsent an actor that was not exposed.
	numbers []uint32
	// most is the approximate number of events that are read together.
	most     int64
	estimate estimate
	// end is the end of the days that the states of the metrics contain, and read is the end of the
	// days with events that have been read.
	end, read int64
	// next is the scan of the events after read that has begun; nil if there is none.
	next     *aheadScan
	measured []figures
	// counted are the entities that count now, sorted by key and by number, if isCounted is true.
	counted, countedByNumber []uint32
	isCounted                bool
}

// estimate is the approximate number of events from a range on until an instant. read is the number of
// events that had been read when they were counted, and last the number at the last use.
type estimate struct {
	to, events, read, last int64
	uses                   int
}

// estimateUses is the maximum number of further ranges for which an estimate is used.
const estimateUses = 7

// aheadScan is a scan of the events until the end of a day, or of a part of a day.
type aheadScan struct {
	*scan.Ahead
	last day
}

// rangeEvents is the value of daily.most.
const rangeEvents = 250_000

// dailyMetric is a metric that is measured day by day.
type dailyMetric struct {
	continuous
	query    *experimentQuery
	matchers []*filter.Matcher
	// isDetailed is true if the metric needs more than short columns.
	isDetailed bool
}

// dailyKind is what the events with a name may be.
type dailyKind struct {
	isExposure, isActivation bool
	metrics                  []dailyParts
}

// dailyParts are the indexes of the matchers of a metric that an event with some name may match.
type dailyParts struct {
	*dailyMetric
	parts []int
}

// shortColumns are the columns of events that stores read fast.
const shortColumns = port.Names | port.IDs | port.People | port.PeopleAtEvent | port.DistinctIDs

// openDaily loads the history of an experiment, and reads the events that were recorded since. It returns nil if the experiment or all its metrics cannot be measured day by
// day. The caller must call close.
func openDaily(r *scan.Run, x Trial, e exposure, metrics []storedMetric) (d *daily, err error) {
	if x.Start.IsZero() {
		return nil, nil
	}
	volatile := r.Volatile
	r.Volatile = false
	defer func() { r.Volatile = r.Volatile || volatile }()
	d = &daily{experimentRun: newExperimentRun(r, x, e, nil), most: rangeEvents}
	if d.actors.Keys != nil {
		d.actors.Keys.Reserve = r.Reserve
	}
	if e.activation != nil {
		d.activation = e.activation.Bind(d.b)
	}
	if r.Volatile { // exposures are not the same in every run
		return nil, d.b.Err
	}
	if !d.choose(metrics) {
		return nil, nil
	}
	d.bindKinds()
	d.name, d.version = fmt.Sprintf("experiment %d", x.id), d.definition()
	if r.Keeper != nil && x.id != 0 && r.Reader.Position() != 0 {
		state, err := r.Keeper.Take(r.Context, d.name, d.version)
		if err != nil {
			return nil, err
		}
		d.isStored = true
		d.history, _ = state.(*history)
	}
	if d.history == nil {
		d.history = newHistory(len(metrics))
	}
	h := d.history
	h.isAboutGroups = d.actors.Keys != nil
	for _, m := range d.metrics {
		h.countsPeople = h.countsPeople || m != nil && m.query.countsPeople()
	}
	// All memory can be released if it is too much: see resultsQuery.foldDays.
	h.keys.Reserve = r.Reserve
	if err = r.Reserve(h.size()); err == nil {
		err = d.update()
	}
	if err != nil {
		d.close(err)
		return nil, err
	}
	return d, nil
}

// close stores the history. After an error it is still valid for its position; after a panic it may
// not be.
func (d *daily) close(err error) {
	if !d.isStored {
		return
	}
	h := d.history
	switch {
	case d.isDone:
		h.position = d.Reader.Position()
	case err == nil:
		d.Keeper.Give(d.name, d.version, nil, 0)
		return
	}
	for len(h.checkpoints) > 1 && h.size() > d.Keeper.Limit() {
		h.checkpoints = h.checkpoints[1:]
	}
	h.keys.Reserve = nil
	d.Keeper.Give(d.name, d.version, h, h.size())
}

// definition returns a hash of everything on which the meaning of events depends.
func (d *daily) definition() string {
	p := d.Project
	sum := sha256.Sum256(wire.MustEncode([]any{d.Experiment, d.Zone.String(), p.PropertyMatchingVersion, string(p.TestAccountFilters), p.Actions, int(p.WeekStart), d.Mode}))
	return hex.EncodeToString(sum[:])
}

// choose finds the metrics that can be measured day by day, and binds them. It returns false if there
// are none.
func (d *daily) choose(metrics []storedMetric) (some bool) {
	d.metrics = make([]*dailyMetric, len(metrics))
	for i := range metrics {
		m := &metrics[i]
		if m.fault != nil || newContinuous(m.query, d.matcher.Names) == nil {
			continue
		}
		// Binding shows which columns a metric needs, and whether it depends on more than events.
		trial := *d.experimentRun
		trial.b = &scan.Binder{Run: d.Run, From: d.from, To: d.to}
		d.Volatile = false
		newContinuous(m.query, d.matcher.Names).bind(&trial)
		if d.Volatile || trial.b.Err != nil {
			continue
		}
		own := &dailyMetric{continuous: newContinuous(m.query, d.matcher.Names), query: m.query, isDetailed: trial.b.Needs.Columns&^shortColumns != 0}
		own.matchers = own.bind(d.experimentRun)
		d.metrics[i], some = own, true
		w, isFunnel := own.continuous.(*dailyFunnel)
		d.isFunnel = d.isFunnel || isFunnel && w.begins == nil
	}
	return some
}

// bindKinds finds what events are by their names.
func (d *daily) bindKinds() {
	d.b.Needs.Columns |= port.Names
	all, detailed := []*filter.Matcher{d.matcher}, []*filter.Matcher{d.matcher}
	if d.activation != nil {
		if all = append(all, d.activation); d.activation.Holds != nil {
			detailed = append(detailed, d.activation)
		}
	}
	for _, m := range d.metrics {
		if m == nil {
			continue
		}
		if all = append(all, m.matchers...); m.isDetailed {
			detailed = append(detailed, m.matchers...)
		}
	}
	d.names, d.kinds = filter.EventNames(all...), map[string]*dailyKind{}
	if d.actors.Keys == nil { // the groups of events are properties
		d.detailed = filter.EventNames(detailed...)
	}
	for _, m := range all {
		for _, name := range m.Names {
			if d.kinds[name] == nil {
				d.kinds[name] = d.kindOf(func(m *filter.Matcher) bool { return m.Names == nil || slices.Contains(m.Names, name) })
			}
		}
	}
	d.others = d.kindOf(func(m *filter.Matcher) bool { return m.Names == nil })
}

// kindOf returns the kind of the events whose name some matchers permit.
func (d *daily) kindOf(permits func(*filter.Matcher) bool) *dailyKind {
	k := &dailyKind{isExposure: permits(d.matcher), isActivation: d.activation != nil && permits(d.activation)}
	for _, m := range d.metrics {
		if m == nil {
			continue
		}
		own := dailyParts{dailyMetric: m}
		for i, matcher := range m.matchers {
			if permits(matcher) {
				own.parts = append(own.parts, i)
			}
		}
		if own.parts != nil {
			k.metrics = append(k.metrics, own)
		}
	}
	return k
}

// update removes the checkpoints and results that are invalid because of events that were recorded
// since the last run.
func (d *daily) update() error {
	h := d.history
	through := h.through()
	if through == 0 || d.Reader.Position() == h.position {
		return nil
	}
	first, err := d.firstSince(h.position, through)
	if err == nil {
		h.forget(first)
	}
	return err
}

// firstSince returns the time of the first event that was recorded after a position, if it is before
// through; otherwise through. Only names of events are compared.
func (d *daily) firstSince(position, through int64) (int64, error) {
	b := &scan.Binder{Run: d.Run}
	err := b.ScanBound(port.Scan{From: d.from - d.lookback(), To: through - 1, After: position, Names: d.names}, func(r *scan.Row) error {
		through = min(through, r.Batch.Time[r.Index])
		return nil
	})
	return through, err
}

// lookback returns the longest time before an exposure that a covariate covers, in microseconds.
func (d *daily) lookback() (most int64) {
	for _, m := range d.metrics {
		if m != nil {
			most = max(most, m.lookback())
		}
	}
	return most
}
