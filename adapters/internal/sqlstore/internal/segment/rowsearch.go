package segment

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// WithDistinctIDs returns the rows of the events whose distinct ids have one of some values, in order; few of
// them have another distinct id. It reuses the memory of rows. ok is false if the file has no index.
func (r *Rows) WithDistinctIDs(values []block.Value, rows []int32) (_ []int32, ok bool, err error) {
	if r.err != nil {
		return rows, false, r.err
	}
	pages := r.r.group.index
	if rows = rows[:0]; len(pages) == 0 {
		return rows, false, nil
	}
	hashes := make([]int64, len(values))
	for i, v := range values {
		hashes[i] = int64(uint32(v))
	}
	slices.Sort(hashes)
	shift := hashBits - bits.Len(uint(len(pages)-1)) // of a hash to the index of its page
	current, entries := -1, []int64(nil)
	for _, hash := range slices.Compact(hashes) {
		if at := int(hash >> shift); at != current {
			current = at
			if entries, err = r.r.indexPage(pages[at]); err != nil {
				return rows, false, r.wrapIndex(err)
			}
		}
		i, _ := slices.BinarySearch(entries, hash<<rowBits)
		for ; i < len(entries) && entries[i]>>rowBits == hash; i++ {
			row := int32(entries[i] & (1<<rowBits - 1))
			if int(row) >= r.r.group.Events {
				return rows, false, r.wrapIndex(damagedf("the row %d of %d", row, r.r.group.Events))
			}
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return rows, true, nil
}

// wrapIndex adds the place of the index to an error.
func (r *Rows) wrapIndex(err error) error {
	return fmt.Errorf("the segment %s, group %d, index: %w", r.r.file.name, r.r.group.Index, err)
}

// indexPage returns the entries of a page of an index. They are valid until the next call.
func (r *reader) indexPage(from indexPlace) (entries []int64, err error) {
	if from.size == 0 {
		return nil, nil
	}
	_, values, h, err := r.read(place{offset: from.offset, size: from.size}, r.values[:0], format.DataPageV2)
	if err != nil {
		return nil, err
	}
	d := h.DataPageHeaderV2.V
	if d.IsCompressed.V {
		r.values = values
	}
	if d.Encoding != format.DeltaBinaryPacked || d.NumRows < 1 || int(d.NumRows) > r.group.Events {
		return nil, damagedf("%d entries, %s", d.NumRows, d.Encoding)
	}
	defer recovered(&err)
	err = decodeNumbers(r, &r.index, values, int(d.NumRows))
	return r.index.numbers, err
}
