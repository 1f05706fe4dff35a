package unpack

import (
	"bytes"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
)

const (
	// MaxV1Unpacked is the maximum length of an unpacked body of protocol v1, in bytes.
	MaxV1Unpacked = 50 << 20
	zstdWindow    = 8 << 20  // every decoder must support this size; larger windows are rejected
	brotliWindow  = 16 << 20 // the largest window of the format
)

// Decoder decodes one Content-Encoding, to at most limit bytes.
type Decoder func(l *admission.Lease, packed []byte, limit int64) ([]byte, error)

// ByEncoding maps the values of Content-Encoding to their decoders.
var ByEncoding = map[string]Decoder{
	"":         plainV1,
	"identity": plainV1,
	"gzip":     Gunzip,
	"deflate":  inflate,
	"br": func(l *admission.Lease, packed []byte, limit int64) ([]byte, error) {
		return unpackWith(l, brotlis, brotliWindow, packed, limit)
	},
	"zstd": func(l *admission.Lease, packed []byte, limit int64) ([]byte, error) {
		return unpackWith(l, zstds, zstdWindow, packed, limit)
	},
}

func plainV1(_ *admission.Lease, body []byte, _ int64) ([]byte, error) { return body, nil }

// inflate decodes deflate: the zlib format if the first byte is that of a zlib header, and raw
// deflate otherwise (§6.1).
func inflate(l *admission.Lease, packed []byte, limit int64) ([]byte, error) {
	src := bytes.NewReader(packed)
	var z io.Reader = flate.NewReader(src)
	if bytes.HasPrefix(packed, []byte{0x78}) {
		var err error
		if z, err = zlib.NewReader(src); err != nil {
			return nil, unpackProblem(err, &badPacking)
		}
	}
	return unpackAll(l, z, packed, limit)
}

// resetReader is a decoder that can be reused.
type resetReader interface {
	io.Reader
	Reset(src io.Reader) error
}

var (
	brotlis = &sync.Pool{New: func() any { return brotli.NewReader(nil) }}
	zstds   = &sync.Pool{New: func() any {
		// Options out of range are the only error.
		z, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(MaxV1Unpacked))
		return z
	}}
)

// unpackWith unpacks with a decoder from pool. It reserves window bytes for the decoder while it
// works.
func unpackWith(l *admission.Lease, pool *sync.Pool, window int64, packed []byte, limit int64) ([]byte, error) {
	if err := l.Acquire(window); err != nil {
		return nil, err
	}
	defer l.Free(window)
	z := pool.Get().(resetReader)
	src := bytes.NewReader(packed)
	defer func() {
		src.Reset(nil) // do not retain packed in the pool
		pool.Put(z)
	}()
	if err := z.Reset(src); err != nil {
		return nil, unpackProblem(err, &badPacking)
	}
	return unpackAll(l, z, packed, limit)
}

func unpackAll(l *admission.Lease, src io.Reader, packed []byte, limit int64) ([]byte, error) {
	out, err := l.UnpackInto(nil, src, unpackedGuess*int64(len(packed)), limit)
	if err != nil {
		err = unpackProblem(err, &badPacking)
	}
	return out, err
}
