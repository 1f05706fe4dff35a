package exports

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// brotliLevel takes about as long as gzip's default.
const brotliLevel = 4

// flushEvery is the maximum number of bytes in the compressor's buffer, so that the size of the
// file can be estimated.
const flushEvery = 1 << 20

// jsonLines writes every row as an object with the columns in their order. Times are RFC 3339 in
// UTC with microseconds, a missing value is null.
type jsonLines struct {
	out    counter
	packer interface { // nil without compression
		io.WriteCloser
		Flush() error
	}
	held    int64 // bytes that may still be in packer's buffer
	columns []batchexports.Column
	names   [][]byte // `"name":`, as they are written before their values
	line    bytes.Buffer
	text    *json.Encoder // writes to line
}

func newJSONLines(w io.Writer, columns []batchexports.Column, compression string) *jsonLines {
	j := &jsonLines{out: counter{Writer: w}, columns: columns}
	switch compression {
	case "gzip":
		j.packer = gzip.NewWriter(&j.out)
	case "brotli":
		j.packer = brotli.NewWriterLevel(&j.out, brotliLevel)
	}
	j.text = json.NewEncoder(&j.line)
	j.text.SetEscapeHTML(false)
	for i, c := range columns {
		j.line.Reset()
		if i == 0 {
			j.line.WriteByte('{')
		} else {
			j.line.WriteByte(',')
		}
		_ = j.encode(c.Name) // encoding a string never fails
		j.line.WriteByte(':')
		j.names = append(j.names, bytes.Clone(j.line.Bytes()))
	}
	return j
}

// encode writes a value without the line break of json.Encoder.
func (j *jsonLines) encode(v any) error {
	err := j.text.Encode(v)
	j.line.Truncate(max(j.line.Len()-1, 0))
	return err
}

func (j *jsonLines) write(row []any) error {
	j.line.Reset()
	for i, v := range row {
		j.line.Write(j.names[i])
		if err := j.value(j.columns[i], v); err != nil {
			return err
		}
	}
	j.line.WriteString("}\n")
	if j.packer == nil {
		_, err := j.out.Write(j.line.Bytes())
		return err
	}
	if _, err := j.packer.Write(j.line.Bytes()); err != nil {
		return err
	}
	if j.held += int64(j.line.Len()); j.held < flushEvery {
		return nil
	}
	j.held = 0
	return j.packer.Flush()
}

func (j *jsonLines) value(c batchexports.Column, v any) error {
	switch v := v.(type) {
	case nil:
	case time.Time:
		j.line.WriteByte('"')
		j.line.Write(v.UTC().AppendFormat(j.line.AvailableBuffer(), "2006-01-02T15:04:05.000000Z"))
		j.line.WriteByte('"')
		return nil
	case json.RawMessage:
		if len(v) > 0 {
			if bytes.ContainsAny(v, "\n\r") {
				return json.Compact(&j.line, v)
			}
			j.line.Write(v)
			return nil
		}
	case []string:
		if v == nil {
			v = []string{}
		}
		return j.encode(v)
	case string, bool, int64:
		return j.encode(v)
	default:
		return typeError(c, v)
	}
	j.line.WriteString("null")
	return nil
}

func (j *jsonLines) size() int64 { return j.out.n + j.held }

func (j *jsonLines) close() error {
	if j.packer == nil {
		return nil
	}
	return j.packer.Close()
}
