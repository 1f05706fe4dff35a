package block

import (
	"encoding/binary"
	"math/bits"

	"github.com/spaolacci/murmur3"
)

// A filter excludes names and distinct ids that a block does not have. It is a split block Bloom filter: a
// value has eight bits in one bucket of eight words, one in each word. The upper half of its hash
// selects the bucket, the lower half the bits.

const (
	// filterBits is the number of bits of a filter for each value. About one in 300 other values
	// seems to be in it.
	filterBits = 12
	// minFiltered is the number of events from which a block has a filter.
	minFiltered = 64
	// bucketSize is the size of a bucket in bytes.
	bucketSize = 8 * 4
	// maxFilter is the maximum size of a filter: all names and distinct ids of a block differ.
	maxFilter = 2*MaxEvents*filterBits/8 + bucketSize
)

// filterFactors are odd numbers by which the lower half of a hash is multiplied, one for each word
// of a bucket. They are the ones of the Parquet format.
var filterFactors = [8]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}

// Value is the hash of a name or a distinct id.
type Value uint64

// NameValue returns the value of the name of an event.
func NameValue(name string) Value { return Value(murmur3.Sum64WithSeed([]byte(name), 1)) }

// DistinctIDValue returns the value of a distinct id.
func DistinctIDValue(id string) Value { return Value(murmur3.Sum64WithSeed([]byte(id), 2)) }

// bucket returns the position of the value's bucket in a filter of n bytes.
func (v Value) bucket(n int) int {
	high, _ := bits.Mul64(uint64(v), uint64(n/bucketSize))
	return int(high) * bucketSize
}

// Filter returns the filter of the names and distinct ids of the events. It is empty for a few
// events, whose names and distinct ids are decoded as fast.
func (w *Writer) Filter() []byte {
	if w.bounds.Events < minFiltered {
		return []byte{}
	}
	n := len(w.names.numbers) + len(w.distinct.numbers)
	f := make([]byte, (n*filterBits/8+bucketSize-1)/bucketSize*bucketSize)
	for name := range w.names.numbers {
		addValue(f, NameValue(name))
	}
	for id := range w.distinct.numbers {
		addValue(f, DistinctIDValue(id))
	}
	return seal(nil, kindFilter, f)
}

// addValue adds a value to the content of a filter.
func addValue(f []byte, v Value) {
	bucket := f[v.bucket(len(f)):]
	for i, factor := range filterFactors {
		word := bucket[4*i : 4*i+4]
		binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|1<<(uint32(v)*factor>>27))
	}
}

// Filter excludes names and distinct ids that a block does not have. The zero value excludes no
// value.
type Filter struct{ words string }

// DecodeFilter decodes a filter, which may be empty. data must not be modified later.
func DecodeFilter(data []byte) (Filter, error) {
	if len(data) == 0 {
		return Filter{}, nil
	}
	content, err := open(kindFilter, data, maxFilter)
	if err != nil || len(content)%bucketSize != 0 {
		return Filter{}, ErrDamaged
	}
	return Filter{content}, nil
}

// Size returns the size of the filter in bytes, 0 if it excludes nothing.
func (f Filter) Size() int { return len(f.words) }

// MayHave reports whether the block may have a value. It is always true for the values that it has.
func (f Filter) MayHave(v Value) bool {
	if f.words == "" {
		return true
	}
	bucket := f.words[v.bucket(len(f.words)):]
	for i, factor := range filterFactors {
		bit := uint32(v) * factor >> 27
		if bucket[4*i+int(bit/8)]>>(bit%8)&1 == 0 {
			return false
		}
	}
	return true
}
