package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

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
	for _, p := range f.groups[group].chunks[propertiesColumn].pages {
		pages = append(pages, Page{int(p.first), int(p.first + p.rows), max(block.ChunkBytes, int(p.size))})
	}
	return pages, nil
}

// CheckSize compares the size of a file with what is listed, in bytes.
func (f *Folder) CheckSize(name string, bytes int64) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the segment %s is not in %s: give the right folder, or restore a backup", name, f.dir)
	case err != nil:
		return err
	case info.Size() != bytes:
		return fmt.Errorf("the segment %s: %w: it has %d bytes instead of %d", name, block.ErrDamaged, info.Size(), bytes)
	}
	return nil
}
