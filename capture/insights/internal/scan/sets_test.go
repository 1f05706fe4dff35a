package scan

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// A set contains each cell once, also after its table has grown, and counts its memory.
func TestSet_Cells(t *testing.T) {
	t.Parallel()
	var reserved int64
	s := &Set{Reserve: func(n int64) error { reserved += n; return nil }}
	put := func(c Cell, want int) {
		t.Helper()
		if err := s.Put(c); err != nil || s.Len != want {
			t.Errorf("%+v: %d cells, %v; want %d", c, s.Len, err, want)
		}
	}
	// Cells that differ in one member only; the zero cell is a cell.
	for i, c := range []Cell{{}, {Value: 1}, {Bucket: 1}, {Actor: 1}, {1, 1, 1}} {
		put(c, i+1)
		put(c, i+1)
	}
	if want := []Cell{{}, {Bucket: 1}, {Actor: 1}, {Value: 1}, {1, 1, 1}}; !slices.Equal(s.Sorted(), want) {
		t.Errorf("by value, actor and bucket: got %v, want %v", s.Sorted(), want)
	}
	// The first table has 1,024 entries, each for 32 actors that follow one another, and is at most three quarters
	// full. The first five cells are in four entries.
	for i := range uint32(764) {
		put(Cell{Value: 2, Actor: 32*i + i%32}, int(i)+6)
	}
	if reserved != 16*1024 {
		t.Errorf("768 entries: %d bytes are reserved, want 16 for each of 1,024 entries", reserved)
	}
	put(Cell{Value: 2, Actor: 31}, 770) // of the first entry of the value
	if reserved != 16*2048 {
		t.Errorf("before the next entry: %d bytes are reserved, want 16 for each of 2,048 entries", reserved)
	}
	put(Cell{Value: 3}, 771)
	put(Cell{Value: 2, Actor: 32*500 + 500%32}, 771)
	count, sum := 0, 0
	s.Each(func(c Cell) {
		if c.Value == 2 && (c.Actor == 31 || c.Actor%32 == c.Actor/32%32) {
			count++
		}
	})
	s.EachCount(func(value, _ uint32, actors int) {
		if value == 2 {
			sum += actors
		}
	})
	if count != 765 || sum != 765 {
		t.Errorf("after growing %d and %d of 765 cells are there", count, sum)
	}
	full := errors.New("full")
	s = &Set{Reserve: func(int64) error { return full }}
	if err := s.Put(Cell{}); !errors.Is(err, full) || s.Len != 0 {
		t.Errorf("without memory: %d cells, %v", s.Len, err)
	}
}

// Strings have numbers in the order in which they occur, and are copies.
func TestStrings_Numbers(t *testing.T) {
	t.Parallel()
	var reserved int64
	s := NewStrings(func(n int64) error { reserved += n; return nil })
	memory := []byte("b a b  ")
	for i, want := range []uint32{0, 1, 2, 1, 0} {
		if n, err := s.Number(string(memory[i : i+1])); n != want || err != nil {
			t.Errorf("%q: %d, %v; want %d", memory[i], n, err, want)
		}
	}
	if !slices.Equal(s.All, []string{"b", " ", "a"}) || reserved != 3*(1+72) {
		t.Errorf("%q, %d bytes", s.All, reserved)
	}
	full := errors.New("full")
	s.Reserve = func(int64) error { return full }
	if n, err := s.Number("new"); n != 3 || !errors.Is(err, full) {
		t.Errorf("without memory: %d, %v; the number is valid nevertheless", n, err)
	}
	if n, err := s.Number("a"); n != 2 || err != nil {
		t.Errorf("a string that has a number: %d, %v", n, err)
	}
}

// Chains return the values of each actor in the order in which they were added, in whatever order the
// actors came, over several pieces of the arena.
func TestChains_Each(t *testing.T) {
	t.Parallel()
	c := NewChains[int](8, func(int64) error { return nil })
	// Actor 7 before actor 0; actor 3 has no values. 3·4,096 values need three pieces.
	const n = 3 << pieceBits
	for i := range n {
		if err := c.Add([]uint32{7, 0, 0}[i%3], i); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Longest(); got != 2*n/3 {
		t.Errorf("the longest chain has %d values, want %d", got, 2*n/3)
	}
	var actors []uint32
	err := c.Each(func(actor uint32, values []int) error {
		actors = append(actors, actor)
		want := n / 3
		if actor == 0 {
			want = 2 * n / 3
		}
		if len(values) != want || !slices.IsSorted(values) || actor == 7 && slices.ContainsFunc(values, func(v int) bool { return v%3 != 0 }) {
			t.Errorf("actor %d has %d values, want %d in their order", actor, len(values), want)
		}
		clear(values) // permitted: the next actor has its own
		return nil
	})
	if err != nil || !slices.Equal(actors, []uint32{0, 7}) {
		t.Errorf("actors %v, %v", actors, err)
	}
	stop := errors.New("stop")
	if err := c.Each(func(uint32, []int) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of yield: %v", err)
	}
	full := errors.New("full")
	if err := NewChains[int](8, func(int64) error { return full }).Add(0, 1); !errors.Is(err, full) {
		t.Errorf("without memory: %v", err)
	}
}

// Values of a session (§3.2.5): entry and exit are those of the first and the last event with a URL, of
// equal times by the order of recording; events may come in any order.
func TestSession_Values(t *testing.T) {
	t.Parallel()
	type step struct {
		name, url string
		second    int64
		id        int64
	}
	for _, c := range []struct {
		of    string
		steps []step
		want  string
	}{
		{"one event without a URL", []step{{"a", "", 10, 1}}, `0 0   `},
		{"a page", []step{{"$pageview", `"https://s.io/in?q=1"`, 10, 1}}, `0 1 "https://s.io/in?q=1" "https://s.io/in?q=1" "/in"`},
		{"in their order", []step{{"$pageview", `"https://s.io/a"`, 10, 1}, {"x", "", 20, 2}, {"$pageview", `"https://s.io/b"`, 90, 3}}, `80 2 "https://s.io/a" "https://s.io/b" "/a"`},
		{"in another order", []step{{"$pageview", `"https://s.io/b"`, 90, 3}, {"$pageview", `"https://s.io/a"`, 10, 1}, {"x", `"https://s.io/x"`, 20, 2}}, `80 2 "https://s.io/a" "https://s.io/b" "/a"`},
		{"events without a URL extend it", []step{{"x", "", 5, 1}, {"$pageview", `"https://s.io/a"`, 10, 2}, {"x", "null", 70, 3}}, `65 1 "https://s.io/a" "https://s.io/a" "/a"`},
		{"one time: the order of recording", []step{{"x", `"https://s.io/2"`, 10, 2}, {"x", `"https://s.io/3"`, 10, 3}, {"x", `"https://s.io/1"`, 10, 1}}, `0 0 "https://s.io/1" "https://s.io/3" "/1"`},
		{"a URL without a path", []step{{"x", `"https://s.io"`, 10, 1}}, `0 0 "https://s.io" "https://s.io" "/"`},
		{"a path with escapes", []step{{"x", `"https://s.io/%C3%A4%20b#c"`, 10, 1}}, `0 0 "https://s.io/%C3%A4%20b#c" "https://s.io/%C3%A4%20b#c" "/ä b"`},
		{"a URL that is none", []step{{"x", `"https://s.io/%zz"`, 10, 1}}, `0 0 "https://s.io/%zz" "https://s.io/%zz" `},
	} {
		b := &Binder{Run: NewRun(t.Context(), nil, &port.Project{}, port.Options{}), sessionsByID: map[string]*Session{}}
		for _, s := range c.steps {
			batch := &port.Batch{Time: []int64{s.second * 1e6}, ID: []int64{s.id}, Name: []string{s.name}}
			if err := b.addToSession("s", s.url, batch, 0); err != nil {
				t.Fatal(err)
			}
		}
		s := b.sessionsByID["s"]
		value := func(name string) string { return SessionValues[name](s) }
		got := fmt.Sprint(value("$session_duration"), " ", value("$pageview_count"), " ", value("$entry_current_url"), " ", value("$exit_current_url"), " ", value("$entry_pathname"))
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.of, got, c.want)
		}
	}
	// A duration is rounded down to seconds; times are in UTC with their fraction.
	s := &Session{Start: 1_999_999, End: 3_999_998}
	if got := SessionValues["$session_duration"](s) + SessionValues["$start_timestamp"](s) + SessionValues["$end_timestamp"](s); got != `1"1970-01-01T00:00:01.999999Z""1970-01-01T00:00:03.999998Z"` {
		t.Errorf("got %s", got)
	}
}
