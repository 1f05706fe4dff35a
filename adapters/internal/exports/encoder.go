package exports

import (
	"fmt"
	"io"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// encoder writes rows as a file.
type encoder interface {
	write(row []any) error
	// size returns approximately the size of the file in bytes if it were closed now.
	size() int64
	close() error
}

// counter counts the bytes that are written through it.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n += int64(n)
	return n, err
}

// typeError returns the error for a value that does not have its column's type.
func typeError(c batchexports.Column, v any) error {
	return fmt.Errorf("column %s has a %T", c.Name, v)
}
