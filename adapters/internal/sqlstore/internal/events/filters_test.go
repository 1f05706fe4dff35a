package events

import (
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// The cache has as many filters as its limit permits, whatever the order in which they are read, and each of
// them under the range of its block.
func TestFilterCache(t *testing.T) {
	filters := make([]block.Filter, 300)
	for i := range filters {
		var w block.Writer
		for id := range int64(100) {
			w.Add(&block.Event{ID: id + 1, Name: "event", DistinctID: capture.PersonID(int64(i), string(rune('a'+id))).String()})
		}
		var err error
		if filters[i], err = block.DecodeFilter(w.Filter()); err != nil || filters[i].Size() == 0 {
			t.Fatal(err, filters[i].Size())
		}
	}
	const room = 100
	c := newFilterCache(room * (filters[0].Size() + filterEntryBytes))
	keyOf := func(project int64, i int) filterKey { return filterKey{project, int64(i) * 100, int64(i)*100 + 99} }
	for round := range 3 {
		hits := 0
		for i := range filters {
			if found, ok := c.get(keyOf(1, i)); ok {
				hits++
				if found != filters[i] {
					t.Fatalf("the block %d has the filter of another one", i)
				}
			}
			c.add(keyOf(1, i), filters[i])
		}
		if len(c.filters) != room || c.bytes != c.most {
			t.Errorf("%d filters of %d bytes, want %d of %d", len(c.filters), c.bytes, room, c.most)
		}
		if round > 0 && hits == 0 {
			t.Error("no filter of a cycle over all blocks is there")
		}
	}
	if _, ok := c.get(keyOf(2, 299)); ok {
		t.Error("a block of another project has a filter")
	}
}
