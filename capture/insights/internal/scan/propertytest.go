package scan

import "github.com/bunting-flags/bunting/capture/insights/port"

// PropertyTest is a test of a property of events. If a batch has the values of events as indexes, each
// value is tested a single time for all batches with these values. It must not be used concurrently.
type PropertyTest struct {
	slot int
	test func(raw string) bool
	// results are those of the values of a dictionary, by index.
	dictionary uint64
	results    []testResult
}

// testResult is the result of a test of a value. Of a value that was tested, the lowest bit is the result.
type testResult uint8

const (
	untested testResult = 0
	fails    testResult = 2
	holds    testResult = 3
)

// PropertyTest returns a test of a property of the event, as JSON text, "" if it is absent. The result must
// depend on the value alone.
func (b *Binder) PropertyTest(name string, test func(raw string) bool) *PropertyTest {
	b.Needs.Columns |= port.Properties
	return &PropertyTest{slot: b.Needs.event.Slot(name), test: test}
}

// Holds reports whether an event passes the test.
func (t *PropertyTest) Holds(r *Row) bool {
	if r.Batch.EventProperties == nil {
		return t.test(r.property(t.slot))
	}
	t.use(r.Batch)
	return t.result(r.Batch, r.Batch.EventPropertyOf[t.slot][r.Index]) == holds
}

// Select removes the events that do not pass the test from rows, which are indexes of events of a
// batch with EventProperties.
func (t *PropertyTest) Select(b *port.Batch, rows []int32) []int32 {
	t.use(b)
	of, n := b.EventPropertyOf[t.slot], 0
	for _, i := range rows {
		rows[n] = i
		n += int(t.result(b, of[i]) & 1)
	}
	return rows[:n]
}

// use prepares for the values of a batch.
func (t *PropertyTest) use(b *port.Batch) {
	if t.dictionary == b.Dictionary {
		return
	}
	n := len(b.EventProperties[t.slot])
	if cap(t.results) < n {
		t.results = make([]testResult, n)
	}
	t.dictionary, t.results = b.Dictionary, t.results[:n]
	clear(t.results)
}

// result returns the result of a value of a batch.
func (t *PropertyTest) result(b *port.Batch, value uint16) testResult {
	result := t.results[value]
	if result == untested {
		result = t.evaluate(b.EventProperties[t.slot][value])
		t.results[value] = result
	}
	return result
}

func (t *PropertyTest) evaluate(raw string) testResult {
	if t.test(raw) {
		return holds
	}
	return fails
}
