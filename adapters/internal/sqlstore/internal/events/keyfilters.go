package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// keyFilterPages is the number of pages that one step of building a filter reads.
const keyFilterPages = 1024

// filterBuild is a filter that is being built from a list. The pages from next to end are not read yet.
type filterBuild struct {
	project   int64
	keys      *projectKeys
	run       *keyRun
	class     int
	bits      int
	filter    block.KeyFilter
	next, end int
}

// pages returns the indexes of the pages that have all keys of a class, from <= i < to.
func (r *keyRun) pages(class int) (from, to int) {
	if r.keys(class) == 0 {
		return 0, 0
	}
	late := countTimely(r.starts) // the first page that begins with a late key
	if class == 0 {
		return 0, late
	}
	return max(late-1, 0), len(r.starts)
}

// buildKeyFilter reads some pages for a filter, if it would have saved as many pages as are read for it. It reports
// whether there may be more to do.
func (l *Log) buildKeyFilter(ctx context.Context) (more bool, err error) {
	b := l.keys.nextFilter()
	if b == nil {
		return false, nil
	}
	to := min(b.next+keyFilterPages, b.end)
	keys, damaged := l.readPages(ctx, l.db.Read, b.run, b.next, to)
	isSame := true
	if damaged != nil { // another server may have changed the list, or it was deleted
		if isSame, _, err = l.isCurrent(ctx, l.db.Read, b.project, b.keys); err != nil {
			return false, err
		}
	}
	l.keys.mu.Lock()
	defer l.keys.mu.Unlock()
	if !isSame || !slices.Contains(b.keys.runs, b.run) || damaged != nil {
		l.keys.building = nil
		if isSame && damaged != nil {
			return false, fmt.Errorf("project %d: %w", b.project, damaged)
		}
		return true, nil
	}
	for _, k := range keys {
		if k.IsTimely() == (b.class == 0) {
			b.filter.Add(k.Key())
		}
	}
	if b.next = to; b.next == b.end {
		l.keys.building = nil
		if l.keys.makeRoom(b.class, b.run) >= b.bits {
			b.run.filters[b.class] = b.filter
		}
	}
	return true, nil
}

// nextFilter returns the filter that is being built, or begins one, if there is room for it. It returns nil if there
// is no filter to build.
func (k *keyIndex) nextFilter() *filterBuild {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.building != nil {
		return k.building
	}
	for project, p := range k.projects {
		for _, r := range slices.Backward(p.runs) {
			for class, n := range r.unfiltered {
				if n == 0 || r.filters[class].Size() > 0 {
					continue
				}
				from, to := r.pages(class)
				if n < to-from {
					continue
				}
				r.unfiltered[class] = 0
				if bits := k.makeRoom(class, r); bits > 0 {
					k.building = &filterBuild{project, p, r, class, bits, block.NewKeyFilter(r.keys(class), bits), from, to}
					return k.building
				}
			}
		}
	}
	return nil
}

// makeRoom frees memory for a filter of a list, and returns its bits for each key, or 0 if there is no room. The
// filters of timely keys of the oldest lists are removed for it. Of late keys, the largest filters get half and
// a quarter of their bits, and are removed then: a filter saves one page for each key that is searched, however
// long its list is.
func (k *keyIndex) makeRoom(class int, r *keyRun) (bits int) {
	bits = block.MaxKeyBits
	for {
		need := block.KeyFilterSize(r.keys(class), bits)
		total, other := k.nextToShrink(class, r)
		switch {
		case total+need <= k.filterBytes[class]:
			return bits
		case class == 0 && other == nil:
			return 0
		case class == 0:
			other.filters[class] = block.KeyFilter{}
		case other == nil || need >= other.filters[class].Size():
			if bits /= 2; bits < block.MinKeyBits {
				return 0
			}
		case other.filters[class].Size() > block.KeyFilterSize(other.keys(class), block.MinKeyBits):
			other.filters[class] = other.filters[class].Halve()
		default:
			other.filters[class] = block.KeyFilter{}
		}
	}
}

// nextToShrink returns the size of all filters of a class, and the list with the filter that is removed or halved next: of timely keys
// the oldest list, and of late keys the one with the largest filter. It is not the list except, and nil if there is no
// filter.
func (k *keyIndex) nextToShrink(class int, except *keyRun) (total int, next *keyRun) {
	for _, p := range k.projects {
		for _, r := range p.runs {
			size := r.filters[class].Size()
			if total += size; size == 0 || r == except {
				continue
			}
			if next == nil || class == 0 && r.last < next.last || class == 1 && size > next.filters[class].Size() {
				next = r
			}
		}
	}
	return total, next
}

// setFilters sets the filters of a list, of which keys are all, if there is room.
func (k *keyIndex) setFilters(r *keyRun, keys []block.StoredKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for class, part := range [...][]block.StoredKey{keys[:r.timely], keys[r.timely:]} {
		if len(part) == 0 {
			continue
		}
		if bits := k.makeRoom(class, r); bits > 0 {
			f := block.NewKeyFilter(len(part), bits)
			for _, key := range part {
				f.Add(key.Key())
			}
			r.filters[class] = f
		}
	}
}
