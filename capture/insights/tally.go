package insights

import (
	"math"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// measure is the math of a series (§2.4.2): what is computed from its events.
type measure struct {
	name string
	// fold is how numbers are aggregated: one of folds.
	fold string
	// basis is what is aggregated: events, values, actors, sessions, perActor, first,
	// firstMatching, window or hogql.
	basis string
	// days is the length of a window.
	days     int
	property string
	// kind is math_property_type.
	kind string
	// multiplier is math_multiplier, by which values are multiplied.
	multiplier float64
	// group is the group type whose groups are counted, -1 for persons.
	group int
	// aggregate is the expression of the math hogql.
	aggregate *expression
	// named is the expression for the actor that the math hogql has in stickiness.
	named func(*binder) getter
}

// folds are the functions that aggregate numbers.
var folds = []string{"sum", "avg", "min", "max", "median", "p75", "p90", "p95", "p99"}

// quantiles are the folds that need all numbers, with their quantile.
var quantiles = map[string]float64{"median": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}

// actorMaths are the maths that count distinct persons, groups or sessions.
var actorMaths = map[string]measure{
	"dau":                           {basis: "actors"},
	"weekly_active":                 {basis: "window", days: 7},
	"monthly_active":                {basis: "window", days: 30},
	"unique_session":                {basis: "sessions"},
	"unique_group":                  {basis: "actors"},
	"first_time_for_user":           {basis: "first"},
	"first_matching_event_for_user": {basis: "firstMatching"},
}

// readMeasure parses the math of a node.
func readMeasure(n node, p *Project) measure {
	name := n.get("math").text("total")
	m := measure{name: name, multiplier: n.get("math_multiplier").number(1), group: -1}
	m.property = n.get("math_property").text("")
	m.kind = n.get("math_property_type").choice("event_properties", "event_properties", "person_properties", "session_properties")
	if name == "" {
		name = "total"
	}
	per, perActor := strings.CutSuffix(name, "_count_per_actor")
	switch preset, ok := actorMaths[name]; {
	case name == "total":
		m.basis = "events"
	case ok:
		m.basis, m.days = preset.basis, preset.days
		if index := n.get("math_group_type_index"); !index.isAbsent() {
			m.group = int(index.intInRange(0, maxGroupTypes-1, 0))
		} else if name == "unique_group" {
			index.fail(required, "unique_group needs math_group_type_index.")
		}
	case slices.Contains(folds, name):
		m.basis, m.fold = "values", name
		if m.property == "" {
			n.get("math_property").fail(required, "The math %q needs math_property.", name)
		}
	case perActor && per != "sum" && slices.Contains(folds, per):
		m.basis, m.fold = "perActor", per
	case name == "hogql":
		m.basis, m.aggregate = "hogql", readExpression(n.get("math_hogql"), p, true)
	default:
		n.get("math").fail(invalidChoice, "The math %q is not supported.", wire.Shorten(name, 100))
	}
	return m
}

// isCountedOnce reports whether a cumulative display counts each actor only in its first bucket.
func (m *measure) isCountedOnce() bool { return m.basis == "actors" }

// tally aggregates the events of a series by breakdown value and bucket.
type tally interface {
	// add adds an event. value is the number of the breakdown value; bucket is -1 for an event
	// outside of the buckets.
	add(w *row, value, bucket int) error
	// points returns the results: for each of the values, a number for each bucket.
	points(values int) ([][]float64, error)
}

// firstTally is implemented by tallies that need all events of the series' name, before the
// conditions are evaluated. passes evaluates the conditions.
type firstTally interface {
	seeFirst(w *row, passes func() bool) error
}

// begin returns the tally of the measure and binds what it needs.
func (m *measure) begin(b *binder, c *counting) tally {
	buckets := c.buckets()
	switch m.basis {
	case "values":
		// The duration is a property of the session, so it is aggregated per session instead of per
		// event.
		if m.property == "$session_duration" && m.kind != "person_properties" {
			return &durations{distinctCounts: newDistinctCounts(c, b.bindInterned(b.eventProperty("$session_id"))), sessions: b.sessions(), id: b.eventProperty("$session_id"), m: m}
		}
		return &values{c: c, number: m.number(b), fold: m.fold, buckets: buckets}
	case "actors":
		t := newDistinctCounts(c, b.actor(m.group))
		t.cumulative = c.display == cumulative
		return &t
	case "sessions":
		t := newDistinctCounts(c, b.bindInterned(b.eventProperty("$session_id")))
		return &t
	case "window":
		return m.window(b, c)
	case "perActor":
		return &perActor{c: c, actor: b.actor(m.group), fold: m.fold, counts: map[cell]uint32{}}
	case "first", "firstMatching":
		return m.firstTime(b, c)
	case "hogql":
		return newHogqlTally(m.aggregate, b, c)
	}
	return &events{c: c, buckets: buckets}
}

// number returns a function that returns the value of an event for maths of properties, and false
// if the property is not a number.
func (m *measure) number(b *binder) func(*row) (float64, bool) {
	var value getter
	switch {
	case m.kind == "person_properties":
		value = b.personProperty(m.property)
	case m.kind == "session_properties":
		value = b.sessionValue(m.property)
	case m.property == "$time":
		return func(r *row) (float64, bool) { return float64(r.b.Time[r.i]) / 1e6 * m.multiplier, true }
	default:
		value = b.eventProperty(m.property)
	}
	return func(r *row) (float64, bool) {
		f, ok := numberOf(value(r))
		return f * m.multiplier, ok
	}
}

// personProperty returns the getter of a person property, according to the mode of the run: the
// value at the time of the event or the current one.
func (b *binder) personProperty(name string) getter {
	if b.mode == modeOverrideJoined || b.mode == modeDisabled {
		return b.profileProperty(name)
	}
	b.needs.columns |= PersonProperties
	slot := b.needs.person.slot(name)
	return func(r *row) string { return r.personProperty(slot) }
}

// events is the tally of the math total: it counts events.
type events struct {
	c       *counting
	buckets int
	// counts are value by value and bucket by bucket.
	counts []int64
}

// add counts an event. The first argument may be nil.
func (t *events) add(_ *row, value, bucket int) error {
	if bucket < 0 {
		return nil
	}
	at := value*t.buckets + bucket
	if at >= len(t.counts) {
		size := max(t.buckets, 2*len(t.counts), at+1)
		if err := t.c.reserve(8 * int64(size-len(t.counts))); err != nil {
			return err
		}
		t.counts = append(make([]int64, 0, size), t.counts...)[:size]
	}
	t.counts[at]++
	return nil
}

// points returns the counts.
func (t *events) points(values int) ([][]float64, error) {
	return makeRows(values, t.buckets, func(at int) float64 {
		if at >= len(t.counts) {
			return 0
		}
		return float64(t.counts[at])
	}), nil
}

// makeRows returns the numbers of all values and buckets. index counts the cells value by value.
func makeRows(values, buckets int, number func(index int) float64) [][]float64 {
	out := make([][]float64, values)
	for v := range out {
		out[v] = make([]float64, buckets)
		for b := range out[v] {
			out[v][b] = number(v*buckets + b)
		}
	}
	return out
}

// values is the tally of the maths that aggregate a property.
type values struct {
	c       *counting
	number  func(*row) (float64, bool)
	fold    string
	buckets int
	// cells are value by value and bucket by bucket.
	cells []foldState
}

// foldState is the state of an aggregation. list has the numbers themselves, which only quantiles
// need.
type foldState struct {
	n        int64
	sum      float64
	min, max float64
	list     []float64
}

// foldStateSize is the size of a foldState without its list, in bytes.
const foldStateSize = 56

// folds allocates the states for a number of breakdown values, and reserves memory for them.
// numbers is how many numbers will be added in total; keep is true if the fold needs the numbers
// themselves.
func (c *counting) folds(values int, fold string, numbers int) (cells []foldState, keep bool, err error) {
	n := values * c.buckets()
	bytes := foldStateSize * int64(n)
	if _, keep = quantiles[fold]; keep {
		bytes += 16 * int64(numbers) // with the spare capacity of append
	}
	if err := c.reserve(bytes); err != nil {
		return nil, false, err
	}
	return make([]foldState, n), keep, nil
}

// put adds a number; keep is as returned by folds.
func (f *foldState) put(x float64, keep bool) {
	if f.n == 0 {
		f.min, f.max = x, x
	}
	f.n++
	f.sum += x
	f.min, f.max = min(f.min, x), max(f.max, x)
	if keep {
		f.list = append(f.list, x)
	}
}

// result returns the result of a fold, 0 if no numbers were added. It may sort the list.
func (f *foldState) result(fold string) float64 {
	if f.n == 0 {
		return 0
	}
	switch fold {
	case "sum":
		return f.sum
	case "avg":
		return f.sum / float64(f.n)
	case "min":
		return f.min
	case "max":
		return f.max
	}
	slices.Sort(f.list)
	return quantile(f.list, quantiles[fold])
}

// quantile returns the value at position (n-1)·p of sorted numbers, with linear interpolation
// between neighbors.
func quantile(sorted []float64, p float64) float64 {
	at := float64(len(sorted)-1) * p
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (sorted[i+1]-sorted[i])*(at-float64(i))
}

// add adds the value of an event, unless the event has no number.
func (t *values) add(w *row, value, bucket int) error {
	x, ok := t.number(w)
	if !ok || bucket < 0 {
		return nil
	}
	at := value*t.buckets + bucket
	if at >= len(t.cells) {
		size := max(2*len(t.cells), at+1)
		if err := t.c.reserve(int64(size-len(t.cells)) * foldStateSize); err != nil {
			return err
		}
		t.cells = append(make([]foldState, 0, size), t.cells...)[:size]
	}
	_, keep := quantiles[t.fold]
	t.cells[at].put(x, keep)
	if keep {
		return t.c.reserve(16)
	}
	return nil
}

// points returns the results.
func (t *values) points(n int) ([][]float64, error) {
	return makeRows(n, t.buckets, func(at int) float64 {
		if at >= len(t.cells) {
			return 0
		}
		return t.cells[at].result(t.fold)
	}), nil
}

// cell identifies an actor in a bucket of a breakdown value.
type cell struct{ value, bucket, actor uint32 }

// perActor is the tally of the maths that aggregate the number of events of each actor.
type perActor struct {
	c      *counting
	actor  func(*row) (uint32, bool)
	fold   string
	counts map[cell]uint32
}

// add counts an event of an actor.
func (t *perActor) add(w *row, value, bucket int) error {
	actor, ok := t.actor(w)
	if !ok || bucket < 0 {
		return nil
	}
	at := cell{uint32(value), uint32(bucket), actor}
	count, exists := t.counts[at]
	if !exists {
		if err := t.c.reserve(40); err != nil {
			return err
		}
	}
	t.counts[at] = count + 1
	return nil
}

// points aggregates the counts of the actors for each value and bucket.
func (t *perActor) points(n int) ([][]float64, error) {
	buckets := t.c.buckets()
	cells, keep, err := t.c.folds(n, t.fold, len(t.counts))
	if err != nil {
		return nil, err
	}
	for at, count := range t.counts {
		cells[int(at.value)*buckets+int(at.bucket)].put(float64(count), keep)
	}
	return makeRows(n, buckets, func(at int) float64 { return cells[at].result(t.fold) }), nil
}

// floor rounds down.
func floor(f float64) float64 { return math.Floor(f) }
