package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// StreamBackend is the stream for Stream.
type StreamBackend interface {
	capture.Stream
	// Close closes the connection.
	Close()
}

// StreamOpener opens connections to one empty stream. If small is true the stream has
// space for about a megabyte, otherwise for much more.
type StreamOpener func(t testing.TB, small bool) (connect func() StreamBackend)

// Stream is the contract test of capture.Stream.
func Stream(t *testing.T, open StreamOpener) {
	t.Run("Decision_13_KeptBeforeItReturns", func(t *testing.T) { survivesReconnect(t, open(t, false)) })
	t.Run("Capture_13_2_Order", func(t *testing.T) { streamOrder(t, open(t, false)) })
	t.Run("AsAppended", func(t *testing.T) { keepsMessages(t, open(t, false)) })
	t.Run("AgainBehindAPlace", func(t *testing.T) { readsAfter(t, open(t, false)) })
	t.Run("PlaceOfAnother", func(t *testing.T) { foreignPosition(t, open(t, false)) })
	t.Run("TwoShare", func(t *testing.T) { twoReadersShare(t, open(t, false)) })
	t.Run("Decision_15_FullRefuses", func(t *testing.T) { fullRejects(t, open(t, true)) })
	t.Run("CancelledAndClosed", func(t *testing.T) { cancelledAndClosed(t, open(t, false)) })
}

// batchOf returns a batch with one event.
func batchOf(name string) *capture.Batch {
	t := epoch.Add(time.Microsecond)
	return &capture.Batch{ProjectID: testProject, Events: []capture.Event{{
		UUID: uuidOf(name), Name: name, DistinctID: "ann", Properties: `{"a":1}`, Timestamp: t, ReceivedAt: t,
	}}}
}

func appendTo(t testing.TB, s capture.Stream, b *capture.Batch) {
	t.Helper()
	must(t, s.Append(t.Context(), b))
}

// read returns the messages of a project's partition after a position, until it has n
// events. If a reader fails, for example because a broker was stopped, the next one
// continues after the messages read so far. The partition is known from the messages.
func read(t testing.TB, s capture.Stream, after capture.StreamPosition, events int) (list []capture.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for first := true; events > 0; first = false {
		if !first {
			time.Sleep(50 * time.Millisecond)
		}
		r, err := s.Open(ctx, after)
		for err == nil && events > 0 {
			var more []capture.Message
			if more, err = r.Next(ctx); err != nil {
				break
			}
			for _, m := range more {
				if m.Fault != nil {
					t.Fatal(m.Fault)
				}
				for _, b := range m.Batches {
					events -= len(b.Events)
				}
				after = m.StreamPosition
			}
			list = append(list, more...)
		}
		if r != nil {
			r.Close()
		}
		if ctx.Err() != nil {
			t.Fatalf("with %d messages: %v", len(list), err)
		}
	}
	return list
}

func names(list []capture.Message) (out []string) {
	for _, m := range list {
		for _, b := range m.Batches {
			for i := range b.Events {
				out = append(out, b.Events[i].Name)
			}
		}
	}
	return out
}

// beginning returns the first position of the project's partition, which it finds by
// sharing.
func beginning(t testing.TB, s capture.Stream) capture.StreamPosition {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	found := make(chan int, 1)
	go func() {
		_ = s.RunPartitions(ctx, func(ctx context.Context, n int) {
			for ctx.Err() == nil { // if a broker was just stopped, the first attempts may fail
				if list, err := peek(ctx, s, n); err == nil && list[0].Batches[0].ProjectID == testProject {
					found <- n
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
		close(found)
	}()
	n, ok := <-found
	if cancel(); !ok {
		t.Fatal("the events are in no partition")
	}
	for range found { // until sharing has ended
	}
	return capture.StreamPosition{Stream: s.ID(), Partition: n}
}

// peek returns the first messages of a partition.
func peek(ctx context.Context, s capture.Stream, partition int) ([]capture.Message, error) {
	r, err := s.Open(ctx, capture.StreamPosition{Stream: s.ID(), Partition: partition})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Next(ctx)
}

func survivesReconnect(t *testing.T, connect func() StreamBackend) {
	s := connect()
	appendTo(t, s, batchOf("kept"))
	s.Close() // state in this connection must not matter
	reader := connect()
	defer reader.Close()
	if reader.ID() != s.ID() {
		t.Errorf("the stream is called %q, then %q", s.ID(), reader.ID())
	}
	equal(t, []string{"kept"}, names(read(t, reader, beginning(t, reader), 1)), "")
}

func streamOrder(t *testing.T, connect func() StreamBackend) {
	s := connect()
	defer s.Close()
	const senders, each = 8, 25
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			for n := range each {
				if err := s.Append(t.Context(), batchOf(fmt.Sprintf("%d %02d", i, n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var before [senders]int
	list := read(t, s, beginning(t, s), senders*each)
	for _, name := range names(list) {
		var i, n int
		if _, err := fmt.Sscanf(name, "%d %02d", &i, &n); err != nil || n != before[i] {
			t.Fatalf("%q comes where number %d of its sender should", name, before[i])
		}
		before[i]++
	}
	for i := 1; i < len(list); i++ {
		if list[i].Seq <= list[i-1].Seq {
			t.Errorf("place %d follows %d", list[i].Seq, list[i-1].Seq)
		}
	}
}

func keepsMessages(t *testing.T, connect func() StreamBackend) {
	s := connect()
	defer s.Close()
	when := epoch.Add(time.Microsecond)
	b := batchOf("whole")
	b.Events[0].Set, b.Events[0].Flag = capture.Object{{Key: "é", Value: `"\u0000"`}}, &capture.FlagCall{Flag: "f", Value: "true"}
	b.Seen = []capture.SeenName{{ProjectID: testProject, Kind: capture.SeenGroupProperty, Group: 3, Name: "n", Type: "Numeric", At: when}}
	b.Warnings = []capture.Warning{{ProjectID: testProject, Type: "w", DistinctID: "ann", EventUUID: uuidOf("w"), Detail: "d", Count: 2, At: when}}
	b.Usage = []capture.Usage{{OrganizationID: "o", ProjectID: testProject, Resource: "events", At: when, N: 1}}
	appendTo(t, s, b)
	list := read(t, s, beginning(t, s), 1)
	equal(t, []*capture.Batch{b}, list[0].Batches, "")
	if age := time.Since(list[0].At); age < 0 || age > time.Minute {
		t.Errorf("it was taken in at %s", list[0].At)
	}
}

func readsAfter(t *testing.T, connect func() StreamBackend) {
	s := connect()
	defer s.Close()
	for _, name := range []string{"a", "b", "c", "d"} {
		appendTo(t, s, batchOf(name))
	}
	all := read(t, s, beginning(t, s), 4)
	for from, want := range [][]string{{"b", "c", "d"}, {"c", "d"}, {"d"}} {
		// Messages that were read but not marked as done are delivered repeatedly.
		equal(t, want, names(read(t, s, all[from].StreamPosition, len(want))), "")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := s.Open(ctx, all[0].StreamPosition)
	must(t, err)
	if err := r.Acknowledge(ctx, all[2].StreamPosition); err != nil {
		t.Error(err)
	}
	r.Close()
	equal(t, []string{"d"}, names(read(t, s, all[2].StreamPosition, 1)), "behind what is done")
}

// A position that the stream does not contain was stored before the stream lost its
// end: no message may be considered recorded.
func foreignPosition(t *testing.T, connect func() StreamBackend) {
	s := connect()
	defer s.Close()
	for _, name := range []string{"a", "b", "c"} {
		appendTo(t, s, batchOf(name))
	}
	all := read(t, s, beginning(t, s), 3)
	other, beyond := all[1].StreamPosition, all[2].StreamPosition
	other.ID = uuidOf("another message")
	beyond.Seq += 1000
	for _, p := range []capture.StreamPosition{other, beyond} {
		equal(t, []string{"a", "b", "c"}, names(read(t, s, p, 3)), "behind %+v", p)
	}
}

func twoReadersShare(t *testing.T, connect func() StreamBackend) {
	var mu sync.Mutex
	partitions := [2]map[int]bool{{}, {}}
	seen := map[int]bool{} // partitions that somebody has read
	count := func() (first, second, both, all int) {
		mu.Lock()
		defer mu.Unlock()
		for n := range partitions[0] {
			if partitions[1][n] {
				both++
			}
		}
		return len(partitions[0]), len(partitions[1]), both, len(seen)
	}
	share := func(i int) (leave func()) {
		s := connect()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := s.RunPartitions(ctx, func(ctx context.Context, n int) {
				mu.Lock()
				partitions[i][n], seen[n] = true, true
				mu.Unlock()
				<-ctx.Done()
				mu.Lock()
				delete(partitions[i], n)
				mu.Unlock()
			}); err != nil {
				t.Error(err)
			}
		}()
		return func() { cancel(); <-ended; s.Close() }
	}
	wait := func(what string, is func(first, second, both, all int) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !is(count()); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				first, second, both, all := count()
				t.Fatalf("%s: %d and %d, %d of them twice, of %d", what, first, second, both, all)
			}
		}
	}
	leaveFirst := share(0)
	defer func() { leaveFirst() }()
	same, before := 0, 0 // the partitions are taken one after the other
	wait("one has all", func(first, _, _, _ int) bool {
		if same++; first != before {
			same, before = 0, first
		}
		return first > 1 && same > 50
	})
	leaveSecond := share(1)
	defer func() { leaveSecond() }()
	wait("each has half", func(first, second, both, all int) bool {
		return first+second == all && both == 0 && first-second <= 1 && second-first <= 1
	})
	leaveFirst()
	leaveFirst = func() {}
	wait("the one that stays has all", func(first, second, _, all int) bool { return first == 0 && second == all })
}

func fullRejects(t *testing.T, connect func() StreamBackend) {
	s := connect()
	defer s.Close()
	var accepted []string
	for n := 0; ; n++ {
		b := batchOf(fmt.Sprint(n))
		b.Events[0].Properties = incompressible(100_000, n)
		err := s.Append(t.Context(), b)
		if errors.Is(err, capture.ErrUnavailable) {
			break
		}
		if err != nil || n > 100 {
			t.Fatalf("batch %d: %v, want ErrUnavailable when it is full", n, err)
		}
		accepted = append(accepted, fmt.Sprint(n))
	}
	if len(accepted) < 3 {
		t.Fatalf("only %d batches had room", len(accepted))
	}
	start := beginning(t, s)
	list := read(t, s, start, len(accepted))
	equal(t, accepted, names(list), "what was acknowledged")
	// After messages were marked as done, there is space for new ones.
	r, err := s.Open(t.Context(), start)
	must(t, err)
	if err := r.Acknowledge(t.Context(), list[len(list)-1].StreamPosition); err != nil {
		t.Error(err)
	}
	r.Close()
	appendTo(t, s, batchOf("room"))
}

// incompressible returns a JSON object of about n bytes that cannot be compressed.
func incompressible(size, seed int) string {
	out := make([]byte, 0, size+16)
	out = append(out, `{"x":"`...)
	for n := uint64(seed + 1); len(out) < size; {
		n ^= n << 13
		n ^= n >> 7
		n ^= n << 17
		out = append(out, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[n%64])
	}
	return string(append(out, `"}`...))
}

func cancelledAndClosed(t *testing.T, connect func() StreamBackend) {
	s := connect()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(ctx, batchOf("late")); err != nil && !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("with a cancelled context: %v", err)
	}
	if err := s.RunPartitions(ctx, func(context.Context, int) {}); err != nil {
		t.Errorf("sharing with a cancelled context: %v", err)
	}
	r, err := s.Open(t.Context(), capture.StreamPosition{Stream: s.ID(), Partition: 0})
	must(t, err)
	if list, err := r.Next(ctx); err == nil && len(list) == 0 {
		t.Error("reading with a cancelled context returns nothing, and no error")
	}
	r.Close()
	s.Close()
	if err := s.Append(t.Context(), batchOf("closed")); !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("closed: %v, want ErrUnavailable", err)
	}
}
