package database

import "errors"

// PieceBytes is the approximate number of bytes of strings after which a query stops
// reading rows.
const PieceBytes = 4 << 20

// ErrPageFull stops reading rows when a page has reached its size.
var ErrPageFull = errors.New("enough")

// ByteLimit counts the bytes of rows that may be long, to stop reading before they take too
// much memory.
type ByteLimit struct{ bytes int }

// Hold counts a row. It returns ErrPageFull if no further row should be read.
func (p *ByteLimit) Hold(bytes int) error {
	if p.bytes += bytes; p.bytes >= PieceBytes {
		return ErrPageFull
	}
	return nil
}
