package events

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// maxSealedLists is the maximum number of projects with sealed blocks in memory, and
	// maxSealedBlocks that of the blocks of all of them together: 4 MiB, for a billion events in full blocks.
	// The blocks of a project with more are read from the database by each search.
	maxSealedLists  = 1024
	maxSealedBlocks = 1 << 16
)

// sealedLists are the sealed blocks of the projects that were searched last. They rarely change, and are thousands if
// a project has a hundred million events. The lists must not be changed.
type sealedLists struct {
	mu     sync.Mutex
	lru    *simplelru.LRU[int64, *sealedList]
	blocks int
}

// sealedList are the sealed blocks of a project.
type sealedList struct {
	version sealedVersion
	blocks  []storedBlock
}

// sealedVersion changes whenever the sealed blocks of a project do: the last id of its segments, and the number of
// changes. Events that are erased do not change it, although storedBlock.events is different then.
type sealedVersion struct{ last, changes int64 }

func newSealedLists() *sealedLists {
	l := &sealedLists{}
	l.lru, _ = simplelru.NewLRU(maxSealedLists, func(_ int64, s *sealedList) { l.blocks -= len(s.blocks) }) // fails only for sizes below 1
	return l
}

// get returns the list of a project with a version, or nil.
func (l *sealedLists) get(project int64, version sealedVersion) *sealedList {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.lru.Get(project)
	if !ok || s.version != version {
		return nil
	}
	return s
}

// put caches the list of a project, unless it is too long.
func (l *sealedLists) put(project int64, s *sealedList) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lru.Remove(project)
	if len(s.blocks) > maxSealedBlocks {
		return
	}
	l.lru.Add(project, s)
	for l.blocks += len(s.blocks); l.blocks > maxSealedBlocks; {
		l.lru.RemoveOldest()
	}
}
