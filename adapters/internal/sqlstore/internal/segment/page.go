package segment

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// The encodings of the columns. Plain values are appended as they are.
var (
	deltaNumbers delta.BinaryPackedEncoding
	deltaStrings delta.LengthByteArrayEncoding
	rleIndexes   rle.DictionaryEncoding
	rleLevels    = rle.Encoding{BitWidth: 1}
)

// windowSize is the size of the window of the compression: the size of its blocks. The level must follow
// the window: it would set shorter blocks.
const windowSize = 128 << 10

// encoder is shared, because it keeps its memory between uses. Pages have checksums of their own.
// At the default level properties of events get longer, and more slowly.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithWindowSize(windowSize), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true), zstd.WithSingleSegment(true), zstd.WithZeroFrames(true))
	if err != nil {
		panic(err) // the options are constant
	}
	return e
})

// decoder is shared and limits the length of the result.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(block.MaxContent), zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // the options are constant
	}
	return d
})

// largeMemory is the size from which memory for a page is released after use: some pages have large
// events.
const largeMemory = 1 << 20

// pageEncoder encodes pages.
type pageEncoder struct {
	header     bytes.Buffer
	protocol   thrift.CompactProtocol
	compressed []byte
}

// worthwhile reports whether a data page is compressed: that must save an eighth of its size, because
// reading it is slower.
func worthwhile(compressed, size int) bool { return compressed <= size-size/8 }

// data encodes a data page. If not all rows have a value, levels tell which do, and nulls is the number
// of those that have none. The result is valid until the next call.
func (e *pageEncoder) data(encoding format.Encoding, rows int, levels []byte, nulls int, values []byte) (header, body []byte, err error) {
	body = encoder().EncodeAll(values, append(e.compressed[:0], levels...))
	isCompressed := worthwhile(len(body)-len(levels), len(values))
	if !isCompressed {
		body = append(body[:len(levels)], values...)
	}
	e.compressed = body
	return e.encode(format.PageHeader{Type: format.DataPageV2, DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
		NumValues: int32(rows), NumRows: int32(rows), NumNulls: int32(nulls), Encoding: encoding,
		DefinitionLevelsByteLength: int32(len(levels)), IsCompressed: thrift.New(isCompressed),
	})}, len(levels)+len(values), body)
}

// dictionary encodes the page with the values of a dictionary. The result is valid until the next call.
func (e *pageEncoder) dictionary(entries int, values []byte) (header, body []byte, err error) {
	e.compressed = encoder().EncodeAll(values, e.compressed[:0])
	return e.encode(format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
		NumValues: int32(entries), Encoding: format.Plain,
	})}, len(values), e.compressed)
}

// encode completes and encodes a header. size is the length of the page before compression.
func (e *pageEncoder) encode(h format.PageHeader, size int, body []byte) ([]byte, []byte, error) {
	h.UncompressedPageSize, h.CompressedPageSize, h.CRC = int32(size), int32(len(body)), int32(crc32.ChecksumIEEE(body))
	e.header.Reset()
	err := thrift.NewEncoder(e.protocol.NewWriter(&e.header)).Encode(&h)
	return e.header.Bytes(), body, err
}

// maxHeader is the maximum size of the header of a page.
const maxHeader = 128

// openPage returns the header of a page, its levels, and its values, which replace the content of buffer
// unless they are not compressed: then they share the memory of data, as levels do.
func openPage(data, buffer []byte) (h format.PageHeader, levels, values []byte, err error) {
	defer recovered(&err)
	var protocol thrift.CompactProtocol
	r := protocol.NewReaderFromBytes(data[:min(len(data), maxHeader)])
	if err := thrift.NewDecoder(r).Decode(&h); err != nil {
		return h, nil, nil, damaged(err)
	}
	body := data[r.BytesRead():]
	if int(h.CompressedPageSize) != len(body) || h.UncompressedPageSize < 0 || h.UncompressedPageSize > block.MaxContent {
		return h, nil, nil, damagedf("%d bytes of %d", len(body), h.CompressedPageSize)
	}
	if sum := crc32.ChecksumIEEE(body); uint32(h.CRC) != sum {
		return h, nil, nil, damagedf("checksum %08x, not %08x", sum, uint32(h.CRC))
	}
	if n := int(h.DataPageHeaderV2.V.DefinitionLevelsByteLength); n != 0 {
		if n < 0 || n > len(body) {
			return h, nil, nil, damagedf("levels of %d bytes in %d", n, len(body))
		}
		levels, body = body[:n], body[n:]
	}
	size := int(h.UncompressedPageSize) - len(levels)
	values = body
	if h.Type == format.DictionaryPage || h.DataPageHeaderV2.V.IsCompressed.V {
		if cap(buffer) < size {
			buffer = make([]byte, 0, max(size, 0))
		}
		if values, err = decoder().DecodeAll(body, buffer[:0]); err != nil {
			return h, nil, nil, damaged(err)
		}
	}
	if len(values) != size {
		return h, nil, nil, damagedf("%d bytes instead of %d after decompression", len(values), size)
	}
	return h, levels, values, nil
}

// damaged returns an error of damaged data with its cause.
func damaged(cause error) error { return fmt.Errorf("%w: %w", block.ErrDamaged, cause) }

func damagedf(text string, args ...any) error {
	return fmt.Errorf("%w: "+text, append([]any{block.ErrDamaged}, args...)...)
}

// recovered turns a panic into an error: the decoders of the library panic for some damaged data
// with the right checksum.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = damagedf("%v", p)
	}
}
