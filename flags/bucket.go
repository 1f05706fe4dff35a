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

func bucketOf(top uint64) float64 { return float64(top>>4) * (1.0 / (1 << 60)) }

// hashMurmur3 maps bytes to [0, 1): the top 53 bits of murmur3's first 64 bits
// over 2^53 (decision 1).
func hashMurmur3(input []byte) float64 {
	return float64(murmur3.Sum64(input)>>11) * (1.0 / (1 << 53))
}

// variantSalt ends the hash input of a variant choice.
const variantSalt = "variant"

// holdoutPrefix begins the hash input of every holdout: neither the holdout's
// id nor a dot enters it, so that all holdouts share one order of people.
const holdoutPrefix = "holdout-"

// maxID is how long a distinct id may be: bytes that are never cut, and scalars that
// are left of more.
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
