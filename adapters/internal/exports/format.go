package exports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// uploadPart is the size of the parts of an upload, one of which is in memory.
const uploadPart = 8 << 20

// maxFile is the maximum size of a file, in bytes, if the destination sets no limit: an upload to
// S3 has at most 10,000 parts.
const maxFile = 9000 * uploadPart

// format is the file format of a destination.
type format struct {
	Format      string `json:"file_format"`
	Compression string `json:"compression"`
	// MaxMB is the maximum size of a file in MiB; the row that exceeds it is still written. Zero
	// means maxFile.
	MaxMB int64 `json:"max_file_size_mb"`
}

// compressions are the formats and their compressions (§4.3.2).
var compressions = map[string][]string{
	"JSONLines": {"", "brotli", "gzip"},
	"Parquet":   {"", "brotli", "gzip", "lz4", "snappy", "zstd"},
}

func (f *format) check() error {
	if f.Format == "" {
		f.Format = "JSONLines"
	}
	compression, ok := compressions[f.Format]
	switch {
	case !ok:
		return rejectf("File format %s is not supported. Supported file formats are: JSONLines, Parquet.", f.Format)
	case !slices.Contains(compression, f.Compression):
		return rejectf("Compression %s is not supported for file format %s. Supported compressions are: %s.",
			f.Compression, f.Format, strings.Join(compression[1:], ", "))
	case f.MaxMB < 0:
		return rejectf("max_file_size_mb must not be negative.")
	}
	return nil
}

func (f *format) max() int64 {
	if f.MaxMB == 0 || f.MaxMB > maxFile>>20 {
		return maxFile
	}
	return f.MaxMB << 20
}

// extension returns the end of a file's name.
func (f *format) extension() string {
	switch {
	case f.Format == "Parquet": // compressed internally
		return ".parquet"
	case f.Compression == "gzip":
		return ".jsonl.gz"
	case f.Compression == "brotli":
		return ".jsonl.br"
	}
	return ".jsonl"
}

// contentType returns the media type of a file.
func (f *format) contentType() string {
	switch f.extension() {
	case ".parquet":
		return "application/vnd.apache.parquet"
	case ".jsonl.gz":
		return "application/gzip"
	case ".jsonl":
		return "application/x-ndjson"
	}
	return "application/octet-stream"
}

func (f *format) encoder(w io.Writer, columns []batchexports.Column) encoder {
	if f.Format == "Parquet" {
		return newParquet(w, columns, f.Compression, f.max())
	}
	return newJSONLines(w, columns, f.Compression)
}

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
