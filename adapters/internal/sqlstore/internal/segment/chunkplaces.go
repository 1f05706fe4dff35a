package segment

import (
	"math"
	"slices"
	"sort"

	"github.com/parquet-go/parquet-go/format"
)

// chunk has the places of the pages of a column, which follow one another. A file of 131,072 events has
// some 3,000 pages, and the metadata of hundreds of files is in memory.
type chunk struct {
	offset     int64
	dictionary int32 // the size of the first page, which has the dictionary; 0 without one
	pages      []pageStart
	large      *[]int32 // the sizes of all pages if one is too large for a pageStart, which is rare
	bytes      int64    // before compression
}

// pageStart is the first row of a page and its size in bytes. The last one of a chunk is no page: its
// first row is the number of rows.
type pageStart struct{ first, size uint16 }

// size returns the size of a page.
func (c *chunk) size(i int) int32 {
	if c.large != nil {
		return (*c.large)[i]
	}
	return int32(c.pages[i].size)
}

// place is the place of a page.
type place struct {
	offset int64
	size   int32
	// first is the first row of the page, rows their number.
	first, rows int32
}

// hasDictionary reports whether the pages have the indexes of values in a dictionary.
func (c *chunk) hasDictionary() bool { return c.dictionary > 0 }

// dictionaryPage returns the place of the dictionary.
func (c *chunk) dictionaryPage() place { return place{offset: c.offset, size: c.dictionary} }

// count returns the number of pages.
func (c *chunk) count() int { return len(c.pages) - 1 }

// page returns the place of a page.
func (c *chunk) page(i int) place {
	offset := c.offset + int64(c.dictionary)
	for before := range i {
		offset += int64(c.size(before))
	}
	first := int32(c.pages[i].first)
	return place{offset, c.size(i), first, int32(c.pages[i+1].first) - first}
}

// pageOf returns the number of the page that has a row.
func (c *chunk) pageOf(row int) int {
	return sort.Search(c.count(), func(i int) bool { return int(c.pages[i].first) > row }) - 1
}

// end returns the place after the last page.
func (c *chunk) end() int64 {
	last := c.page(c.count() - 1)
	return last.offset + int64(last.size)
}

// open fills a chunk with the places of its pages, which end before limit and have the rows of
// the group.
func (c *chunk) open(meta *format.ColumnMetaData, locations []format.PageLocation, rows int, limit int64) error {
	if len(locations) == 0 || locations[0].FirstRowIndex != 0 || locations[0].Offset != meta.DataPageOffset {
		return damagedf("%d pages", len(locations))
	}
	c.offset, c.bytes = meta.DataPageOffset, meta.TotalUncompressedSize
	if at := meta.DictionaryPageOffset; at != 0 {
		size := meta.DataPageOffset - at
		if at < 0 || at > limit || size < 1 || size > math.MaxInt32 {
			return damagedf("a dictionary at %d", at)
		}
		c.offset, c.dictionary = at, int32(size)
	}
	c.pages = make([]pageStart, len(locations)+1)
	c.pages[len(locations)].first = uint16(rows)
	if slices.ContainsFunc(locations, func(l format.PageLocation) bool { return l.CompressedPageSize > math.MaxUint16 }) {
		large := make([]int32, len(locations))
		c.large = &large
	}
	end := meta.DataPageOffset
	for i, l := range locations {
		next := int64(rows)
		if i+1 < len(locations) {
			next = locations[i+1].FirstRowIndex
		}
		if l.Offset < 0 || l.Offset != end || l.CompressedPageSize < 1 || l.Offset > limit-int64(l.CompressedPageSize) || next <= l.FirstRowIndex || next > int64(rows) {
			return damagedf("a page of %d bytes at %d, row %d", l.CompressedPageSize, l.Offset, l.FirstRowIndex)
		}
		c.pages[i] = pageStart{uint16(l.FirstRowIndex), uint16(l.CompressedPageSize)}
		if c.large != nil {
			(*c.large)[i] = l.CompressedPageSize
		}
		end += int64(l.CompressedPageSize)
	}
	return nil
}
