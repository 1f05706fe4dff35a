package remote

import (
	"hash/maphash"

	lru "github.com/hashicorp/golang-lru/v2"
)

// exposureShards keep goroutines apart that read at the same time.
const exposureShards = 16

// exposures remember what has been told, so that it is told once (§10.3). A key is
// 128 bits of two keyed hashes: the memory of an entry does not depend on the length
// of ids, and that two exposures of a process share a key is not to be expected.
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

// key is that of a distinct id, a flag, a response and groups. The order of the
// groups does not matter, and no two lists of texts are written alike.
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

func writeText(h *maphash.Hash, s string) {
	n := uint64(len(s))
	for range 4 {
		_ = h.WriteByte(byte(n))
		n >>= 8
	}
	_, _ = h.WriteString(s)
}

// isFirst reports whether a key is new, and remembers it. Of many callers at once it
// says so to one.
func (e *exposures) isFirst(k exposureKey) bool {
	shard := e.shards[k[0]%exposureShards]
	if _, seen := shard.Get(k); seen {
		return false
	}
	seen, _ := shard.ContainsOrAdd(k, struct{}{})
	return !seen
}

// forget makes a key new again.
func (e *exposures) forget(k exposureKey) { e.shards[k[0]%exposureShards].Remove(k) }
