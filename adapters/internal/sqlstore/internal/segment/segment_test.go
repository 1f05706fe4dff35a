package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// segmentOf returns a segment with a group for each list of events.
func segmentOf(t testing.TB, groups ...[]event) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, events := range groups {
		add(t, w, events, nil)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func openBytes(data []byte) (*File, error) {
	return newFile("test.parquet", bytes.NewReader(data), int64(len(data)))
}

// testFile returns a file with a group for each list of events.
func testFile(t testing.TB, groups ...[]event) *File {
	t.Helper()
	f, err := openBytes(segmentOf(t, groups...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// short returns the events with the decoded short columns.
func short(c *block.Columns) (out []event) {
	for i := range c.IDs {
		out = append(out, event{Event: c.Event(i)})
	}
	return out
}

// readGroup reads the events of a group, the short columns by column. It fails if the columns of
// properties have other values than the properties.
func readGroup(f *File, g int, c *block.Columns) ([]event, error) {
	if err := errors.Join(f.Names(g, c), f.People(g, c), f.Origins(g, c)); err != nil {
		return nil, err
	}
	out := short(c)
	rows := f.Rows(g)
	defer func() { _ = rows.Close() }()
	if err := addLong(rows, 0, out); err != nil {
		return nil, err
	}
	return out, checkProperties(f, g, out)
}

// addLong reads the long columns of events from a row on.
func addLong(rows *Rows, first int, events []event) error {
	var long block.Chunk
	if err := rows.Long(first, len(events), &long); err != nil {
		return err
	}
	for i := range events {
		if long.IDs[i] != events[i].ID {
			return fmt.Errorf("event %d has the long columns of event %d", events[i].ID, long.IDs[i])
		}
		events[i].elements, events[i].properties, events[i].person = long.Elements[i], long.Properties[i], long.States[long.StateOf[i]]
	}
	return nil
}

// compare reports differences between events.
func compare(t *testing.T, what string, want, got []event) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("%s (-want +got)\n%.4000s", what, cmp.Diff(want, got, cmp.AllowUnexported(event{})))
	}
}

// Reading a segment returns the events that were written, in groups as they were written. Memory is
// used again from group to group.
func TestFile_RoundTrip(t *testing.T) {
	m := newMaker(1)
	groups := [][]event{m.events(1), m.events(700), m.strange(3000), m.events(block.MaxEvents), m.strange(1)}
	f := testFile(t, groups...)
	var c block.Columns
	var list []Group
	for i, want := range groups {
		got, err := readGroup(f, i, &c)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, fmt.Sprint("group ", i), want, got)
		list = append(list, Group{i, want[0].ID, want[len(want)-1].ID, len(want)})
	}
	if diff := cmp.Diff(list, f.Groups()); diff != "" {
		t.Error(diff)
	}
	if err := f.Names(len(groups), &c); err == nil {
		t.Error("a group that is not there was read")
	}
}

// A group of the maximum number of events may have as many distinct ids, names and persons.
func TestFile_AllDifferent(t *testing.T) {
	events := newMaker(2).events(block.MaxEvents)
	for i := range events {
		e := &events[i]
		e.Name, e.DistinctID = fmt.Sprint("event ", i), fmt.Sprint("someone ", i)
		e.Person, e.PersonCreated = capture.PersonID(1, e.DistinctID), int64(-i)
		e.properties, e.person = "{}", fmt.Sprintf(`{"n":%d}`, i)
	}
	got, err := readGroup(testFile(t, events), 0, &block.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "events", events, got)
}

// Events with ids in skip are left out, and groups without events, too. An error of the long columns
// is returned, and by all later calls, too.
func TestWriter_Skip(t *testing.T) {
	m := newMaker(3)
	first, second, third := m.events(5000), m.events(10), m.strange(200)
	skip := map[int64]bool{}
	var want []event
	for i, e := range first {
		if skip[e.ID] = i%3 == 0 || i == 4999; !skip[e.ID] {
			want = append(want, e)
		}
	}
	for _, e := range second {
		skip[e.ID] = true
	}
	var out bytes.Buffer
	w := NewWriter(&out)
	add(t, w, first, skip)
	add(t, w, second, skip)
	add(t, w, third, nil)
	if n := w.meta.NumRows; n != int64(len(want)+len(third)) {
		t.Errorf("%d events, want %d", n, len(want)+len(third))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := openBytes(out.Bytes())
	if err != nil || len(f.Groups()) != 2 {
		t.Fatal(f, err)
	}
	for i, want := range [][]event{want, third} {
		got, err := readGroup(f, i, &block.Columns{})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, fmt.Sprint("group ", i), want, got)
	}

	failed := errors.New("no long columns")
	w = NewWriter(io.Discard)
	err = w.Add(columnsOf(t, first), nil, func(i int) (string, string, string, error) {
		if i < 100 {
			return "", "{}", "{}", nil
		}
		return "", "", "", failed
	})
	if !errors.Is(err, failed) || !errors.Is(w.Add(columnsOf(t, third), nil, nil), failed) || !errors.Is(w.Close(), failed) {
		t.Errorf("%v", err)
	}
	if w.Close() == nil || w.Add(columnsOf(t, third), nil, nil) == nil {
		t.Error("a closed writer returns no error")
	}
}

// A segment without events can be written and opened.
func TestWriter_Empty(t *testing.T) {
	if f := testFile(t); len(f.Groups()) != 0 {
		t.Error(f.Groups())
	}
}

// A disk that is full is reported by Add or by Close.
func TestWriter_FullDisk(t *testing.T) {
	events := newMaker(4).events(300)
	for limit := range len(segmentOf(t, events)) / 1000 {
		w := NewWriter(&fullDisk{1000 * limit})
		_ = w.Add(columnsOf(t, events), nil, func(i int) (string, string, string, error) {
			return events[i].elements, events[i].properties, events[i].person, nil
		})
		if err := w.Close(); !errors.Is(err, errFull) {
			t.Errorf("%d bytes of space: %v", 1000*limit, err)
		}
	}
}

var errFull = errors.New("no space left")

// fullDisk has room for some bytes.
type fullDisk struct{ room int }

func (d *fullDisk) Write(data []byte) (int, error) {
	n := min(d.room, len(data))
	if d.room -= n; n < len(data) {
		return n, errFull
	}
	return n, nil
}
