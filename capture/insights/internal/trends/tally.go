package trends

import (
	"math"
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// number returns a function that returns the value of an event for maths of properties, and false
// if the property is not a number.
func (m *Measure) number(b *scan.Binder) func(*scan.Row) (float64, bool) {
	var value scan.Getter
	switch {
	case m.kind == "person_properties":
		value = b.PersonProperty(m.property)
	case m.kind == "session_properties":
		value = b.SessionValue(m.property)
	case m.property == "$time":
		return func(r *scan.Row) (float64, bool) { return float64(r.Batch.Time[r.Index]) / 1e6 * m.multiplier, true }
	default:
		value = b.EventProperty(m.property)
	}
	return func(r *scan.Row) (float64, bool) {
		f, ok := document.NumberOf(value(r))
		return f * m.multiplier, ok
	}
}

// events is the tally of the math total: it counts events.
type events struct {
	c       *counting
	buckets int
	// counts are value by value and bucket by bucket.
	counts []int64
}

// add counts an event.
func (t *events) add(_ *scan.Row, value, bucket int) error { return t.addMany(value, bucket, 1) }

func (t *events) addsBatches() bool { return true }

func (t *events) addAll(_ *port.Batch, from, to, bucket int) error {
	return t.addMany(0, bucket, int64(to-from))
}

func (t *events) addRows(_ *port.Batch, rows []int32, bucket int) error {
	return t.addMany(0, bucket, int64(len(rows)))
}

// addMany counts some events.
func (t *events) addMany(value, bucket int, count int64) error {
	if bucket < 0 {
		return nil
	}
	at := value*t.buckets + bucket
	if at >= len(t.counts) {
		size := max(t.buckets, 2*len(t.counts), at+1)
		if err := t.c.Reserve(8 * int64(size-len(t.counts))); err != nil {
			return err
		}
		t.counts = append(make([]int64, 0, size), t.counts...)[:size]
	}
	t.counts[at] += count
	return nil
}

// points returns the counts.
func (t *events) points(values int) ([][]float64, error) {
	return scan.Rows(values, t.buckets, func(at int) float64 {
		if at >= len(t.counts) {
			return 0
		}
		return float64(t.counts[at])
	}), nil
}

// values is the tally of the maths that aggregate a property.
type values struct {
	c       *counting
	number  func(*scan.Row) (float64, bool)
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
	if err := c.Reserve(bytes); err != nil {
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
func (t *values) add(w *scan.Row, value, bucket int) error {
	x, ok := t.number(w)
	if !ok || bucket < 0 {
		return nil
	}
	at := value*t.buckets + bucket
	if at >= len(t.cells) {
		size := max(2*len(t.cells), at+1)
		if err := t.c.Reserve(int64(size-len(t.cells)) * foldStateSize); err != nil {
			return err
		}
		t.cells = append(make([]foldState, 0, size), t.cells...)[:size]
	}
	_, keep := quantiles[t.fold]
	t.cells[at].put(x, keep)
	if keep {
		return t.c.Reserve(16)
	}
	return nil
}

// points returns the results.
func (t *values) points(n int) ([][]float64, error) {
	return scan.Rows(n, t.buckets, func(at int) float64 {
		if at >= len(t.cells) {
			return 0
		}
		return t.cells[at].result(t.fold)
	}), nil
}

// perActor is the tally of the maths that aggregate the number of events of each actor.
type perActor struct {
	c      *counting
	actor  func(*scan.Row) (uint32, bool)
	fold   string
	counts map[scan.Cell]uint32
}

// add counts an event of an actor.
func (t *perActor) add(w *scan.Row, value, bucket int) error {
	actor, ok := t.actor(w)
	if !ok || bucket < 0 {
		return nil
	}
	at := scan.Cell{Value: uint32(value), Bucket: uint32(bucket), Actor: actor}
	count, exists := t.counts[at]
	if !exists {
		if err := t.c.Reserve(40); err != nil {
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
		cells[int(at.Value)*buckets+int(at.Bucket)].put(float64(count), keep)
	}
	return scan.Rows(n, buckets, func(at int) float64 { return cells[at].result(t.fold) }), nil
}

// floor rounds down.
func floor(f float64) float64 { return math.Floor(f) }
