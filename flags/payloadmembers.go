package flags

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags/wire"
)

// This file adds the members of static cohorts to the payload; memberRegistry
// keeps them.

// The members of the static cohorts of one payload are at most so many, the
// smallest cohorts first; SDKs leave flags on the others to the server.
const (
	maxMemberIDs     = 100_000
	maxMemberBytes   = 4 << 20
	maxMemberCohorts = 10_000 // of more, those with the lowest ids
)

// sumMembers hashes members, so that they need not be kept to be compared.
func sumMembers(members map[int64][]string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(members)) {
		sumNumbers(h, id, int64(len(members[id])))
		for _, distinctID := range members[id] {
			sumNumbers(h, int64(len(distinctID)))
			_, _ = h.Write([]byte(distinctID)) // never fails
		}
	}
	h.Sum(sum[:0])
	return sum
}

func sumNumbers(h hash.Hash, numbers ...int64) {
	var b [8]byte
	for _, n := range numbers {
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		_, _ = h.Write(b[:]) // never fails
	}
}

// withMembers adds static_cohort_members as the last member of a payload, which
// is an object and not an empty one.
func withMembers(body []byte, members map[int64][]string) ([]byte, error) {
	named := make(map[string][]string, len(members))
	for id, ids := range members {
		named[strconv.FormatInt(id, 10)] = ids
	}
	text, err := wire.Encode(named)
	if err != nil {
		return nil, err
	}
	body = bytes.TrimSuffix(body, []byte("}"))
	return slices.Concat(body, []byte(`,"static_cohort_members":`), text, []byte("}")), nil
}
