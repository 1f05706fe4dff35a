package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// counter counts reads and bytes.
type counter struct {
	io.ReaderAt
	reads, bytes int
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	c.bytes += len(p)
	return c.ReaderAt.ReadAt(p, off)
}

// counted opens a segment with reads that are counted from then on.
func counted(t *testing.T, groups ...[]event) (*File, *counter) {
	t.Helper()
	data := segmentOf(t, groups...)
	c := &counter{ReaderAt: bytes.NewReader(data)}
	f, err := newFile("test.parquet", c, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	*c = counter{ReaderAt: c.ReaderAt}
	return f, c
}

// Ranges of rows have the events of these rows, in any order of the ranges, and strings of a range
// remain valid when further ranges are read.
func TestRows_Ranges(t *testing.T) {
	m := newMaker(6)
	before := m.events(3)
	events := append(m.events(6000), m.strange(1500)...)
	f := testFile(t, before, events)
	rows := f.Rows(1)
	random := rand.New(rand.NewPCG(7, 7))
	type part struct {
		first int
		got   []event
	}
	var parts []part
	for range 200 {
		first := random.IntN(len(events) + 1)
		n := min(len(events)-first, random.IntN(300)>>random.IntN(9))
		var c block.Columns
		if err := rows.Short(first, n, &c); err != nil {
			t.Fatal(err)
		}
		if len(c.Names) > n || len(c.DistinctIDs) > n || len(c.Persons) > n || len(c.Persons) != len(c.PersonCreated) {
			t.Fatalf("%d names, %d distinct ids, %d persons of %d events", len(c.Names), len(c.DistinctIDs), len(c.Persons), n)
		}
		got := short(&c)
		if err := addLong(rows, first, got); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part{first, got})
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		compare(t, fmt.Sprintf("%d events from %d", len(p.got), p.first), events[p.first:p.first+len(p.got)], p.got)
	}
	for _, r := range [][2]int{{-1, 1}, {0, 7501}, {7501, 0}, {7500, 1}, {3, -1}} {
		rows := f.Rows(1)
		if rows.Short(r[0], r[1], &block.Columns{}) == nil || rows.Long(r[0], r[1], &block.Chunk{}) == nil {
			t.Errorf("%d events from %d were read", r[1], r[0])
		}
	}
	if rows.Short(0, 1, &block.Columns{}) == nil || f.Rows(2).Long(0, 1, &block.Chunk{}) == nil {
		t.Error("closed rows, or those of a group that is not there, were read")
	}
}

// Some rows have the long strings, and the names, of these rows, whether they are many or few.
func TestRows_EachText(t *testing.T) {
	m := newMaker(16)
	events := append(m.events(3000), m.strange(700)...)
	f := testFile(t, events)
	rows := f.Rows(0)
	defer func() { _ = rows.Close() }()
	for _, step := range []int{1, 2, 3, 50, 3699} {
		var some []int32
		for row := step / 2; row < len(events); row += step {
			some = append(some, int32(row))
		}
		for column, text := range map[Text]func(e *event) string{
			Elements: func(e *event) string { return e.elements }, Properties: func(e *event) string { return e.properties },
			PersonProperties: func(e *event) string { return e.person },
		} {
			var list []string
			err := rows.EachText(column, some, func(text []byte) { list = append(list, string(text)) })
			if err != nil || len(list) != len(some) {
				t.Fatalf("%d of %d strings, %v", len(list), len(some), err)
			}
			for i, row := range some {
				if want := text(&events[row]); list[i] != want {
					t.Fatalf("every %d: row %d of column %d: %.50q, want %.50q", step, row, column, list[i], want)
				}
			}
		}
		var c block.Columns
		for _, row := range some {
			if err := rows.Read(IDs|Times|EventNames, int(row), 1, &c); err != nil || c.IDs[0] != events[row].ID || c.Times[0] != events[row].Time || c.Names[c.NameOf[0]] != events[row].Name {
				t.Fatalf("row %d: %d, %v", row, c.IDs, err)
			}
		}
	}
	for _, row := range []int32{-1, 3700} {
		if err := rows.EachText(Properties, []int32{row}, func([]byte) {}); err == nil || rows.Read(EventNames, int(row), 1, &block.Columns{}) == nil {
			t.Errorf("row %d was read", row)
		}
	}
}

// Reading a group in ranges that follow one another reads each page and each dictionary once.
func TestRows_PagesOnce(t *testing.T) {
	f, count := counted(t, newMaker(8).events(9000))
	pages := 0
	for i := range f.groups[0].chunks {
		c := &f.groups[0].chunks[i]
		pages += c.count()
		if c.hasDictionary() {
			pages++
		}
	}
	rows := f.Rows(0)
	defer func() { _ = rows.Close() }()
	var c block.Columns
	var long block.Chunk
	for first := 0; first < 9000; first += 90 {
		if err := errors.Join(rows.Short(first, 90, &c), rows.Long(first, 90, &long)); err != nil {
			t.Fatal(err)
		}
	}
	if count.reads != pages {
		t.Errorf("%d reads of %d pages", count.reads, pages)
	}
}

// One event is found and read by reading a page of each column and the dictionaries, which are a
// small part of the group.
func TestRows_OneEvent(t *testing.T) {
	events := newMaker(9).events(block.MaxEvents)
	f, count := counted(t, events)
	for i := 5; i < len(events); i += 2000 {
		*count = counter{ReaderAt: count.ReaderAt}
		rows := f.Rows(0)
		row, ok, err := rows.Find(events[i].ID)
		if err != nil || !ok || row != i {
			t.Fatalf("event %d of id %d: %d, %t, %v", i, events[i].ID, row, ok, err)
		}
		var c block.Columns
		if err := rows.Short(row, 1, &c); err != nil {
			t.Fatal(err)
		}
		got := short(&c)
		if err := addLong(rows, row, got); err != nil {
			t.Fatal(err)
		}
		compare(t, "event", events[i:i+1], got)
		const dictionaries = 5
		if count.reads > columnCount+dictionaries || count.bytes > int(f.size)/4 {
			t.Errorf("%d bytes of %d in %d reads", count.bytes, f.size, count.reads)
		}
		_ = rows.Close()
	}
	rows := f.Rows(0)
	defer func() { _ = rows.Close() }()
	for i := 1; i < len(events); i++ {
		for id := events[i-1].ID + 1; id < events[i].ID; id++ {
			if _, ok, err := rows.Find(id); ok || err != nil {
				t.Fatalf("id %d: %t, %v", id, ok, err)
			}
		}
	}
	for _, id := range []int64{-1, 0, events[len(events)-1].ID + 1} {
		if _, ok, err := rows.Find(id); ok || err != nil {
			t.Errorf("id %d: %t, %v", id, ok, err)
		}
	}
}

// Pages of long columns have at most the bytes of the table longBytes before compression, unless they have one row.
func TestWriter_PageSizes(t *testing.T) {
	events := newMaker(10).events(4000)
	events[100].properties = strings.Repeat("a long text ", 100_000)
	f := testFile(t, events)
	for _, at := range []int{elementsColumn, propertiesColumn, stateColumn} {
		c := &f.groups[0].chunks[at]
		for i := range c.count() {
			p := c.page(i)
			size := 0
			for _, e := range events[p.first : p.first+p.rows] {
				size += len([...]string{e.elements, e.properties, e.person}[at-elementsColumn])
			}
			if size > longBytes[at] && p.rows > 1 || p.rows > shortRows {
				t.Errorf("column %d: a page of %d rows and %d bytes", at, p.rows, size)
			}
		}
		if at == propertiesColumn && c.count() < 20 {
			t.Errorf("%d pages of properties", c.count())
		}
	}
}
