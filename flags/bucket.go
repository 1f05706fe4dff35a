package flags

import (
	"crypto/sha1"
	"encoding"
	"encoding/binary"
	"hash"
	"sync"

	"github.com/spaolacci/murmur3"
)

// hashSHA1 maps bytes to [0, 1]: the top 60 bits of the SHA-1 digest over 2^60
// (§2.1). PostHog divides by 2^60-1, which as a float64 is 2^60 too, so one
// multiplication by a power of two gives the same last digit.
func hashSHA1(input []byte) float64 {
	sum := sha1.Sum(input)
	return bucketOf(binary.BigEndian.Uint64(sum[:8]))
}

// bucketOf divides the top 60 bits of a 64-bit hash by 2^60. The division is exact, since
// 2^60 is a power of two.
func bucketOf(top uint64) float64 { return float64(top>>4) * (1.0 / (1 << 60)) }

// hashMurmur3 maps bytes to [0, 1): the top 53 bits of murmur3's first 64 bits
// over 2^53 (decision 1).
func hashMurmur3(input []byte) float64 {
	return float64(murmur3.Sum64(input)>>11) * (1.0 / (1 << 53))
}

// variantSalt is appended to the hash input that selects a variant (§2.2), so that the
// variant is independent of the rollout.
const variantSalt = "variant"

// holdoutPrefix starts the hash input of every holdout. The input contains neither the
// holdout's id nor a dot, so that all holdouts order people in the same way.
const holdoutPrefix = "holdout-"

// Rollout returns the bucket of an identifier for the rollouts of a flag's conditions, from 0
// to 1. The identifier is in a rollout if its bucket is at most the rollout's share
// (spec/flags.md §2.1). The zero Hash is SHA-1, as in PostHog. The identifier is hashed as it
// is: unlike in an evaluation, ids longer than 200 bytes are not cut.
func (h Hash) Rollout(flagKey, identifier string) float64 { return h.bucket(flagKey, identifier, "") }

// Variant returns the bucket of an identifier for the variants of a flag, from 0 to 1. The
// variants' shares are added up in their order, and the identifier has the first variant with
// a sum greater than the bucket (spec/flags.md §2.2).
func (h Hash) Variant(flagKey, identifier string) float64 {
	return h.bucket(flagKey, identifier, variantSalt)
}

// bucket hashes "<flag key>.<identifier><salt>" (§2.1, §2.2).
func (h Hash) bucket(flagKey, identifier, salt string) float64 {
	input := []byte(flagKey + "." + identifier + salt)
	if h == Murmur3 {
		return hashMurmur3(input)
	}
	return hashSHA1(input)
}

// shortHash computes hashSHA1 for inputs that fit into one block of SHA-1, as nearly all do:
// 55 bytes of key, identifier and salt. sha1.Sum spends a third of its time on copying state
// and padding. Writing a padded block and reading the state costs less (about 58 ns instead
// of 93). The layout of the state is not guaranteed, so a test at the start compares the
// results, and if they differ, sha1.Sum is used.
//
// The zero value is ready to use. It must not be used concurrently.
type shortHash struct {
	hash  hash.Hash
	state encoding.BinaryAppender
	block [sha1.BlockSize]byte
	out   []byte
}

// maxShort is the maximum length of an input that fits into one block with its padding: one
// byte and the length in eight bytes.
const maxShort = sha1.BlockSize - 1 - 8

// sum returns the bucket of an input that consists of three parts.
func (s *shortHash) sum(prefix, id, salt string) float64 {
	if len(prefix)+len(id)+len(salt) > maxShort || !shortHashWorks {
		s.out = append(append(append(s.out[:0], prefix...), id...), salt...)
		return hashSHA1(s.out)
	}
	return bucketOf(s.top(prefix, id, salt))
}

// hashes is a pool for callers without a shortHash.
var hashes = sync.Pool{New: func() any { return new(shortHash) }}

// bucket is sum. If s is nil, it uses a shortHash of the pool.
func (s *shortHash) bucket(prefix, id, salt string) float64 {
	if s != nil {
		return s.sum(prefix, id, salt)
	}
	s = hashes.Get().(*shortHash)
	bucket := s.sum(prefix, id, salt)
	hashes.Put(s)
	return bucket
}

// top returns the first eight bytes of the digest of an input that fits into one block.
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

// stateMagic is the number of bytes before the hash values in the encoded state.
const stateMagic = 4

// shortHashWorks reports whether the state has the layout that shortHash reads.
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
