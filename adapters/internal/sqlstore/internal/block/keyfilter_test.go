package block

import (
	"math/rand/v2"
	"testing"
)

// A filter has all its keys, also with fewer bits, and few others: with four bits of each word of a bucket, and k keys
// in it, (1-(31/32)^k)^4 of the others, which is 0.0025, 0.025 and 0.16 for 8, 16 and 32 keys, and more because the
// buckets have different numbers of keys.
func TestKeyFilter(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	some := func(n int) (keys []Key) {
		for range n {
			keys = append(keys, StoredKey(random.Uint64()).Key())
		}
		return keys
	}
	for _, n := range []int{1, 7, 500, 20_000} {
		keys := some(n)
		halved := NewKeyFilter(n, MaxKeyBits)
		for _, k := range keys {
			halved.Add(k)
		}
		for bits, most := range map[int]int{16: 100, 8: 500, 4: 2300} { // of 10,000
			f := NewKeyFilter(n, bits)
			for _, k := range keys {
				f.Add(k)
			}
			if f.Size() != KeyFilterSize(n, bits) || n > 100 && (f.Size() < n*bits/8 || f.Size() > n*bits/8+64) {
				t.Errorf("the filter of %d keys with %d bits has %d bytes, want %d", n, bits, f.Size(), KeyFilterSize(n, bits))
			}
			h := halved
			for half := MaxKeyBits; half > bits; half /= 2 {
				h = h.Halve()
			}
			if h.Size() != f.Size() {
				t.Errorf("the halved filter of %d keys with %d bits has %d bytes, want %d", n, bits, h.Size(), f.Size())
			}
			for _, k := range keys {
				if !f.MayHave(k) || !h.MayHave(k) {
					t.Fatalf("a key of %d is excluded", n)
				}
			}
			others := 0
			for _, k := range some(10_000) {
				if f.MayHave(k) != h.MayHave(k) {
					t.Fatalf("the halved filter of %d keys with %d bits is another one", n, bits)
				}
				if f.MayHave(k) {
					others++
				}
			}
			if others > most {
				t.Errorf("the filter of %d keys with %d bits has %d of 10,000 others", n, bits, others)
			}
		}
	}
	if f := (KeyFilter{}); f.Size() != 0 || !f.MayHave(5) {
		t.Error("no filter excludes a key")
	}
}
