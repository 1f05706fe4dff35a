package flags

import (
	"crypto/sha1"
	"encoding/binary"

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

// maxID limits distinct ids: an id of at most maxID bytes is used unchanged, a longer one is
// cut to its first maxID Unicode scalars (§2.4).
const maxID = 200

// truncate cuts a distinct id of more than 200 bytes to its first 200 Unicode
// scalars (§2.4).
func truncate(id string) string {
	if len(id) <= maxID {
		return id
	}
	n := 0
	for i := range id {
		if n == maxID {
			return id[:i]
		}
		n++
	}
	return id
}
