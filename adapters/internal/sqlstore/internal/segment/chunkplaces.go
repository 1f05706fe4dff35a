package segment

import (
	"math"
	"sort"

	"github.com/parquet-go/parquet-go/format"
)

// chunk has the places of the pages of a column, which follow one another. A file of 131,072 events has
// some 3,000 pages, and the metadata of hundreds of files is in memory.
type chunk struct {
	offset     int64
	dictionary int32 // the size of the first page, which has the dictionary; 0 without one
	pages      []pageStart
	bytes      int64 // before compression
}

// pageStart is the first row of a page and its size in bytes. The last one of a chunk is no page: its
// first row is the number of rows.
type pageStart struct{ first, size int32 }

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
	for _, before := range c.pages[:i] {
		offset += int64(before.size)
	}
	p := c.pages[i]
	return place{offset, p.size, p.first, c.pages[i+1].first - p.first}
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
	c.pages[len(locations)].first = int32(rows)
	end := meta.DataPageOffset
	for i, l := range locations {
		next := int64(rows)
		if i+1 < len(locations) {
			next = locations[i+1].FirstRowIndex
		}
		if l.Offset < 0 || l.Offset != end || l.CompressedPageSize < 1 || l.Offset > limit-int64(l.CompressedPageSize) || next <= l.FirstRowIndex || next > int64(rows) {
			return damagedf("a page of %d bytes at %d, row %d", l.CompressedPageSize, l.Offset, l.FirstRowIndex)
		}
		c.pages[i] = pageStart{int32(l.FirstRowIndex), l.CompressedPageSize}
		end += int64(l.CompressedPageSize)
	}
	return nil
}
