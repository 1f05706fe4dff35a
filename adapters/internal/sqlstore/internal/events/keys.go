package events

import (
	"encoding/binary"

	"github.com/spaolacci/murmur3"

	"github.com/bunting-flags/bunting/capture"
)

// KeySize is the length of an event's duplicate key: its UUID, then a hash of the other
// fields that identify it (§13.3). The UUID is first, so that the keys with UUIDs of
// version 7 are ordered by time.
const KeySize = 16 + 8

// AppendKey appends an event's duplicate key to dst. scratch is a reusable buffer,
// returned as used.
func AppendKey(dst, scratch []byte, k *capture.EventKey) (key, used []byte) {
	scratch = binary.BigEndian.AppendUint64(scratch[:0], uint64(k.ProjectID))
	scratch = binary.BigEndian.AppendUint64(scratch, uint64(len(k.Name)))
	scratch = append(scratch, k.Name...)
	scratch = append(scratch, k.DistinctID...)
	dst = append(dst, k.UUID[:]...)
	return binary.BigEndian.AppendUint64(dst, murmur3.Sum64(scratch)), scratch
}

// keyBounds returns the least and the greatest possible duplicate key of events with a
// UUID.
func keyBounds(id capture.UUID) (low, high []byte) {
	low = append(low, id[:]...)
	high = append(high, id[:]...)
	for len(high) < KeySize {
		high = append(high, 0xff)
	}
	return low, high
}
