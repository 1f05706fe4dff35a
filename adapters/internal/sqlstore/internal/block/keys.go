package block

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/bunting-flags/bunting/capture"
)

// The duplicate keys of the events of a project in a range of ids are a sorted list of numbers of
// 64 bits, which is stored in pages. Each number has, from the highest bit on
//
//	class    one bit: 0 for a timely key, 1 for another one
//	hash     21 bits of the UUID, then 16 bits of UUID, name and distinct id
//	offset   26 bits: the id of the event, less the first id of the list
//
// A key is timely if its UUID has version 7 and its time is near the time of arrival. The timely
// keys of a list have a short range of times, so that most lists cannot have a certain one. The
// other keys are searched in all lists, with filters.

// Key is the hash of the UUID, the name and the distinct id of an event, in its place in a StoredKey.
// Events of a project with different hashes differ. Those with the same hash must be compared.
type Key uint64

// StoredKey is a key with its class and the offset of its event.
type StoredKey uint64

const (
	offsetBits = 26
	restBits   = 16
	uuidBits   = 21
	// KeyRange is the number of ids that a list of keys may span.
	KeyRange = 1 << offsetBits
	// lateKey is the bit of keys that are not timely.
	lateKey StoredKey = 1 << 63
	// PageKeys is the maximum number of keys of a page. It fits into a page of SQLite.
	PageKeys = 500
)

// A KeyHasher computes keys. The hash is secret, because otherwise clients could send many events with
// the same key, each of which would be compared with the others. It must not be used concurrently.
type KeyHasher struct {
	block cipher.Block
	state [aes.BlockSize]byte
}

// NewKeyHasher returns the hasher of a secret number.
func NewKeyHasher(secret int64) *KeyHasher {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(secret)))
	block, err := aes.NewCipher(sum[:aes.BlockSize])
	if err != nil {
		panic(err) // the length is valid
	}
	return &KeyHasher{block: block}
}

// Key returns the key of an event. It is a CBC-MAC of the UUID, the length of the name, the name and
// the distinct id, of which the first block has the part of the UUID.
func (h *KeyHasher) Key(uuid *capture.UUID, name, distinctID string) Key {
	key := h.uuid(uuid)
	binary.LittleEndian.PutUint64(h.state[:], binary.LittleEndian.Uint64(h.state[:])^uint64(len(name)))
	n := 8
	for _, text := range [...]string{name, distinctID} {
		for i := range len(text) {
			h.state[n] ^= text[i]
			if n++; n == len(h.state) {
				h.block.Encrypt(h.state[:], h.state[:])
				n = 0
			}
		}
	}
	h.state[n] ^= 0x80 // the end
	h.block.Encrypt(h.state[:], h.state[:])
	return key | Key(binary.LittleEndian.Uint64(h.state[:])>>(64-restBits)<<offsetBits)
}

// uuid returns the part of a key that depends on the UUID only.
func (h *KeyHasher) uuid(uuid *capture.UUID) Key {
	h.state = *uuid
	h.block.Encrypt(h.state[:], h.state[:])
	return Key(binary.LittleEndian.Uint64(h.state[:]) >> (64 - uuidBits) << (restBits + offsetBits))
}

// The times around the arrival of an event, in milliseconds, in which the UUID of a timely key was
// generated. Clients send events soon, and most of their clocks are right. An event whose UUID is new
// cannot be a timely one of the lists that ended more than keyAfter before.
const (
	keyBefore = 2 * 60 * 60 * 1000
	keyAfter  = 20 * 1000
)

// KeyTime returns the time in a UUID of version 7, in milliseconds since 1970. ok is false for other
// UUIDs.
func KeyTime(uuid *capture.UUID) (ms int64, ok bool) {
	return int64(binary.BigEndian.Uint64(uuid[:]) >> 16), uuid[6]>>4 == 7
}

// Stored returns the key of an event that arrived at a time in microseconds, whose id is offset less
// the first id of the list. ms is the time in its UUID if it is timely.
func (k Key) Stored(uuid *capture.UUID, arrived, offset int64) (key StoredKey, ms int64, isTimely bool) {
	key = StoredKey(k) | StoredKey(offset)
	ms, isTimely = KeyTime(uuid)
	if since := arrived/1000 - ms; !isTimely || since > keyBefore || since < -keyAfter {
		return key | lateKey, 0, false
	}
	return key, ms, true
}

// Key returns the key without class and offset.
func (k StoredKey) Key() Key { return Key(k &^ lateKey >> offsetBits << offsetBits) }

// IsTimely reports the class of a key.
func (k StoredKey) IsTimely() bool { return k&lateKey == 0 }

// Offset returns the id of the event less the first id of the list.
func (k StoredKey) Offset() int64 { return int64(k & (KeyRange - 1)) }

// KeySpan is a range of stored keys, from the first to the last.
type KeySpan struct{ First, Last StoredKey }

// Span returns the range of the stored keys that have a key and a class.
func (k Key) Span(isTimely bool) KeySpan {
	return spanOf(StoredKey(k), KeyRange-1, isTimely)
}

// UUIDSpan returns the range of the stored keys that may have a UUID.
func (h *KeyHasher) UUIDSpan(uuid *capture.UUID, isTimely bool) KeySpan {
	return spanOf(StoredKey(h.uuid(uuid)), 1<<(restBits+offsetBits)-1, isTimely)
}

func spanOf(first, rest StoredKey, isTimely bool) KeySpan {
	if !isTimely {
		first |= lateKey
	}
	return KeySpan{first, first | rest}
}

// Has reports whether a key is in the span.
func (s KeySpan) Has(k StoredKey) bool { return k >= s.First && k <= s.Last }

// Pages returns the indexes of the pages of a list that may have keys of the span, from <= i < to.
// starts are the first keys of the pages.
func (s KeySpan) Pages(starts []StoredKey) (from, to int) {
	after := func(k StoredKey) int { return sort.Search(len(starts), func(i int) bool { return starts[i] > k }) }
	return max(after(s.First)-1, 0), after(s.Last)
}

// FindKeys appends to dst the keys of a page in its stored form that are in a span.
func (s KeySpan) FindKeys(dst []StoredKey, data []byte) ([]StoredKey, error) {
	content, err := open(kindKeys, data, 8*PageKeys)
	if err != nil || len(content)%8 != 0 {
		return dst, ErrDamaged
	}
	at := func(i int) StoredKey { return StoredKey(binary.BigEndian.Uint64([]byte(content[8*i : 8*i+8]))) }
	n := len(content) / 8
	for i := sort.Search(n, func(i int) bool { return at(i) >= s.First }); i < n && at(i) <= s.Last; i++ {
		dst = append(dst, at(i))
	}
	return dst, nil
}

// Part returns the class and the hash of the key, without its offset. Keys of lists with different first ids are
// compared by their parts.
func (k StoredKey) Part() StoredKey { return k &^ (KeyRange - 1) }

// EncodeKeys returns the stored form of a page of keys, or of the first keys of pages.
func EncodeKeys(keys []StoredKey) []byte {
	content := make([]byte, 0, 8*len(keys))
	for _, k := range keys {
		content = binary.BigEndian.AppendUint64(content, uint64(k))
	}
	return seal(nil, kindKeys, content)
}

// maxKeys is the maximum number of keys that are stored together: the first keys of the pages of
// the longest possible list. A merge of lists leaves a few pages that are not full.
const maxKeys = 2 * KeyRange / PageKeys

// DecodeKeys appends the keys of a stored form to dst.
func DecodeKeys(dst []StoredKey, data []byte) ([]StoredKey, error) {
	content, err := open(kindKeys, data, 8*maxKeys)
	if err != nil || len(content)%8 != 0 {
		return dst, ErrDamaged
	}
	dst = slices.Grow(dst, len(content)/8)
	n := len(dst)
	for ; content != ""; content = content[8:] {
		dst = append(dst, StoredKey(binary.BigEndian.Uint64([]byte(content[:8]))))
	}
	if !slices.IsSorted(dst[n:]) {
		return dst, ErrDamaged
	}
	return dst, nil
}
