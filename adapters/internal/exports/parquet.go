package exports

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// groupRows and groupBytes limit a group of rows, which is in memory until it is written.
// groupBytes is the size before compression.
const (
	groupRows  = 100_000
	groupBytes = 16 << 20
)

// overhead is approximately the number of bytes of a row in addition to its values.
const overhead = 8

var parquetCodecs = map[string]compress.Codec{
	"": &parquet.Uncompressed, "brotli": &parquet.Brotli, "gzip": &parquet.Gzip,
	"lz4": &parquet.Lz4Raw, "snappy": &parquet.Snappy, "zstd": &parquet.Zstd,
}

// parquetFile writes rows as Parquet. All columns except lists are optional; times are microseconds
// in UTC, JSON has its logical type.
type parquetFile struct {
	out      counter
	w        *parquet.GenericWriter[any]
	columns  []batchexports.Column
	row      parquet.Row
	rows     int   // in the current group
	bytes    int64 // in the current group
	maxBytes int64 // maximum of bytes
}

// orderedGroup is a group with our order of columns: parquet.Group sorts them.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

func (g orderedGroup) Fields() []parquet.Field { return g.fields }

// schema returns the schema of a file with the columns.
func schema(columns []batchexports.Column) *parquet.Schema {
	group := parquet.Group{}
	for _, c := range columns {
		group[c.Name] = node(c.Type)
	}
	named := map[string]parquet.Field{}
	for _, f := range group.Fields() {
		named[f.Name()] = f
	}
	root := orderedGroup{Group: group}
	for _, c := range columns {
		root.fields = append(root.fields, named[c.Name])
	}
	return parquet.NewSchema("row", root)
}

// node returns the type of a column.
func node(t batchexports.ColumnType) parquet.Node {
	switch t {
	case batchexports.JSONColumn:
		return parquet.Optional(parquet.JSON())
	case batchexports.TimeColumn:
		return parquet.Optional(parquet.Timestamp(parquet.Microsecond))
	case batchexports.BoolColumn:
		return parquet.Optional(parquet.Leaf(parquet.BooleanType))
	case batchexports.IntColumn:
		return parquet.Optional(parquet.Int(64))
	case batchexports.ListColumn:
		return parquet.List(parquet.String())
	}
	return parquet.Optional(parquet.String())
}

func newParquet(w io.Writer, columns []batchexports.Column, compression string, maxBytes int64) *parquetFile {
	p := &parquetFile{out: counter{Writer: w}, columns: columns, maxBytes: min(groupBytes, maxBytes)}
	p.w = parquet.NewGenericWriter[any](&p.out, schema(columns), parquet.Compression(parquetCodecs[compression]),
		parquet.MaxRowsPerRowGroup(groupRows), parquet.CreatedBy("bunting", "", ""))
	return p
}

func (p *parquetFile) write(row []any) error {
	p.row = p.row[:0]
	for i, v := range row {
		if err := p.value(i, v); err != nil {
			return err
		}
	}
	if _, err := p.w.WriteRows([]parquet.Row{p.row}); err != nil {
		return err
	}
	p.bytes += overhead
	if p.rows++; p.rows < groupRows && p.bytes < p.maxBytes {
		return nil
	}
	p.rows, p.bytes = 0, 0
	return p.w.Flush()
}

// value adds a value of column i. Its repetition and definition levels are those of an optional
// column, or of the elements of a list.
func (p *parquetFile) value(i int, v any) error {
	add := func(v parquet.Value, n int) {
		p.row = append(p.row, v.Level(0, 1, i))
		p.bytes += int64(n)
	}
	switch v := v.(type) {
	case nil:
	case string:
		add(utf8Value(v), len(v))
		return nil
	case json.RawMessage:
		if len(v) > 0 {
			add(parquet.ByteArrayValue(v), len(v))
			return nil
		}
	case time.Time:
		add(parquet.Int64Value(v.UnixMicro()), 8)
		return nil
	case bool:
		add(parquet.BooleanValue(v), 1)
		return nil
	case int64:
		add(parquet.Int64Value(v), 8)
		return nil
	case []string:
		for n, text := range v {
			p.row = append(p.row, utf8Value(text).Level(min(n, 1), 1, i))
			p.bytes += int64(len(text))
		}
		if len(v) > 0 {
			return nil
		}
	default:
		return typeError(p.columns[i], v)
	}
	p.row = append(p.row, parquet.Value{}.Level(0, 0, i)) // null, or the empty list
	return nil
}

func utf8Value(text string) parquet.Value {
	return parquet.ByteArrayValue([]byte(strings.ToValidUTF8(text, "\uFFFD")))
}

func (p *parquetFile) size() int64 { return p.out.n + p.bytes }

func (p *parquetFile) close() error { return p.w.Close() }
