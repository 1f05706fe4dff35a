package segment

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// eventsAt reads events of a group by their rows, and gives them their ids and times, which Events does not read.
func eventsAt(rows *Rows, all []event, at []int) (out []event, err error) {
	err = rows.Events(at, func(i int, e *block.Event, t *Texts) {
		e.ID, e.Time = all[at[i]].ID, all[at[i]].Time
		out = append(out, event{*e, t.Elements, t.Properties, t.PersonProperties})
	})
	return out, err
}

// A few events of a group, and many, are those of their rows, in groups with dictionaries and without, with ordinary
// and strange values, also with one reader in turn.
func TestRows_Events(t *testing.T) {
	m := newMaker(26)
	groups := [][]event{m.events(9000), m.strange(1500), m.events(1)}
	for i := range groups[1] {
		groups[1][i].DistinctID = fmt.Sprint("other ", i)
	}
	f := testFile(t, groups...)
	if !f.groups[0].chunks[distinctColumn].hasDictionary() || f.groups[1].chunks[distinctColumn].hasDictionary() {
		t.Fatal("want a group with a dictionary and one without")
	}
	for g, events := range groups {
		rows := f.Rows(g)
		last := len(events) - 1
		for _, at := range [][]int{{0}, {last}, {last / 2, last}, {0, last / 3, last / 2, last}, {0, last / 5, last / 3, last / 2, 2 * last / 3, last}, {}} {
			at = slices.Compact(at)
			var want []event
			for _, row := range at {
				want = append(want, events[row])
			}
			got, err := eventsAt(rows, events, at)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, fmt.Sprintf("group %d, rows %d", g, at), want, got)
			var c block.Columns
			if err := rows.Short(last, 1, &c); err != nil || c.Event(0) != events[last].Event {
				t.Errorf("group %d, the last event afterwards: %v", g, err)
			}
		}
		for _, row := range []int{-1, last + 1} {
			if _, err := eventsAt(rows, events, []int{row}); err == nil {
				t.Errorf("row %d was read", row)
			}
		}
		_ = rows.Close()
		if _, err := eventsAt(rows, events, []int{0}); err == nil {
			t.Error("closed rows were read")
		}
	}
}

// An event is read with a page of each column except those of ids and times, and the dictionaries.
func TestRows_EventReads(t *testing.T) {
	events := newMaker(9).events(block.MaxEvents)
	f, count := counted(t, events)
	want := columnCount - 2
	for i := range f.groups[0].chunks {
		if f.groups[0].chunks[i].hasDictionary() {
			want++
		}
	}
	rows := f.Rows(0)
	defer func() { _ = rows.Close() }()
	if _, err := eventsAt(rows, events, []int{7000}); err != nil || count.reads != want {
		t.Errorf("%d reads, want %d, %v", count.reads, want, err)
	}
}

// An event of a file with a changed byte has the right values, or the file is damaged.
func TestRows_EventOfChangedFile(t *testing.T) {
	groups := small(3)
	data := segmentOf(t, groups...)
	for i := 0; i < len(data); i += 3 {
		changed := slices.Clone(data)
		changed[i] ^= 1 << (i % 8)
		f, err := openBytes(changed)
		if err != nil {
			continue
		}
		rows := f.Rows(1)
		got, err := eventsAt(rows, groups[1], []int{5})
		if err == nil && got[0] != groups[1][5] {
			t.Fatalf("another byte %d of %d changes an event", i, len(data))
		}
		if err != nil && !errors.Is(err, block.ErrDamaged) {
			t.Fatalf("byte %d: %v", i, err)
		}
		_ = rows.Close()
	}
}

// Events whose properties cannot be compressed, and whose pages are larger than others, are read.
func TestRows_LargePages(t *testing.T) {
	m := newMaker(27)
	events := m.events(300)
	for _, i := range []int{0, 7, 150, 299} {
		text := make([]byte, 100_000+70_000*(i%3))
		for k := range text {
			text[k] = byte('0' + m.IntN(75))
		}
		events[i].properties = fmt.Sprintf(`{"text":%q}`, text)
	}
	f := testFile(t, events)
	if f.groups[0].chunks[propertiesColumn].large == nil || f.groups[0].chunks[idColumn].large != nil {
		t.Fatal("want large pages of properties only")
	}
	all, err := readGroup(f, 0, &block.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "all events", events, all)
	rows := f.Rows(0)
	defer func() { _ = rows.Close() }()
	for _, i := range []int{0, 6, 7, 8, 299} {
		got, err := eventsAt(rows, events, []int{i})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, fmt.Sprint("event ", i), events[i:i+1], got)
	}
}
