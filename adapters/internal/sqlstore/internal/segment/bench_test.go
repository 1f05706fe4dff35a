package segment

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// Writing and reading full groups of events as clients send them, and some of their events.
func BenchmarkSegment(b *testing.B) {
	events := newMaker(1).events(block.MaxEvents)
	c := columnsOf(b, events)
	long := func(i int) (string, string, string, error) {
		return events[i].elements, events[i].properties, events[i].person, nil
	}
	var out bytes.Buffer
	perEvent := func(b *testing.B, n int) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
	}
	b.Run("Write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			out.Reset()
			w := NewWriter(&out)
			if err := w.Add(c, nil, long); err != nil {
				b.Fatal(err)
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		}
		perEvent(b, len(events))
		b.ReportMetric(float64(out.Len())/float64(len(events)), "B/event")
	})
	f := testFile(b, events)
	b.Run("Sizes", func(b *testing.B) {
		for b.Loop() {
		}
		for at := range columns {
			chunk, size := &f.groups[0].chunks[at], 0
			for _, p := range append(chunk.pages, chunk.dictionary) {
				size += int(p.size)
			}
			b.ReportMetric(float64(size)/float64(len(events)), columns[at].name+"-B/event")
			b.ReportMetric(float64(chunk.dictionary.size), columns[at].name+"-dict-B")
		}
	})
	var got block.Columns
	for name, read := range map[string]func() error{
		"Names": func() error { return f.Names(0, &got) }, "People": func() error { return f.People(0, &got) }, "Origins": func() error { return f.Origins(0, &got) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
			perEvent(b, len(events))
		})
	}
	for _, n := range []int{1, 100, len(events)} {
		b.Run(fmt.Sprint("Rows/", n), func(b *testing.B) {
			var chunk block.Chunk
			b.ReportAllocs()
			for i := 0; b.Loop(); i += 7919 {
				rows, first := f.Rows(0), i%(len(events)-n+1)
				if err := rows.Short(first, n, &got); err != nil {
					b.Fatal(err)
				}
				if err := rows.Long(first, n, &chunk); err != nil {
					b.Fatal(err)
				}
				if err := rows.Close(); err != nil {
					b.Fatal(err)
				}
			}
			perEvent(b, n)
		})
	}
	b.Run("Open", func(b *testing.B) {
		for b.Loop() {
			if _, err := openBytes(out.Bytes()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
