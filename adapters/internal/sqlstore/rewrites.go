package sqlstore

import (
	"cmp"
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/capture"
)

// rewrite is an increment of the counter rewritten of a project by this server.
type rewrite struct {
	project int64
	// n is the counter after it.
	n int64
	// people are the persons who got or lost events: merges pairs of a person who was merged and the person
	// into whom, and then others. isUnknown is true if they are not known.
	people    []capture.UUID
	merges    int
	isUnknown bool
}

const (
	// maxRewrites and maxRewrittenPeople limit the increments that are remembered, and the persons of all
	// of them.
	maxRewrites        = 10_000
	maxRewrittenPeople = 100_000
)

// rewrites are the last increments of the counter rewritten, of all projects. Those of other servers and
// those before the start are missing.
type rewrites struct {
	mu     sync.Mutex
	list   []*rewrite
	people int
}

// add adds the increments of a transaction that was committed.
func (w *rewrites) add(list []*rewrite) {
	if len(list) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range list {
		w.people += len(r.people)
	}
	w.list = append(w.list, list...)
	drop := 0
	for len(w.list)-drop > maxRewrites || w.people > maxRewrittenPeople {
		w.people -= len(w.list[drop].people)
		drop++
	}
	w.list = slices.Delete(w.list, 0, drop)
}

// between returns the persons of the increments of a project after one value of the counter up to
// another. If ok is false, they are not all known.
func (w *rewrites) between(projectID, from, to int64) (people []capture.UUID, ok bool) {
	list, ok := w.find(projectID, from, to)
	for _, r := range list {
		people = append(people, r.people...)
	}
	return people, ok
}

// merged returns the pairs of persons of the merges of the increments of a project after one value of the counter
// up to another, in their order: who was merged, and into whom. If ok is false, they are not all known.
func (w *rewrites) merged(projectID, from, to int64) (pairs []capture.UUID, ok bool) {
	list, ok := w.find(projectID, from, to)
	slices.SortFunc(list, func(a, b *rewrite) int { return cmp.Compare(a.n, b.n) })
	for _, r := range list {
		pairs = append(pairs, r.people[:2*r.merges]...)
	}
	return pairs, ok
}

// find returns the increments of a project after one value of the counter up to another. If ok is false, some are
// missing, or their persons are not known.
func (w *rewrites) find(projectID, from, to int64) (list []*rewrite, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range slices.Backward(w.list) {
		if r.project != projectID || r.n <= from || r.n > to {
			continue
		}
		if r.isUnknown {
			return nil, false
		}
		list = append(list, r)
	}
	return list, int64(len(list)) == to-from
}
