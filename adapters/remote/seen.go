package remote

import (
	"hash/maphash"

	lru "github.com/hashicorp/golang-lru/v2"
)

// exposureShards is the number of caches, so that concurrent readers rarely wait for the same lock.
const exposureShards = 16

// exposures remembers which exposures have been sent, so that each is sent once (§10.3). A key is
// 128 bits of two keyed hashes: the memory per entry does not depend on the length of ids, and
// collisions within a process are not to be expected.
type exposures struct {
	seeds  [2]maphash.Seed
	shards [exposureShards]*lru.Cache[exposureKey, struct{}]
}

type exposureKey [2]uint64

func newExposures(size int) (*exposures, error) {
	e := &exposures{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for i := range e.shards {
		var err error
		if e.shards[i], err = lru.New[exposureKey, struct{}]((size + exposureShards - 1) / exposureShards); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// key returns the key of a distinct id, a flag, a response and groups. The order of the groups does
// not matter. Strings are hashed with their lengths, so that different lists never hash the same
// bytes.
func (e *exposures) key(distinctID, flag, response string, groups map[string]string) (k exposureKey) {
	for i, seed := range e.seeds {
		var h maphash.Hash
		h.SetSeed(seed)
		for _, s := range [...]string{distinctID, flag, response} {
			writeText(&h, s)
		}
		k[i] = h.Sum64()
		for kind, id := range groups {
			h.Reset()
			writeText(&h, kind)
			writeText(&h, id)
			k[i] += h.Sum64()
		}
	}
	return k
}

// writeText adds the length of s and then s to the hash.
func writeText(h *maphash.Hash, s string) {
	n := uint64(len(s))
	for range 4 {
		_ = h.WriteByte(byte(n))
		n >>= 8
	}
	_, _ = h.WriteString(s)
}

// isFirst reports whether a key is new, and remembers it. Of several concurrent callers it returns
// true to one.
func (e *exposures) isFirst(k exposureKey) bool {
	shard := e.shards[k[0]%exposureShards]
	if _, seen := shard.Get(k); seen {
		return false
	}
	seen, _ := shard.ContainsOrAdd(k, struct{}{})
	return !seen
}

// forget removes a key, so that isFirst returns true for it the next time.
func (e *exposures) forget(k exposureKey) { e.shards[k[0]%exposureShards].Remove(k) }
