package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/capture"
)

// The key depends on the UUID, the name, the distinct id and the secret.
func TestKeyHasher_13_3(t *testing.T) {
	id := capture.UUID{1, 15: 2}
	h := NewKeyHasher(7)
	key := h.Key(&id, "ab", "cd")
	if again := h.Key(&id, "ab", "cd"); again != key {
		t.Errorf("%x and %x of one event", key, again)
	}
	for what, other := range map[string]Key{
		"another uuid":        h.Key(&capture.UUID{1, 15: 3}, "ab", "cd"),
		"another name":        h.Key(&id, "ac", "cd"),
		"another distinct id": h.Key(&id, "ab", "ce"),
		"a longer name":       h.Key(&id, "abc", "d"),
		"no name":             h.Key(&id, "", "abcd"),
		"no distinct id":      h.Key(&id, "abcd", ""),
		"a NUL at the end":    h.Key(&id, "ab", "cd\x00"),
		"another secret":      NewKeyHasher(8).Key(&id, "ab", "cd"),
	} {
		if other == key {
			t.Errorf("%s: the key is the same", what)
		}
	}
	for n := range 40 { // around the lengths of blocks
		text := "0123456789012345678901234567890123456789"
		if h.Key(&id, "", text[:n]) == h.Key(&id, "", text[:n+1]) {
			t.Errorf("distinct ids of %d and %d bytes have the same key", n, n+1)
		}
	}
}

// A client cannot make many events that have to be compared with one another, although it chooses all
// parts of the key: of 20,000 events with one UUID, 0.3 are expected to have the key of a further one.
func TestKeyHasher_Attack(t *testing.T) {
	h, id, n := NewKeyHasher(rand.Int64()), capture.UUID{5}, map[Key]int{}
	most := 0
	for i := range 20_000 {
		key := h.Key(&id, fmt.Sprint("name ", i), "ann")
		n[key]++
		most = max(most, n[key])
	}
	if most > 20 {
		t.Errorf("%d events have the same key", most)
	}
}

func timedUUID(ms int64, version byte) (id capture.UUID) {
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16)
	id[6] = version<<4 | 5
	return id
}

// A key is timely if the time of its UUID is at most two hours before its arrival, or twenty seconds
// after it.
func TestKey_Stored(t *testing.T) {
	const arrived = 1_790_000_000_000 // milliseconds
	for _, c := range []struct {
		ms       int64
		version  byte
		isTimely bool
	}{
		{arrived, 7, true},
		{arrived - 2*3600*1000, 7, true}, {arrived - 2*3600*1000 - 1, 7, false},
		{arrived + 20*1000, 7, true}, {arrived + 20*1000 + 1, 7, false},
		{arrived, 4, false}, {0, 7, false}, {1<<48 - 1, 7, false},
	} {
		id := timedUUID(c.ms, c.version)
		key := NewKeyHasher(1).Key(&id, "a", "b")
		stored, ms, isTimely := key.Stored(&id, arrived*1000, KeyRange-1)
		if isTimely != c.isTimely || stored.IsTimely() != c.isTimely || isTimely && ms != c.ms {
			t.Errorf("%+v: timely %t, %t, at %d", c, isTimely, stored.IsTimely(), ms)
		}
		if stored.Key() != key || stored.Offset() != KeyRange-1 {
			t.Errorf("%+v: %x at %d, want %x at %d", c, stored.Key(), stored.Offset(), key, KeyRange-1)
		}
		if span := key.Span(isTimely); !span.Has(stored) || key.Span(!isTimely).Has(stored) {
			t.Errorf("%+v: it is not in its span, or also in the other one", c)
		}
		if !NewKeyHasher(1).UUIDSpan(&id, isTimely).Has(stored) {
			t.Errorf("%+v: it is not in the span of its UUID", c)
		}
	}
}

// The pages of a list have all keys of every span.
func TestKeySpan_Pages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		keys := make([]StoredKey, 1+random.IntN(60))
		for i := range keys {
			keys[i] = StoredKey(random.IntN(12))<<63>>uint(random.IntN(2)) | StoredKey(random.IntN(12))<<offsetBits | StoredKey(i)
		}
		slices.Sort(keys)
		var starts []StoredKey
		var pages [][]StoredKey
		for page := range slices.Chunk(keys, 1+random.IntN(7)) {
			starts, pages = append(starts, page[0]), append(pages, page)
		}
		for range 20 {
			span := Key(random.IntN(14) << offsetBits).Span(random.IntN(2) == 0)
			var want, got []StoredKey
			for _, k := range keys {
				if k >= span.First && k <= span.Last {
					want = append(want, k)
				}
			}
			for from, to := span.Pages(starts); from < to; from++ {
				var err error
				if got, err = span.FindKeys(got, EncodeKeys(pages[from])); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%x in %x: %x, want %x", span, keys, got, want)
			}
		}
	}
}

func TestKeys_Encoding(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	keys := make([]StoredKey, PageKeys)
	for i := range keys {
		keys[i] = StoredKey(random.Uint64())
	}
	slices.Sort(keys)
	data := EncodeKeys(keys)
	if len(data) > 4020 {
		t.Errorf("a page has %d bytes, more than fit into a page of SQLite", len(data))
	}
	got, err := DecodeKeys([]StoredKey{9}, data)
	if err != nil || !slices.Equal(got, append([]StoredKey{9}, keys...)) {
		t.Errorf("%d keys, %v", len(got), err)
	}
	for i := range data {
		damaged := slices.Clone(data)
		damaged[i] ^= 1 << random.IntN(8)
		if _, err := DecodeKeys(nil, damaged); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d is damaged: %v", i, err)
		}
	}
	slices.Reverse(keys)
	if _, err := DecodeKeys(nil, EncodeKeys(keys)); !errors.Is(err, ErrDamaged) {
		t.Errorf("keys in another order: %v", err)
	}
}
