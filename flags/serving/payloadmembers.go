package serving

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

// This file adds the members of static cohorts to the payload; memberRegistry caches the
// result.

// Limits of the static cohorts' members in one payload, where the smallest cohorts have
// precedence. SDKs leave flags with other cohorts to the server.
const (
	maxMemberIDs     = 100_000
	maxMemberBytes   = 4 << 20
	maxMemberCohorts = 10_000 // if there are more, the lowest ids are used
)

// sumMembers returns a hash of the members, which detects changes without a copy of them.
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

// sumNumbers adds numbers to a hash.
func sumNumbers(h hash.Hash, numbers ...int64) {
	var b [8]byte
	for _, n := range numbers {
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		_, _ = h.Write(b[:]) // never fails
	}
}

// withMembers adds static_cohort_members as the last member of a payload. The payload must be
// an object that is not empty.
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
