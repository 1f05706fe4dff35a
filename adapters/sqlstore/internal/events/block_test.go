package events

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

// Decoding a block returns the events that were encoded.
func TestBlocks_RoundTrip(t *testing.T) {
	const epoch = 7
	for _, n := range []int{0, 1, 130, 1 << EpochBits} {
		random := rand.New(rand.NewPCG(1, uint64(n)))
		w := newBlockWriter(epoch)
		var want, got []string
		step := max(1<<EpochBits/max(n, 1), 1)
		for i := range n {
			id, at := int64(epoch<<EpochBits+i*step), random.Int64()>>random.IntN(64)-1<<20
			name, distinctID, person := fmt.Sprint("name ", random.IntN(200)), strings.Repeat("ü", random.IntN(100)), capture.PersonID(1, fmt.Sprint(random.IntN(300)))
			w.add(id, at, name, distinctID, person[:])
			want = append(want, fmt.Sprint(id, at, name, distinctID, person))
		}
		events, people := w.texts()
		var b blockEvents
		if err := b.readEvents(epoch, string(events)); err != nil {
			t.Fatal(err)
		}
		if err := b.readPeople(string(events), string(people)); err != nil {
			t.Fatal(err)
		}
		for i := range b.ids {
			got = append(got, fmt.Sprint(b.ids[i], b.times[i], b.names[b.nameOf[i]], b.distinctIDs[b.idOf[i]], b.persons[b.personOf[i]]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d events (-written +read)\n%s", n, diff)
		}
		if other, _ := newBlockWriter(epoch).texts(); n > 0 && b.readPeople(string(other), string(people)) == nil {
			t.Errorf("%d events: people of other events are taken", n)
		}
	}
}

// Decoding arbitrary data does not panic, and all resulting indexes are in range.
func FuzzBlock(f *testing.F) {
	w := newBlockWriter(0)
	person := capture.PersonID(1, "ann")
	for i := range int64(3) {
		w.add(i, 1e15+i, "name", "ann", person[:])
	}
	events, people := w.texts()
	f.Add(string(events), string(people))
	f.Add("\x01\x00\x00", "\x01\x00\x00\x00\x00\x00\x00")
	f.Add("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "")
	f.Fuzz(func(t *testing.T, events, people string) {
		var b blockEvents
		if b.readEvents(0, events) != nil {
			return
		}
		for i := range b.ids {
			if b.ids[i] < 0 || b.ids[i] >= 1<<EpochBits || int(b.nameOf[i]) >= len(b.names) {
				t.Fatalf("event %d: id %d, name %d of %d", i, b.ids[i], b.nameOf[i], len(b.names))
			}
		}
		if b.readPeople(events, people) != nil {
			return
		}
		for i := range b.ids {
			if int(b.idOf[i]) >= len(b.distinctIDs) || int(b.personOf[i]) >= len(b.persons) {
				t.Fatalf("event %d: distinct id %d of %d, person %d of %d", i, b.idOf[i], len(b.distinctIDs), b.personOf[i], len(b.persons))
			}
		}
	})
}
