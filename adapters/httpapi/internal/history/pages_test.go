package history

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
)

// eventHistory is a history of events, newest first, that records the limit of each read. Other
// methods of the interface panic.
type eventHistory struct {
	capture.History
	events []capture.Record
	limits []int
	err    error
}

func (h *eventHistory) Events(_ context.Context, _ int64, q capture.EventQuery) ([]capture.Record, error) {
	h.limits = append(h.limits, q.Limit)
	from := 0
	if q.After != nil {
		from = 1 + slices.IndexFunc(h.events, func(e capture.Record) bool { return e.ID == q.After.ID })
	}
	return slices.Clone(h.events[from:min(from+q.Limit, len(h.events))]), h.err
}

func (h *eventHistory) Ledger(_ context.Context, _, after int64, n int) ([]capture.Record, error) {
	h.limits = append(h.limits, n)
	var out []capture.Record
	for _, e := range slices.Backward(h.events) {
		if e.ID > after && len(out) < n {
			out = append(out, e)
		}
	}
	return out, h.err
}

// eventsOfSize returns n events with properties of a size in bytes. The newest has the ID n.
func eventsOfSize(n, size int) []capture.Record {
	properties := strings.Repeat(" ", size)
	out := make([]capture.Record, n)
	for i := range out {
		out[i] = capture.Record{ID: int64(n - i), Timestamp: time.Unix(int64(n-i), 0).UTC(), Properties: properties, DistinctID: "d", Name: "e"}
	}
	return out
}

// idsOf returns the first and the last ID of a list, and its length.
func idsOf(list []capture.Record) [3]int64 {
	if len(list) == 0 {
		return [3]int64{}
	}
	return [3]int64{list[0].ID, list[len(list)-1].ID, int64(len(list))}
}

// A page is read in chunks: 20 objects first, then as many of the largest size so far as fit into
// the remaining 8 MiB, and at least one until the page is full.
func TestPieces(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, c := range map[string]struct {
		limit int
		added []int // sizes
		want  int
	}{
		"the first chunk":         {100, nil, 20},
		"a small page":            {7, nil, 7},
		"an empty page":           {0, nil, 0},
		"the rest of the page":    {100, slices.Repeat([]int{1000}, 20), 80},
		"objects without bytes":   {100, slices.Repeat([]int{0}, 20), 80},
		"a full page":             {20, slices.Repeat([]int{1000}, 20), 0},
		"four of 1 MiB":           {100, slices.Repeat([]int{mib}, 4), 4},
		"less than one that fits": {100, append(slices.Repeat([]int{mib}, 7), mib/2), 1},
		"one byte below the end":  {100, []int{8*mib - 1}, 1},
		"at the end":              {100, []int{8 * mib}, 0},
		"beyond the end":          {100, []int{20 * mib}, 0},
		"the largest of them":     {100, []int{2 * mib, 10, 10}, 2}, // (8 MiB - 2 MiB - 20) / 2 MiB
	} {
		p := pieces{limit: c.limit}
		for _, size := range c.added {
			p.add(size)
		}
		if got := p.next(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// A page of events: its chunks, its end by number or by size, and whether further events follow.
func TestNewestEvents_Pages(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, c := range map[string]struct {
		events []capture.Record
		limit  int
		cursor string
		limits []int
		want   [3]int64
		next   string
	}{
		"no events":             {nil, 100, "", []int{20}, [3]int64{}, ""},
		"fewer than a chunk":    {eventsOfSize(19, 1), 100, "", []int{20}, [3]int64{19, 1, 19}, ""},
		"exactly a chunk":       {eventsOfSize(20, 1), 100, "", []int{20, 80}, [3]int64{20, 1, 20}, ""},
		"exactly a page":        {eventsOfSize(100, 1), 100, "", []int{20, 80, 1}, [3]int64{100, 1, 100}, ""},
		"one more than a page":  {eventsOfSize(101, 1), 100, "", []int{20, 80, 1}, [3]int64{101, 2, 100}, "2000000_2"},
		"the next page":         {eventsOfSize(101, 1), 100, "2000000_2", []int{20}, [3]int64{1, 1, 1}, ""},
		"a page of one":         {eventsOfSize(3, 1), 1, "", []int{1, 1}, [3]int64{3, 3, 1}, "3000000_3"},
		"large events":          {eventsOfSize(30, mib), 100, "", []int{20, 1}, [3]int64{30, 11, 20}, "11000000_11"},
		"events of half a page": {eventsOfSize(9, 5*mib), 2, "", []int{2, 1}, [3]int64{9, 8, 2}, "8000000_8"},
	} {
		h := &eventHistory{events: c.events}
		got, next, skip, err := (&Reader{History: h}).newestEvents(context.Background(), 1, capture.EventQuery{}, frame.Range{Limit: c.limit, Cursor: c.cursor}, nil)
		if err != nil || skip != 0 || idsOf(got) != c.want || next != c.next || !cmp.Equal(h.limits, c.limits) {
			t.Errorf("%s: %v of the reads %v, next %q, %v; want %v of %v, %q", name, idsOf(got), h.limits, next, err, c.want, c.limits, c.next)
		}
	}
}

// Filters and offsets read one event after the other: matches before the offset are skipped, a page
// ends at its limit, and a scan without results returns the cursor where the next one continues.
func TestNewestEvents_Filtered(t *testing.T) {
	t.Parallel()
	even := func(e *capture.Record) bool { return e.ID%2 == 0 }
	never := func(*capture.Record) bool { return false }
	for name, c := range map[string]struct {
		events int
		p      frame.Range
		match  func(*capture.Record) bool
		want   [3]int64
		next   string
		skip   int
	}{
		"some match":               {10, frame.Range{Limit: 3}, even, [3]int64{10, 6, 3}, "6000000_6", 0},
		"the rest":                 {10, frame.Range{Limit: 3, Cursor: "6000000_6"}, even, [3]int64{4, 2, 2}, "", 0},
		"an offset":                {10, frame.Range{Limit: 2, Offset: 2}, even, [3]int64{6, 4, 2}, "4000000_4", 0},
		"an offset without filter": {10, frame.Range{Limit: 2, Offset: 3}, nil, [3]int64{7, 6, 2}, "6000000_6", 0},
		"an offset after the end":  {10, frame.Range{Limit: 2, Offset: 7}, even, [3]int64{}, "", 2},
		"none match":               {10, frame.Range{Limit: 2}, never, [3]int64{}, "", 0},
		"too many to scan":         {capture.SearchScan + 1, frame.Range{Limit: 2}, never, [3]int64{}, "1000000_1", 0},
		"too many to skip":         {capture.SearchScan + 1, frame.Range{Limit: 2, Offset: capture.SearchScan + 5}, nil, [3]int64{}, "1000000_1", 5},
	} {
		h := &eventHistory{events: eventsOfSize(c.events, 0)}
		got, next, skip, err := (&Reader{History: h}).newestEvents(context.Background(), 1, capture.EventQuery{}, c.p, c.match)
		if strings.HasPrefix(name, "too many") { // the scan ends after SearchScan events, so the oldest one was not read
			c.next = frame.EventCursor(time.Unix(2, 0), 2)
		}
		if err != nil || idsOf(got) != c.want || next != c.next || skip != c.skip {
			t.Errorf("%s: %v, next %q, skip %d, %v", name, idsOf(got), next, skip, err)
		}
	}
	h := &eventHistory{events: eventsOfSize(5, 5<<20)}
	if got, next, _, err := (&Reader{History: h}).newestEvents(context.Background(), 1, capture.EventQuery{}, frame.Range{Limit: 5}, func(*capture.Record) bool { return true }); err != nil || len(got) != 2 || next != "4000000_4" {
		t.Errorf("large matches: %v, %q, %v", idsOf(got), next, err)
	}
	// The result of a scan that has run out of time is not complete.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, _, err := (&Reader{History: &eventHistory{events: eventsOfSize(5, 0)}}).newestEvents(ctx, 1, capture.EventQuery{}, frame.Range{Limit: 5}, even); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The order of recording: the oldest first, with the ID as the cursor. Events that do not match
// leave a page with fewer results, even an empty one, and still a cursor.
func TestRecordedEvents(t *testing.T) {
	t.Parallel()
	at := func(n int64) time.Time { return time.Unix(n, 0).UTC() }
	for name, c := range map[string]struct {
		q     capture.EventQuery
		p     frame.Range
		match func(*capture.Record) bool
		want  [3]int64
		next  string
	}{
		"all":              {capture.EventQuery{}, frame.Range{Limit: 100}, nil, [3]int64{1, 5, 5}, ""},
		"a page":           {capture.EventQuery{}, frame.Range{Limit: 2}, nil, [3]int64{1, 2, 2}, "2"},
		"the next page":    {capture.EventQuery{}, frame.Range{Limit: 2, Cursor: "2"}, nil, [3]int64{3, 4, 2}, "4"},
		"the last page":    {capture.EventQuery{}, frame.Range{Limit: 2, Cursor: "4"}, nil, [3]int64{5, 5, 1}, ""},
		"from a time":      {capture.EventQuery{From: at(4)}, frame.Range{Limit: 100}, nil, [3]int64{4, 5, 2}, ""},
		"before a time":    {capture.EventQuery{To: at(4)}, frame.Range{Limit: 100}, nil, [3]int64{1, 3, 3}, ""},
		"none on the page": {capture.EventQuery{From: at(4)}, frame.Range{Limit: 2}, nil, [3]int64{}, "2"},
		"another name":     {capture.EventQuery{Name: "x"}, frame.Range{Limit: 2}, nil, [3]int64{}, "2"},
		"the name":         {capture.EventQuery{Name: "e"}, frame.Range{Limit: 2}, nil, [3]int64{1, 2, 2}, "2"},
		"a distinct id":    {capture.EventQuery{DistinctIDs: []string{"c", "d"}}, frame.Range{Limit: 2}, nil, [3]int64{1, 2, 2}, "2"},
		"no distinct id":   {capture.EventQuery{DistinctIDs: []string{}}, frame.Range{Limit: 2}, nil, [3]int64{}, "2"},
		"a filter":         {capture.EventQuery{}, frame.Range{Limit: 3}, func(e *capture.Record) bool { return e.ID%2 == 0 }, [3]int64{2, 2, 1}, "3"},
	} {
		got, next, err := (&Reader{History: &eventHistory{events: eventsOfSize(5, 1)}}).recordedEvents(context.Background(), 1, c.q, c.p, c.match)
		if err != nil || idsOf(got) != c.want || next != c.next {
			t.Errorf("%s: %v, next %q, %v", name, idsOf(got), next, err)
		}
	}
	for _, order := range []func(*Reader) error{
		func(rd *Reader) error {
			_, _, err := rd.recordedEvents(context.Background(), 1, capture.EventQuery{}, frame.Range{Limit: 1, Cursor: "x"}, nil)
			return err
		},
		func(rd *Reader) error {
			_, _, _, err := rd.newestEvents(context.Background(), 1, capture.EventQuery{}, frame.Range{Limit: 1, Cursor: "x"}, nil)
			return err
		},
	} {
		h := &eventHistory{}
		if err := order(&Reader{History: h}); err == nil || len(h.limits) > 0 {
			t.Errorf("an invalid cursor: %v after the reads %v", err, h.limits)
		}
	}
}
