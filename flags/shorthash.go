package flags

import (
	"crypto/sha1"
	"encoding"
	"encoding/binary"
	"hash"
	"sync"
)

// shortHash is hashSHA1 for inputs that fit one block of SHA-1, which nearly all
// do: 55 bytes of key, identifier and salt. sha1.Sum spends a third of its time
// on moving state and padding about; writing a block that is padded already and
// reading the state back costs less (about 58 ns instead of 93). The layout of
// the state is not promised, so a probe at the start compares the two, and
// without agreement sha1.Sum is used.
//
// The zero value is ready. It is for one goroutine.
type shortHash struct {
	hash  hash.Hash
	state encoding.BinaryAppender
	block [sha1.BlockSize]byte
	out   []byte
}

// maxShort is the longest input that fits one block with its padding: a bit and
// the length in eight bytes.
const maxShort = sha1.BlockSize - 1 - 8

// sum is the bucket of the three parts of an input, in order.
func (s *shortHash) sum(prefix, id, salt string) float64 {
	if len(prefix)+len(id)+len(salt) > maxShort || !shortHashWorks {
		s.out = append(append(append(s.out[:0], prefix...), id...), salt...)
		return hashSHA1(s.out)
	}
	return bucketOf(s.top(prefix, id, salt))
}

// hashes are for those who have none.
var hashes = sync.Pool{New: func() any { return new(shortHash) }}

// bucket is sum; nil takes one of hashes.
func (s *shortHash) bucket(prefix, id, salt string) float64 {
	if s != nil {
		return s.sum(prefix, id, salt)
	}
	s = hashes.Get().(*shortHash)
	bucket := s.sum(prefix, id, salt)
	hashes.Put(s)
	return bucket
}

// top is the first eight bytes of the digest of an input that fits.
func (s *shortHash) top(prefix, id, salt string) uint64 {
	if s.hash == nil {
		s.hash = sha1.New()
		s.state, _ = s.hash.(encoding.BinaryAppender)
	}
	n := copy(s.block[:], prefix)
	n += copy(s.block[n:], id)
	n += copy(s.block[n:], salt)
	s.block[n] = 0x80
	clear(s.block[n+1 : sha1.BlockSize-2])
	binary.BigEndian.PutUint16(s.block[sha1.BlockSize-2:], uint16(n*8))
	s.hash.Reset()
	_, _ = s.hash.Write(s.block[:]) // never fails
	s.out, _ = s.state.AppendBinary(s.out[:0])
	return binary.BigEndian.Uint64(s.out[stateMagic:])
}

// stateMagic is what stands before the words of the state, in bytes.
const stateMagic = 4

// shortHashWorks: the state is laid out as shortHash reads it.
var shortHashWorks = func() bool {
	var s shortHash
	if _, ok := sha1.New().(encoding.BinaryAppender); !ok {
		return false
	}
	for _, probe := range []string{"", "a", "beta-search.user-17", "0123456789012345678901234567890123456789012345678901234"} {
		sum := sha1.Sum([]byte(probe))
		if s.top("", probe, "") != binary.BigEndian.Uint64(sum[:8]) {
			return false
		}
	}
	return true
}()
