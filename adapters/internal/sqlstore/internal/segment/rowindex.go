package segment

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// The index of a group finds the rows of a distinct id without decoding the distinct ids. It is before
// the columns of the group, where Parquet has nothing, so that other programs do not read it. An entry is
// a number: the lower half of the value of an event's distinct id, then the row in rowBits bits. The entries
// are sorted, in pages like those of a column of numbers. Each page has the entries whose hashes begin
// with certain bits; a page without entries is missing. The metadata of the file has the places.

const (
	// indexKey is the key of the places of the indexes, as a JSON list: for each group a list of the place where
	// its index begins, and the sizes of its pages, whose number is a power of two.
	indexKey = "bunting.index"
	// rowBits is the number of bits of a row, which is below block.MaxEvents; hashBits is that of a hash.
	rowBits, hashBits = 14, 32
	// indexEntries is about the number of entries of a page.
	indexEntries = 1024
	// maxIndexPages is the number of pages of the index of a group with the maximum number of events.
	maxIndexPages = block.MaxEvents / indexEntries
)

// indexPlace is the place of a page of an index. It has no bytes if there are no entries.
type indexPlace struct {
	offset int64
	size   int32
}

// indexWriter makes the indexes of the groups of a file.
type indexWriter struct {
	// places is the value of indexKey.
	places [][]int64
	// pages are the pages of the current group, sizes their sizes.
	pages []byte
	sizes []int64

	entries []int64 // reusable memory
	values  []byte
}

// add makes the index of a group with some events of c.
func (x *indexWriter) add(e *pageEncoder, c *block.Columns, keep []int32) (err error) {
	hashes := make([]int64, len(c.DistinctIDs))
	for i, id := range c.DistinctIDs {
		hashes[i] = int64(uint32(block.DistinctIDValue(id))) << rowBits
	}
	x.entries = x.entries[:0]
	for row, i := range keep {
		x.entries = append(x.entries, hashes[c.DistinctIDOf[i]]|int64(row))
	}
	slices.Sort(x.entries)
	pages := 1
	for pages*indexEntries < len(keep) {
		pages *= 2
	}
	x.pages, x.sizes = x.pages[:0], make([]int64, pages)
	rest, step := x.entries, int64(1)<<(rowBits+hashBits)/int64(pages)
	for i := range x.sizes {
		n, _ := slices.BinarySearch(rest, int64(i+1)*step)
		if n == 0 {
			continue
		}
		if x.values, err = deltaNumbers.EncodeInt64(x.values[:0], rest[:n]); err != nil {
			return err
		}
		header, body, err := e.data(format.DeltaBinaryPacked, n, nil, 0, x.values)
		if err != nil {
			return err
		}
		x.pages = append(append(x.pages, header...), body...)
		x.sizes[i], rest = int64(len(header)+len(body)), rest[n:]
	}
	return nil
}

// end returns the index of the group, which begins at a place of the file.
func (x *indexWriter) end(at int64) []byte {
	x.places = append(x.places, append([]int64{at}, x.sizes...))
	return x.pages
}

// metadata returns the entry of the metadata with the places of the indexes.
func (x *indexWriter) metadata() (format.KeyValue, error) {
	text, err := json.Marshal(x.places)
	return format.KeyValue{Key: indexKey, Value: string(text)}, err
}

// indexesOf returns the places of the pages of the indexes of groups, which end before limit, from the metadata
// of a file. Files of earlier versions have none.
func indexesOf(metadata []format.KeyValue, groups int, limit int64) ([][]indexPlace, error) {
	at := slices.IndexFunc(metadata, func(e format.KeyValue) bool { return e.Key == indexKey })
	if at < 0 {
		return make([][]indexPlace, groups), nil
	}
	var lists [][]int64
	if err := json.Unmarshal([]byte(metadata[at].Value), &lists); err != nil {
		return nil, damaged(err)
	}
	if len(lists) != groups {
		return nil, damagedf("indexes of %d groups", len(lists))
	}
	indexes := make([][]indexPlace, groups)
	for i, list := range lists {
		pages := len(list) - 1
		if pages < 1 || pages > maxIndexPages || pages&(pages-1) != 0 {
			return nil, damagedf("an index of %d pages", pages)
		}
		offset := list[0]
		for _, size := range list[1:] {
			if offset < 0 || size < 0 || size > limit-offset || size > math.MaxInt32 {
				return nil, damagedf("a page of an index of %d bytes at %d", size, offset)
			}
			indexes[i] = append(indexes[i], indexPlace{offset, int32(size)})
			offset += size
		}
	}
	return indexes, nil
}
