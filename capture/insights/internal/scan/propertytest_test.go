package scan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// A test of a property calls its function once for each value of a dictionary that an event has, in all batches with
// the dictionary, and again for another dictionary. Select and Holds agree, and batches without dictionaries have
// the same result.
func TestPropertyTest(t *testing.T) {
	var tested []string
	b := &Binder{Run: &Run{}}
	b.EventProperty("other")
	p := b.PropertyTest("n", func(raw string) bool {
		tested = append(tested, raw)
		return raw == "1" || raw == "3"
	})
	if s := b.Needs.Scan(port.Scan{}); !slices.Equal(s.EventProperties, []string{"other", "n"}) {
		t.Fatalf("the scan reads the properties %q", s.EventProperties)
	}
	first, second := []string{"", "1", "2", "unused"}, []string{"", "3"}
	for _, step := range []struct {
		dictionary uint64
		values     []string
		of         []uint16
		selected   []int32
		tested     []string
	}{
		{1, first, []uint16{0, 1, 2, 1}, []int32{1, 3}, []string{"", "1", "2"}},
		{1, first, []uint16{2, 2, 1}, []int32{2}, nil},
		{2, second, []uint16{1, 0, 1, 1}, []int32{0, 2, 3}, []string{"3", ""}},
		{1, first, []uint16{1}, []int32{0}, []string{"1"}},
	} {
		batch := &port.Batch{
			Time: make([]int64, len(step.of)), Dictionary: step.dictionary,
			EventProperties: [][]string{{""}, step.values}, EventPropertyOf: [][]uint16{make([]uint16, len(step.of)), step.of},
		}
		texts := &port.Batch{Time: batch.Time}
		var rows []int32
		for i, at := range step.of {
			rows = append(rows, int32(i))
			text := "{}"
			if value := step.values[at]; value != "" {
				text = fmt.Sprintf(`{"n":%s}`, value)
			}
			texts.Properties = append(texts.Properties, text)
		}
		tested = nil
		if got := p.Select(batch, slices.Clone(rows)); !slices.Equal(got, step.selected) || !slices.Equal(tested, step.tested) {
			t.Errorf("dictionary %d, values %d: selected %d, tested %q", step.dictionary, step.of, got, tested)
		}
		tested = nil
		for _, other := range []*port.Batch{batch, texts} {
			r := NewRow(&b.Needs)
			var got []int32
			for i := range other.Len() {
				if r.MoveTo(other, i); p.Holds(r) {
					got = append(got, int32(i))
				}
			}
			if !slices.Equal(got, step.selected) {
				t.Errorf("dictionary %d, values %d: %d pass", step.dictionary, step.of, got)
			}
		}
		if len(tested) != len(rows) {
			t.Errorf("%q were tested again, want those of the texts only", tested)
		}
	}
}
