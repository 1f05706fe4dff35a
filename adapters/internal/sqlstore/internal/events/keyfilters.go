package events

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// keyFilterBytes are the sizes of all filters in memory of the timely keys, which few lists need at a
// time, and of the others, 24 million. Lists without a filter are read, a page for each key.
var keyFilterBytes = [2]int{8 << 20, 48 << 20}

// pages returns the indexes of the pages with the keys of a class, from <= i < to.
func (r *keyRun) pages(class int) (from, to int) {
	if class == 0 {
		return 0, (r.timely + block.PageKeys - 1) / block.PageKeys
	}
	return r.timely / block.PageKeys, len(r.starts)
}

// readKeyFilters reads filters of a project into memory: the filters that would have saved as many pages
// as are read for them.
func (l *Log) readKeyFilters(ctx context.Context, q database.Querier, p *projectKeys) error {
	for {
		r, class := l.keys.nextFilter(p)
		if r == nil {
			return nil
		}
		var ids []int64
		for from, to := r.pages(class); from < to; from++ {
			ids = append(ids, r.pageID(from))
		}
		all := make([]block.StoredKey, 0, r.keys(class))
		err := l.eachKeyPage(ctx, q, ids, func(_ int64, keys []block.StoredKey) {
			for _, k := range keys {
				if k.IsTimely() == (class == 0) {
					all = append(all, k)
				}
			}
		})
		if err != nil {
			return err
		}
		l.keys.setFilter(r, class, all)
	}
}

// nextFilter returns a list and a class for readKeyFilters.
func (k *keyIndex) nextFilter(p *projectKeys) (r *keyRun, class int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range slices.Backward(p.runs) {
		for class, n := range r.unfiltered {
			if from, to := r.pages(class); n > 0 && n >= to-from && r.filters[class].Size() == 0 {
				r.unfiltered[class] = 0
				if k.hasRoom(class, r.keys(class)) {
					return r, class
				}
			}
		}
	}
	return nil, 0
}

// hasRoom reports whether there is room for the filter of n keys of a class. The filters of timely
// keys of the oldest lists make room.
func (k *keyIndex) hasRoom(class, n int) bool {
	for {
		size := block.KeyFilterSize(n)
		var oldest *keyRun
		for _, p := range k.projects {
			for _, r := range p.runs {
				if size += r.filters[class].Size(); r.filters[class].Size() > 0 && (oldest == nil || r.last < oldest.last) {
					oldest = r
				}
			}
		}
		if size <= keyFilterBytes[class] || class == 1 || oldest == nil {
			return size <= keyFilterBytes[class]
		}
		oldest.filters[class] = block.Filter{}
	}
}

// setFilter sets the filter of the keys of a class of a list, if there is room.
func (k *keyIndex) setFilter(r *keyRun, class int, keys []block.StoredKey) {
	f := block.NewKeyFilter(keys)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hasRoom(class, len(keys)) {
		r.filters[class] = f
	}
}
