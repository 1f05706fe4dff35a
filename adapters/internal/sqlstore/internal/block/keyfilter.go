package block

import "math/bits"

// KeyFilter excludes keys that a list does not have. It is a split block Bloom filter: a key has four bits in one
// bucket of four words, one in each word. The upper half of its value selects the bucket, the lower half the bits.
// With 16, 8 and 4 bits of memory for each key, it excludes all but about one in 300, 40 and 6 other keys. The zero
// value excludes nothing.
type KeyFilter struct{ buckets []keyBucket }

// keyBucket is a bucket of a KeyFilter.
type keyBucket [4]uint32

const (
	keyBucketSize = 16
	// MaxKeyBits is the maximum number of bits of a filter for each key.
	MaxKeyBits = 16
	// MinKeyBits is the minimum number. A filter with so few bits must not be halved.
	MinKeyBits = 4
)

// keyBuckets returns the number of buckets of a filter of n keys with some bits for each. It is at least one and is
// divisible by the number of buckets that Halve makes one of in all.
func keyBuckets(n, bits int) int {
	const least = MaxKeyBits / MinKeyBits
	most := (n*MaxKeyBits/8/keyBucketSize + least) / least * least
	return most * bits / MaxKeyBits
}

// KeyFilterSize returns the size in bytes of the filter of n keys with MaxKeyBits, or fewer bits of each: half or a
// quarter as many.
func KeyFilterSize(n, bits int) int { return keyBuckets(n, bits) * keyBucketSize }

// NewKeyFilter returns a filter for n keys, which has none yet.
func NewKeyFilter(n, bits int) KeyFilter { return KeyFilter{make([]keyBucket, keyBuckets(n, bits))} }

// Add adds a key.
func (f KeyFilter) Add(k Key) {
	v := k.value()
	b := &f.buckets[v.keyBucket(len(f.buckets))]
	for i := range b {
		b[i] |= 1 << (uint32(v) * filterFactors[i] >> 27)
	}
}

// MayHave reports whether the list may have a key. It is always true for the keys that it has.
func (f KeyFilter) MayHave(k Key) bool {
	if len(f.buckets) == 0 {
		return true
	}
	v := k.value()
	b := &f.buckets[v.keyBucket(len(f.buckets))]
	for i, word := range b {
		if word>>(uint32(v)*filterFactors[i]>>27)&1 == 0 {
			return false
		}
	}
	return true
}

// keyBucket returns the index of the value's bucket among n.
func (v Value) keyBucket(n int) int {
	high, _ := bits.Mul64(uint64(v), uint64(n))
	return int(high)
}

// Size returns the size of the filter in bytes, 0 if it excludes nothing.
func (f KeyFilter) Size() int { return len(f.buckets) * keyBucketSize }

// Halve returns the filter with half as many bits, in which two neighbouring buckets are one. f must not be a filter
// with MinKeyBits.
func (f KeyFilter) Halve() KeyFilter {
	half := make([]keyBucket, len(f.buckets)/2)
	for i := range half {
		for j := range half[i] {
			half[i][j] = f.buckets[2*i][j] | f.buckets[2*i+1][j]
		}
	}
	return KeyFilter{half}
}

// value returns the value of a key for filters. A key has 37 bits, which are spread over all 64.
func (k Key) value() Value {
	v := uint64(k) >> offsetBits * 0x9e3779b97f4a7c15
	v ^= v >> 32
	return Value(v * 0xd6e8feb86659fd93)
}
