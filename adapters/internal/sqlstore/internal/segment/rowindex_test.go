package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// withIDs returns the rows of a group with some distinct ids.
func withIDs(f *File, group int, ids ...string) (found []int32, ok bool, err error) {
	values := make([]block.Value, len(ids))
	for i, id := range ids {
		values[i] = block.DistinctIDValue(id)
	}
	rows := f.Rows(group)
	defer func() { _ = rows.Close() }()
	return rows.WithDistinctIDs(values, []int32{-1})
}

// The index of a group has the rows of each distinct id, whether these are many or few, and of several at a
// time. The hashes of the distinct ids of this test differ.
func TestRows_WithDistinctIDs(t *testing.T) {
	m := newMaker(12)
	groups := [][]event{m.events(1), m.strange(900), m.events(3000), m.events(block.MaxEvents)}
	for i := range groups[2][:2000] {
		groups[2][i].DistinctID = "one of two thousand"
	}
	f := testFile(t, groups...)
	for g, events := range groups {
		want := map[string][]int32{}
		var ids []string
		for row := range events {
			id := events[row].DistinctID
			if want[id] == nil {
				ids = append(ids, id)
			}
			want[id] = append(want[id], int32(row))
		}
		for i, id := range ids {
			if found, ok, err := withIDs(f, g, id); !ok || err != nil || !slices.Equal(found, want[id]) {
				t.Fatalf("group %d, %q: %d, %t, %v; want %d", g, id, found, ok, err, want[id])
			}
			if i%100 > 0 {
				continue
			}
			other := ids[(i*7919+1)%len(ids)]
			both := slices.Compact(slices.Sorted(slices.Values(slices.Concat(want[id], want[other]))))
			if found, ok, err := withIDs(f, g, id, "nobody", other, id); !ok || err != nil || !slices.Equal(found, both) {
				t.Fatalf("group %d, %q and %q: %d, %t, %v; want %d", g, id, other, found, ok, err, both)
			}
		}
		for i := range 100 {
			if found, ok, err := withIDs(f, g, fmt.Sprint("nobody ", i)); !ok || err != nil || len(found) > 0 {
				t.Errorf("group %d: %d, %t, %v for an unknown distinct id", g, found, ok, err)
			}
		}
	}
	if _, _, err := withIDs(f, len(groups), "x"); err == nil {
		t.Error("a group that is not there has an index")
	}
}

// The rows of a distinct id in a full group are found by reading one page of less than a hundredth of its bytes.
func TestRows_WithDistinctIDsReads(t *testing.T) {
	events := newMaker(13).events(block.MaxEvents)
	f, count := counted(t, events)
	for i := 0; i < len(events); i += 1000 {
		*count = counter{ReaderAt: count.ReaderAt}
		found, ok, err := withIDs(f, 0, events[i].DistinctID)
		if !ok || err != nil || !slices.Contains(found, int32(i)) || count.reads != 1 || count.bytes > int(f.size)/100 {
			t.Errorf("event %d: %d, %t, %v, %d bytes of %d in %d reads", i, found, ok, err, count.bytes, f.size, count.reads)
		}
	}
}

// A file without an index, as earlier versions have written them, can be read, and says so.
func TestRows_WithoutIndex(t *testing.T) {
	groups := small(3)
	data := withFooter(t, segmentOf(t, groups...), func(m *format.FileMetaData) {
		m.KeyValueMetadata = slices.DeleteFunc(m.KeyValueMetadata, func(e format.KeyValue) bool { return e.Key == indexKey })
	})
	f, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	if found, ok, err := withIDs(f, 0, groups[0][0].DistinctID); ok || err != nil || len(found) > 0 {
		t.Errorf("%d, %t, %v", found, ok, err)
	}
	if got, err := readAll(data); err != nil || !slices.EqualFunc(got, groups, slices.Equal[[]event]) {
		t.Error("other events", err)
	}
}

// A changed byte of an index is found, and so is a row that the group does not have.
func TestRows_DamagedIndex(t *testing.T) {
	events := newMaker(14).events(3000)
	data := segmentOf(t, events)
	f, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := withIDs(f, 0, events[5].DistinctID)
	if err != nil || len(f.groups[0].index) != 4 {
		t.Fatal(f.groups[0].index, err)
	}
	found := 0
	begin, end := f.groups[0].index[0].offset, f.groups[0].index[3].offset+int64(f.groups[0].index[3].size)
	for at := begin; at < end; at++ {
		data[at] ^= 1 << (at % 8)
		got, _, err := withIDs(f, 0, events[5].DistinctID)
		switch {
		case errors.Is(err, block.ErrDamaged):
			found++
		case err != nil || !slices.Equal(got, want):
			t.Fatalf("byte %d: %d, %v; want %d", at, got, err, want)
		}
		data[at] ^= 1 << (at % 8)
	}
	if found < int(end-begin)/5 { // one page of four is read
		t.Errorf("%d changes of %d were found", found, end-begin)
	}
	f.groups[0].Events = 1
	if _, _, err := withIDs(f, 0, events[2000].DistinctID); !errors.Is(err, block.ErrDamaged) {
		t.Errorf("a row that is not there: %v", err)
	}
	f.data = io.NewSectionReader(bytes.NewReader(data), 0, begin)
	if _, _, err := withIDs(f, 0, events[5].DistinctID); !errors.Is(err, block.ErrDamaged) {
		t.Errorf("a file that was cut off: %v", err)
	}
}
