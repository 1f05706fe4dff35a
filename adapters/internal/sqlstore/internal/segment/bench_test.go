package segment

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
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
			size = int(chunk.end() - chunk.offset)
			b.ReportMetric(float64(size)/float64(len(events)), columns[at].name+"-B/event")
			b.ReportMetric(float64(chunk.dictionary), columns[at].name+"-dict-B")
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
}

// Opening a file with 131,072 events, of which nothing is in memory, or the metadata, or which is open; and the memory
// that the metadata of a file takes, with what memory counts.
func BenchmarkOpenFile(b *testing.B) {
	folder, err := OpenFolder(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	name, m := Name(1, 1, 1<<20, 1, 0), newMaker(1)
	var groups [][]event
	for range 8 {
		groups = append(groups, m.events(block.MaxEvents))
	}
	data := segmentOf(b, groups...)
	if _, _, err := folder.Create(name, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		b.Fatal(err)
	}
	for state, prepare := range map[string]func(){"nothing": func() { folder.Forget(name) }, "metadata": func() { folder.CloseUnused(0) }, "open": func() {}} {
		b.Run(state, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				prepare()
				file, err := folder.Open(name)
				if err != nil {
					b.Fatal(err)
				}
				file.Release()
			}
		})
	}
	b.Run("memory", func(b *testing.B) {
		var before, after runtime.MemStats
		var list []*File
		runtime.GC()
		runtime.ReadMemStats(&before)
		for b.Loop() {
			f, err := openBytes(data)
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, f)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(list)), "B/file")
		b.ReportMetric(float64(list[0].memory()), "counted-B/file")
		runtime.KeepAlive(list)
	})
}
