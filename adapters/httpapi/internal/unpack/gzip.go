package unpack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

const (
	// unpackedGuess is the expected ratio of the length of an unpacked body to its packed length.
	unpackedGuess = 6
	// lz64Times is the largest allowed ratio of the length of an unpacked lz64 body to its packed
	// length. lz64Memory is the number of bytes of memory that unpacking needs for each byte of the
	// result.
	lz64Times, lz64Memory = 64, 8
)

// gzipMagic is the prefix of every gzip stream.
var gzipMagic = []byte("\x1f\x8b\x08")

// IsGzip reports whether a text begins like a gzip stream.
func IsGzip(b []byte) bool { return bytes.HasPrefix(b, gzipMagic) }

// inflater is a pooled gzip reader with its source.
type inflater struct {
	src bytes.Reader
	gz  gzip.Reader
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// eachMember calls take with the content of each member of a gzip stream. Bytes after the last
// member that do not begin another one are ignored. offset is the number of bytes of the stream
// that were read.
func eachMember(packed []byte, take func(src io.Reader) error) (offset int, err error) {
	z := inflaters.Get().(*inflater)
	defer func() {
		z.src.Reset(nil)
		inflaters.Put(z)
	}()
	z.src.Reset(packed)
	for {
		if err = z.gz.Reset(&z.src); err == nil {
			z.gz.Multistream(false)
			err = take(&z.gz)
		}
		offset = len(packed) - z.src.Len()
		if err != nil || !IsGzip(packed[offset:]) {
			return offset, err
		}
	}
}

// Gunzip unpacks all members of a gzip stream, to at most limit bytes.
func Gunzip(l *admission.Lease, packed []byte, limit int64) (out []byte, err error) {
	expected := unpackedLength(packed)
	_, err = eachMember(packed, func(src io.Reader) (err error) {
		out, err = l.UnpackInto(out, src, expected, limit)
		return err
	})
	if err != nil {
		return nil, unpackProblem(err, &badGzip)
	}
	return out, nil
}

// unpackedLength returns the length that a gzip stream declares if it is plausible, and an estimate
// otherwise.
func unpackedLength(packed []byte) int64 {
	guess := unpackedGuess * int64(len(packed))
	if len(packed) >= 4 {
		stated := int64(binary.LittleEndian.Uint32(packed[len(packed)-4:]))
		if stated >= int64(len(packed))/2 && stated <= 5*guess {
			return stated
		}
	}
	return guess
}

// lz64Bounds returns the largest allowed length of unpacked LZ-string text, and the bytes of memory
// that unpacking needs.
func lz64Bounds(l *admission.Lease, packed []byte, limit int64) (maxLength, work int64) {
	maxLength = min(limit, l.Budget.Total/(2*lz64Memory), lz64Times*int64(len(packed))+4096)
	return maxLength, lz64Memory * (maxLength + int64(len(packed)))
}

// LeasedLZ64 unpacks LZ-string text. It reserves the memory for the work first, and frees the part
// that the result does not need.
func LeasedLZ64(l *admission.Lease, packed []byte, limit int64) ([]byte, error) {
	limit, work := lz64Bounds(l, packed, limit)
	if err := l.Acquire(work); err != nil {
		return nil, err
	}
	out, fault := unpackLZ64(packed, limit)
	if fault != nil {
		return nil, lz64Problem(fault, limit)
	}
	l.Free(work - int64(cap(out)))
	return out, nil
}

var (
	badGzip    = problem.Problem{Status: 400, Type: "validation_error", Code: "invalid_payload", Detail: "failed to decode request: invalid GZIP data"}
	badLZ64    = problem.Problem{Status: 400, Type: "validation_error", Code: "invalid_payload", Detail: "failed to decode request: invalid LZ64 data"}
	badPacking = problem.Problem{Status: 400, Type: "validation_error", Code: "invalid_payload", Detail: "failed to decode request: invalid compressed data"}
)

// unpackProblem converts an error from unpacking to the problem in the response. bad is the problem
// for invalid packed data.
func unpackProblem(err error, bad *problem.Problem) error {
	var target *problem.Problem
	if errors.As(err, &target) {
		return err
	}
	if errors.Is(err, io.EOF) { // within a header
		err = io.ErrUnexpectedEOF
	}
	return bad.With("("+err.Error()+")", "")
}

func lz64Problem(err *problem.Body, limit int64) error {
	if err.Status == http.StatusRequestEntityTooLarge {
		return admission.TooLargeFor(limit)
	}
	return badLZ64.With("("+err.Detail+")", "")
}
