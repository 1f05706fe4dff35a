package segment

import "github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"

// Page is a range of rows of a group, whose properties are in one page of the file.
type Page struct {
	// The rows are First <= row < End.
	First, End int
	// Bytes is about the size of the properties before compression, in bytes.
	Bytes int
}

// Pages returns the ranges of rows of a group that are read best at a time.
func (f *File) Pages(group int) (pages []Page, err error) {
	if group < 0 || group >= len(f.groups) {
		return nil, f.wrap(block.ErrDamaged)
	}
	c := &f.groups[group].chunks[propertiesColumn]
	for i := range c.count() {
		p := c.page(i)
		pages = append(pages, Page{int(p.first), int(p.first + p.rows), max(block.ChunkBytes, int(p.size))})
	}
	return pages, nil
}
