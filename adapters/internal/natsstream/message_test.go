package natsstream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"

	"github.com/bunting-flags/bunting/capture"
)

// arrivingPart is a part of a message that arrives, and its effect.
type arrivingPart struct {
	id          byte // of the message
	part, parts int
	attempt     string
	complete    bool
	strays      string // the positions of parts that belong to no complete message
}

// The parts of a message arrive in order, but the parts of an attempt that was never acknowledged
// may precede them: they are strays, whose positions are recorded without events.
func TestAssembly(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]arrivingPart{
		"one part":            {{1, 0, 1, "a", true, ""}},
		"one part each":       {{1, 0, 1, "a", true, ""}, {2, 0, 1, "a", true, ""}},
		"three parts":         {{1, 0, 3, "a", false, ""}, {1, 1, 3, "a", false, ""}, {1, 2, 3, "a", true, ""}},
		"no beginning":        {{1, 1, 2, "a", false, "1"}, {2, 0, 1, "a", true, ""}},
		"only the end":        {{1, 2, 3, "a", false, "1"}},
		"no end":              {{1, 0, 2, "a", false, ""}, {2, 0, 1, "a", true, "1"}},
		"no end of two parts": {{1, 0, 3, "a", false, ""}, {1, 1, 3, "a", false, ""}, {2, 0, 2, "a", false, "1 2"}, {2, 1, 2, "a", true, ""}},
		"a gap":               {{1, 0, 3, "a", false, ""}, {1, 2, 3, "a", false, "1 2"}, {1, 1, 3, "a", false, "3"}},
		"a part twice":        {{1, 0, 3, "a", false, ""}, {1, 1, 3, "a", false, ""}, {1, 1, 3, "a", false, "1 2 3"}},
		"the beginning twice": {{1, 0, 2, "a", false, ""}, {1, 0, 2, "a", false, "1"}, {1, 1, 2, "a", true, ""}},
		"another attempt":     {{1, 0, 2, "a", false, ""}, {1, 1, 2, "b", false, "1 2"}},
		"a new attempt":       {{1, 0, 2, "a", false, ""}, {1, 0, 2, "b", false, "1"}, {1, 1, 2, "b", true, ""}},
		"another message":     {{1, 0, 2, "a", false, ""}, {2, 1, 2, "a", false, "1 2"}, {2, 0, 1, "a", true, ""}},
	} {
		var a assembly
		want := ""
		for i, p := range parts {
			text := fmt.Sprintf("%d.%d.%s ", p.id, p.part, p.attempt)
			if p.part == 0 {
				want = ""
			}
			want += text
			complete, strays := a.add(messageName{ID: capture.UUID{p.id}, Part: p.part, Parts: p.parts, Attempt: p.attempt}, capture.StreamPosition{Seq: uint64(i + 1)}, []byte(text))
			var got []string
			for _, s := range strays {
				got = append(got, fmt.Sprint(s.Seq))
			}
			if complete != p.complete || strings.Join(got, " ") != p.strays {
				t.Errorf("%s: part %d: complete %v, strays %q", name, i+1, complete, got)
			}
			if complete {
				if text := string(a.take()); text != want || a.parts != nil || a.positions != nil {
					t.Errorf("%s: %q, want %q", name, text, want)
				}
			}
		}
	}
}

// A message without a name gets one of its position and content: the same for each read, and another
// for each message.
func TestNameOf(t *testing.T) {
	t.Parallel()
	own := messageName{ID: capture.UUID{1}, Part: 1, Parts: 2, Attempt: "a.b"}
	if got, named := nameOf(nats.Header{nats.MsgIdHdr: {own.String()}}, 7, nil); !named || got != own {
		t.Errorf("%+v, %v", got, named)
	}
	seen := map[capture.UUID]bool{}
	for _, c := range []struct {
		seq  uint64
		data string
	}{{1, "x"}, {2, "x"}, {1, "y"}, {1, ""}} {
		first, named := nameOf(nil, c.seq, []byte(c.data))
		again, _ := nameOf(nats.Header{nats.MsgIdHdr: {"not a name"}}, c.seq, []byte(c.data))
		if named || first != again || first.Part != 0 || first.Parts != 1 || seen[first.ID] {
			t.Errorf("%d, %q: %+v, then %+v", c.seq, c.data, first, again)
		}
		seen[first.ID] = true
	}
}

// The body of a message has a version, and a list of batches that is compressed. Damaged bodies are
// errors, and their size is bounded before they are unpacked.
func TestBody_Damaged(t *testing.T) {
	t.Parallel()
	encoded := func(project int64) []byte {
		return capture.AppendBatch(nil, &capture.Batch{ProjectID: project, Events: []capture.Event{{Name: "e", Properties: "{}"}}})
	}
	packed := func(plain []byte) []byte { return append([]byte{bodyVersion}, s2.Encode(nil, plain)...) }
	withLength := func(n uint64, b []byte) []byte { return append(binary.AppendUvarint(nil, n), b...) }
	one := encoded(1)
	encodedBody := body([][]byte{one, encoded(2)})
	list, err := parseBody(encodedBody)
	if err != nil || len(list) != 2 || list[0].ProjectID != 1 || list[1].ProjectID != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if list, err := parseBody(body(nil)); err != nil || len(list) != 0 {
		t.Errorf("no batches: %v, %v", list, err)
	}
	const damaged, version = "the message is damaged", "the message has a format that this version does not support"
	for name, c := range map[string]struct {
		data []byte
		want string // "" for any error
	}{
		"nothing":            {nil, version},
		"another version":    {append([]byte{bodyVersion + 1}, encodedBody[1:]...), version},
		"only the version":   {encodedBody[:1], damaged},
		"cut":                {encodedBody[:len(encodedBody)-1], damaged},
		"not packed":         {append([]byte{bodyVersion}, bytes.Repeat([]byte{0xff}, 20)...), damaged},
		"too large":          {append([]byte{bodyVersion}, binary.AppendUvarint(nil, maxBody+1)...), damaged},
		"a length too many":  {packed(withLength(uint64(len(one))+1, one)), damaged},
		"a huge length":      {packed(withLength(1<<63, one)), damaged},
		"no end of a length": {packed([]byte{0x80}), damaged},
		"text after":         {packed(append(withLength(uint64(len(one)), one), 0xff)), damaged},
		"an empty batch":     {packed([]byte{0}), ""},
		"a cut batch":        {packed(withLength(uint64(len(one)-1), one[:len(one)-1])), ""},
	} {
		list, err := parseBody(c.data)
		if list != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
}

// A batch is split into pieces of about 256 KiB; a larger event is a piece of its own.
func TestPieces(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	for name, c := range map[string]struct {
		sizes []int // of the events
		want  []int // events in each piece
	}{
		"no events":        {nil, []int{0}},
		"one":              {[]int{1}, []int{1}},
		"small ones":       {[]int{10, 10, 10}, []int{3}},
		"a large one":      {[]int{1000 * kib}, []int{1}},
		"large ones":       {[]int{256 * kib, 256 * kib, 256 * kib}, []int{1, 1, 1}},
		"one byte less":    {[]int{256*kib - 1, 1, 1}, []int{2, 1}},
		"a third":          {[]int{100 * kib, 100 * kib, 100 * kib, 100 * kib, 100 * kib}, []int{3, 2}},
		"a large at last":  {[]int{1, 1, 1000 * kib}, []int{3}},
		"a large at first": {[]int{1000 * kib, 1, 1}, []int{1, 2}},
	} {
		b := &capture.Batch{ProjectID: 7}
		for i, size := range c.sizes {
			b.Events = append(b.Events, capture.Event{Name: fmt.Sprint(i), Properties: strings.Repeat(" ", size)})
		}
		var got []int
		next := 0
		for _, piece := range pieces(b) {
			parsed, err := capture.ParseBatch(string(piece))
			if err != nil || parsed.ProjectID != 7 {
				t.Fatalf("%s: %v, %v", name, parsed, err)
			}
			for i := range parsed.Events {
				if parsed.Events[i].Name != fmt.Sprint(next) {
					t.Errorf("%s: event %s, want %d", name, parsed.Events[i].Name, next)
				}
				next++
			}
			got = append(got, len(parsed.Events))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The events of a project are in one partition, and projects are spread over all partitions.
func TestPartition(t *testing.T) {
	t.Parallel()
	s := &Stream{partitions: 8}
	counts := make([]int, s.partitions)
	for project := range int64(800) {
		n := s.partition(project)
		if n != s.partition(project) {
			t.Errorf("project %d is in two partitions", project)
		}
		counts[n]++
	}
	for n, count := range counts {
		if count < 50 || count > 150 { // 100 is expected
			t.Errorf("partition %d has %d of 800 projects", n, count)
		}
	}
	one := &Stream{partitions: 1}
	if diff := cmp.Diff([]int{0, 0, 0}, []int{one.partition(0), one.partition(-1), one.partition(1 << 62)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A reader that has recorded everything has no events in hand and no oldest one.
func TestLag_SetRecorded(t *testing.T) {
	t.Parallel()
	l := &lag{}
	l.inHand.Store(3)
	l.oldest.Store(7)
	l.pending.Store(5)
	if l.setRecorded(9); l.done.Load() != 9 || l.inHand.Load() != 0 || l.oldest.Load() != 0 || l.pending.Load() != 5 {
		t.Errorf("done %d, in hand %d, oldest %d, pending %d", l.done.Load(), l.inHand.Load(), l.oldest.Load(), l.pending.Load())
	}
}

// A partition counts for the lag while this server has it, and only the end of its own tracking ends
// that.
func TestLag_Track(t *testing.T) {
	t.Parallel()
	s := &Stream{lags: map[*lag]struct{}{}}
	first, second := s.trackLag(1), s.trackLag(1)
	if len(s.lags) != 2 {
		t.Errorf("%d are tracked", len(s.lags))
	}
	first()
	first()
	for l := range s.lags {
		if l.partition != 1 || !l.held {
			t.Errorf("%+v", l)
		}
	}
	if second(); len(s.lags) != 0 {
		t.Errorf("%d are tracked at the end", len(s.lags))
	}
}
