package block

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

// decode decodes all strings of a block.
func decode(e *encoded) (out []madeEvent, err error) {
	var c Columns
	if err := errors.Join(c.DecodeNames(e.names), c.DecodePeople(e.people), c.DecodeOrigins(e.origins)); err != nil {
		return nil, err
	}
	for i := range c.IDs {
		m := madeEvent{Event: c.Event(i)}
		out = append(out, m)
	}
	at := 0
	var t Chunk
	for _, chunk := range e.chunks {
		if err := t.Decode(chunk); err != nil {
			return nil, err
		}
		for i, id := range t.IDs {
			if out[at].ID != id {
				return nil, fmt.Errorf("event %d has the long columns of event %d", out[at].ID, id)
			}
			out[at].elements, out[at].properties, out[at].person = t.Elements[i], t.Properties[i], t.States[t.StateOf[i]]
			at++
		}
	}
	if at != len(out) {
		return nil, fmt.Errorf("%d events in chunks of %d", at, len(out))
	}
	return out, nil
}

// strangeEvents are events with values at the ends of their ranges.
func strangeEvents(random *rand.Rand, n int) (out []madeEvent) {
	id := int64(0)
	for range n {
		id += 1 + random.Int64N(1<<40)>>random.IntN(41)
		e := madeEvent{Event: Event{
			ID: id, Time: int64(random.Uint64()) >> random.IntN(64), Arrived: int64(random.Uint64()) >> random.IntN(64), PersonCreated: int64(random.Uint64()) >> random.IntN(64),
			Name: strings.Repeat("ü", random.IntN(100)), DistinctID: strings.Repeat("\x00\xff", random.IntN(400)), Mode: capture.PersonMode(random.IntN(3)), Historical: random.IntN(2) == 0,
		}}
		binary.BigEndian.PutUint64(e.UUID[4:], random.Uint64())
		binary.BigEndian.PutUint64(e.Person[8:], random.Uint64()>>random.IntN(64))
		e.elements, e.properties, e.person = strings.Repeat("e", random.IntN(3)), strings.Repeat("p", random.IntN(3000)), strings.Repeat("s", random.IntN(30))
		out = append(out, e)
	}
	return out
}

// Decoding a block returns the events that were encoded. A writer can be used again.
func TestBlock_RoundTrip(t *testing.T) {
	var w testEncoder
	for _, events := range [][]madeEvent{
		nil, newMaker(1).events(1), newMaker(2).events(63), newMaker(3).events(700), newMaker(4).events(MaxEvents),
		strangeEvents(rand.New(rand.NewPCG(1, 2)), 1), strangeEvents(rand.New(rand.NewPCG(3, 4)), 3000),
	} {
		data := w.encode(events)
		got, err := decode(&data)
		if err != nil {
			t.Fatalf("%d events: %v", len(events), err)
		}
		if diff := cmp.Diff(events, got, cmp.AllowUnexported(madeEvent{})); diff != "" {
			t.Errorf("%d events (-encoded +decoded)\n%s", len(events), diff)
		}
		want := Bounds{Events: len(events)}
		for i := range events {
			e := &events[i]
			if i == 0 {
				want = Bounds{len(events), e.ID, e.ID, e.Time, e.Time, e.Arrived, e.Arrived}
			}
			want.LastID = e.ID
			want.FirstTime, want.LastTime = min(want.FirstTime, e.Time), max(want.LastTime, e.Time)
			want.FirstArrived, want.LastArrived = min(want.FirstArrived, e.Arrived), max(want.LastArrived, e.Arrived)
		}
		if diff := cmp.Diff(want, w.short.Bounds()); diff != "" {
			t.Errorf("bounds of %d events: %s", len(events), diff)
		}
	}
}

// A run of strings of short columns has the events of all of them, up to MaxEvents, in the order of
// their ids.
func TestRun(t *testing.T) {
	var w testEncoder
	var r Run
	for round, events := range [][]madeEvent{newMaker(1).events(1), newMaker(2).events(700), strangeEvents(rand.New(rand.NewPCG(3, 4)), 3000)} {
		for _, size := range []int{1, 7, 400, len(events)} {
			r.Reset()
			if round == 2 && size < 400 {
				continue
			}
			for part := range slices.Chunk(events, size) {
				data := w.encode(part)
				if ok, err := r.Add(data.short); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			for i := range events {
				if i >= len(r.IDs) || r.Event(i) != events[i].Event {
					t.Fatalf("%d events in parts of %d: event %d of %d is %+v", len(events), size, i, len(r.IDs), events[i].Event)
				}
			}
			var again Writer
			again.AddAll(&r.Columns, map[int64]bool{events[0].ID: true})
			if want := w.encode(events[1:]); !slices.Equal(again.Short(nil), want.short) {
				t.Errorf("%d events in parts of %d: all but the first are encoded in another way", len(events), size)
			}
			data := w.encode(events[:1])
			if ok, err := r.Add(data.short); ok || !errors.Is(err, ErrDamaged) {
				t.Errorf("an event is there twice: %v", err)
			}
		}
	}
	r.Reset()
	data := w.encode(newMaker(5).events(MaxEvents))
	if ok, err := r.Add(data.short); !ok || err != nil {
		t.Fatal(ok, err)
	}
	one := Writer{}
	one.Add(&Event{ID: 1 << 40})
	if ok, err := r.Add(one.Short(nil)); ok || err != nil || len(r.IDs) != MaxEvents {
		t.Errorf("%t, %v, %d events", ok, err, len(r.IDs))
	}
}

// The encoding is the one that the comments describe. The bytes are worked out by hand.
func TestBlock_Encoding(t *testing.T) {
	var w Writer
	w.Add(&Event{ID: 5, Time: 10, Arrived: 100, Name: "a", DistinctID: "x", UUID: capture.UUID{15: 1}, Person: capture.UUID{15: 9}, PersonCreated: 3, Mode: capture.Propertyless})
	w.Add(&Event{ID: 7, Time: 8, Arrived: 100, Name: "bc", DistinctID: "x", UUID: capture.UUID{15: 2}, Person: capture.UUID{15: 9}, PersonCreated: 3, Historical: true})
	w.Add(&Event{ID: 9, Time: 8, Arrived: 101, Name: "a", DistinctID: "x", UUID: capture.UUID{15: 3}, Person: capture.UUID{15: 9}, PersonCreated: 3, Historical: true})
	var chunk ChunkWriter
	chunk.Add(5, "", "{}", "{}")
	chunk.Add(7, "e", "{}", "{}")
	names := w.Names()
	zero, sum := strings.Repeat("00", 15), hex.EncodeToString(names[2:6])
	for _, tt := range []struct {
		name    string
		data    []byte
		kind    string // the second byte: twice the kind, because nothing is compressed
		content string
	}{
		// 3 events; a run of one id at distance 5, of two at distance 2; times 10, -2, 0; two names of
		// 1 and 2 bytes; indexes.
		{"names", names, "00", "03" + "0a01" + "0502" + "140300" + "02" + "0102" + "616263" + "000100"},
		{"people", w.People(names), "02", sum + "01" + "01" + "78" + "000000" + "01" + zero + "09" + "0300000000000000" + "000000"},
		// Two arrivals at 100 and one 1 later; mode 1, then two of mode 4, which is 3 more.
		{"hashes", w.Hashes(names), "0a", sum + strings.Repeat(hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, uint32(DistinctIDValue("x")))), 3)},
		{"origins", w.Origins(names), "04", sum + "c80102" + "0201" + "0201" + "0602" + zero + "01" + zero + "02" + zero + "03"},
		{"short", w.Short(nil), "0c", "03" + "0a01" + "0502" + "140300" + "02" + "0102" + "616263" + "000100" +
			"01" + "01" + "78" + "000000" + "01" + zero + "09" + "0300000000000000" + "000000" +
			"c80102" + "0201" + "0201" + "0602" + zero + "01" + zero + "02" + zero + "03"},
		{"chunk", chunk.Encode(nil), "06", "02" + "0a01" + "0501" + "0001" + "65" + "0202" + "7b7d7b7d" + "01" + "02" + "7b7d" + "0000"},
	} {
		content, err := hex.DecodeString(tt.content)
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := hex.DecodeString(tt.kind)
		rest := append([]byte{byte(len(content))}, content...)
		sum := crc32.Checksum(append([]byte{2, kind[0]}, rest...), crc32.MakeTable(crc32.Castagnoli))
		want := append(binary.LittleEndian.AppendUint32([]byte{2, kind[0]}, sum), rest...)
		if diff := cmp.Diff(hex.Dump(want), hex.Dump(tt.data)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

// A string with a changed, missing or additional byte, of another kind or of another block is
// damaged.
func TestBlock_Damaged(t *testing.T) {
	var w testEncoder
	data, other := w.encode(newMaker(1).events(70)), w.encode(newMaker(2).events(70))
	var c Columns
	if err := c.DecodeNames(data.names); err != nil {
		t.Fatal(err)
	}
	decoders := map[string]struct {
		data   []byte
		decode func([]byte) error
	}{
		"names":   {data.names, func(b []byte) error { return new(Columns).DecodeNames(b) }},
		"people":  {data.people, c.DecodePeople},
		"origins": {data.origins, c.DecodeOrigins},
		"short":   {data.short, func(b []byte) error { return new(Columns).DecodeShort(b) }},
		"chunk":   {data.chunks[0], func(b []byte) error { return new(Chunk).Decode(b) }},
		"hashes":  {data.hashes, func(b []byte) error { _, err := c.FindHashes(b, nil); return err }},
		"filter":  {data.filter, func(b []byte) error { _, err := DecodeFilter(b); return err }},
	}
	for name, d := range decoders {
		if err := d.decode(d.data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i := range d.data {
			changed := slices.Clone(d.data)
			changed[i] ^= 1 << (i % 8)
			if err := d.decode(changed); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s with another byte %d: %v", name, i, err)
			}
		}
		for kind, o := range decoders {
			if kind != name && !errors.Is(d.decode(o.data), ErrDamaged) {
				t.Errorf("%s is decoded as %s", kind, name)
			}
		}
		if !errors.Is(d.decode(d.data[:len(d.data)-1]), ErrDamaged) || !errors.Is(d.decode(append(slices.Clone(d.data), 0)), ErrDamaged) {
			t.Errorf("%s of another length is decoded", name)
		}
	}
	_, err := c.FindHashes(other.hashes, nil)
	if !errors.Is(err, ErrDamaged) || !errors.Is(c.DecodePeople(other.people), ErrDamaged) || !errors.Is(c.DecodeOrigins(other.origins), ErrDamaged) {
		t.Error("columns of another block are decoded")
	}
}

// The filter has all names and distinct ids of the block, and few more.
func TestFilter(t *testing.T) {
	var w testEncoder
	events := newMaker(5).events(MaxEvents)
	data := w.encode(events)
	f, err := DecodeFilter(data.filter)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if !f.MayHave(NameValue(events[i].Name)) || !f.MayHave(DistinctIDValue(events[i].DistinctID)) {
			t.Fatalf("%q of %q is not in the filter", events[i].Name, events[i].DistinctID)
		}
	}
	wrong := 0
	for i := range 20_000 {
		if f.MayHave(DistinctIDValue(fmt.Sprint("someone else ", i))) {
			wrong++
		}
	}
	// A split block filter with 12 bits for each value has some 0.4 % of all values.
	if wrong > 20_000/100 {
		t.Errorf("%d of 20,000 unknown ids seem to be in the filter", wrong)
	}
	few, err := DecodeFilter(w.encode(events[:minFiltered-1]).filter)
	if err != nil || !few.MayHave(NameValue("any")) {
		t.Errorf("a block without a filter excludes a name: %v", err)
	}
}

// Searching by hash finds all events of the distinct ids, and only these unless another distinct id
// has the same hash.
func TestFindHashes(t *testing.T) {
	var w testEncoder
	events := append(newMaker(6).events(3000), madeEvent{Event: Event{ID: 1 << 40, DistinctID: "rare"}})
	data := w.encode(events)
	var c Columns
	if err := c.DecodeNames(data.names); err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]string{nil, {"nobody"}, {"rare"}, {events[7].DistinctID}, {"nobody", events[8].DistinctID, "rare", events[2999].DistinctID}} {
		var values []Value
		for _, id := range ids {
			values = append(values, DistinctIDValue(id))
		}
		var want []int32
		for i := range events {
			if slices.Contains(ids, events[i].DistinctID) {
				want = append(want, int32(i))
			}
		}
		if got, err := c.FindHashes(data.hashes, values); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: events %v, %v; want %v", ids, got, err, want)
		}
		if got, err := new(Columns).FindSealedHashes(data.hashes, len(events), values); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q of columns that were not decoded: events %v, %v; want %v", ids, got, err, want)
		}
	}
	for _, n := range []int{0, len(events) - 1} {
		if _, err := new(Columns).FindSealedHashes(data.hashes, n, nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("the hashes of another number of events: %v", err)
		}
	}
}

// Modes that are added are those that Mode returns, and that are encoded.
func TestColumns_AddMode(t *testing.T) {
	events := strangeEvents(rand.New(rand.NewPCG(8, 8)), 50)
	var w testEncoder
	data := w.encode(events)
	var c Columns
	if err := c.DecodeShort(data.short); err != nil {
		t.Fatal(err)
	}
	c.ClearModes()
	for i := range events {
		c.AddMode(events[i].Mode, events[i].Historical)
	}
	var again Writer
	again.AddAll(&c, nil)
	if !slices.Equal(again.Short(nil), data.short) {
		t.Error("the events are encoded in another way")
	}
}

// Chunks end before an event that would make them longer than ChunkBytes, but a single event may be.
func TestChunkWriter_Room(t *testing.T) {
	var w ChunkWriter
	large := strings.Repeat("x", ChunkBytes)
	if !w.HasRoom(len(large)) {
		t.Error("a large event has no room")
	}
	w.Add(1, "", large, "{}")
	if w.HasRoom(1) {
		t.Error("another event has room beside a large one")
	}
	w.Reset()
	n := 0
	for w.HasRoom(1000) {
		n++
		w.Add(int64(n), "", large[:1000], "{}")
	}
	if n < 100 || n > ChunkBytes/1000 {
		t.Errorf("%d events of 1,000 bytes in a chunk", n)
	}
	if first, last := w.IDs(); first != 1 || last != int64(n) || w.Len() != n {
		t.Errorf("ids %d to %d, %d events; want 1 to %d", first, last, w.Len(), n)
	}
}

// Decoding arbitrary data does not panic, and all resulting indexes are in range. The contents are
// decoded both as they are and with a valid checksum.
func FuzzBlock(f *testing.F) {
	var w testEncoder
	data := w.encode(newMaker(1).events(20))
	for kind, stored := range map[byte][]byte{kindNames: data.names, kindPeople: data.people, kindOrigins: data.origins, kindChunk: data.chunks[0], kindHashes: data.hashes, kindShort: data.short} {
		content, err := open(kind, stored, MaxContent)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stored, content, kind)
	}
	f.Add(data.filter, "\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f", byte(0))
	f.Add([]byte{version, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 7}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", byte(3))
	f.Fuzz(func(t *testing.T, stored []byte, content string, kind byte) {
		var c Columns
		var chunk Chunk
		decoders := []func([]byte) error{
			c.DecodeNames,
			func(b []byte) error { return errors.Join(c.DecodeNames(data.names), c.DecodePeople(b)) },
			func(b []byte) error { return errors.Join(c.DecodeNames(data.names), c.DecodeOrigins(b)) },
			chunk.Decode,
			func(b []byte) error { _, err := DecodeFilter(b); return err },
			func(b []byte) error {
				err := c.DecodeNames(data.names)
				_, findErr := c.FindHashes(b, []Value{0, 1})
				return errors.Join(err, findErr)
			},
			c.DecodeShort,
		}
		kind %= byte(len(decoders))
		for _, b := range [][]byte{stored, seal(nil, kind, []byte(content))} {
			if decoders[kind](b) == nil {
				checkRanges(t, kind, &c, &chunk)
			}
		}
	})
}

// checkRanges checks what was decoded of a kind.
func checkRanges(t *testing.T, kind byte, c *Columns, chunk *Chunk) {
	t.Helper()
	inRange := func(what string, indexes []uint16, n, count int) {
		if len(indexes) != n || n > 0 && int(slices.Max(indexes)) >= count {
			t.Fatalf("indexes of %s: %v of %d, for %d events", what, indexes, count, n)
		}
	}
	n := len(c.IDs)
	switch kind {
	case kindNames:
		inRange("names", c.NameOf, n, len(c.Names))
		if len(c.Times) != n || !slices.IsSorted(c.IDs) || n > 0 && c.IDs[0] <= 0 {
			t.Fatalf("ids %v, times %v", c.IDs, c.Times)
		}
	case kindPeople:
		inRange("distinct ids", c.DistinctIDOf, n, len(c.DistinctIDs))
		inRange("persons", c.PersonOf, n, min(len(c.Persons), len(c.PersonCreated)))
	case kindOrigins:
		if len(c.Arrived) != n || len(c.UUIDs) != n {
			t.Fatalf("%d arrivals and %d uuids of %d events", len(c.Arrived), len(c.UUIDs), n)
		}
		for i := range n {
			if mode, _ := c.Mode(i); mode > capture.ForceUpgrade {
				t.Fatalf("mode %d", mode)
			}
		}
	case kindShort:
		for _, part := range []byte{kindNames, kindPeople, kindOrigins} {
			checkRanges(t, part, c, chunk)
		}
	case kindChunk:
		n = len(chunk.IDs)
		inRange("states", chunk.StateOf, n, len(chunk.States))
		if len(chunk.Elements) != n || len(chunk.Properties) != n {
			t.Fatalf("%d elements and %d properties of %d events", len(chunk.Elements), len(chunk.Properties), n)
		}
	}
}
