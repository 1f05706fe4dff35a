package unpack

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

func undecodable(cause string) *problem.Body {
	return &problem.Body{Status: 400, Detail: problem.DecodeFailure(cause)}
}

// BodyTooLarge returns the error for a body that is longer than limit when unpacked.
func BodyTooLarge(limit, got int64) *problem.Body {
	return &problem.Body{Status: 413, Detail: fmt.Sprintf("Decompressed request body exceeded %d bytes (got %d). "+
		"If this is a legitimate workload, contact PostHog support.", limit, got)}
}

// unpacker decodes the encodings of a body, one after the other, within one size limit. The first
// one uses buf for its output.
type unpacker struct {
	limit int64
	buf   []byte
	lease *admission.Lease
}

// free returns buf at the first call and nil afterwards.
func (u *unpacker) free() []byte {
	buf := u.buf
	u.buf = nil
	return buf
}

// gunzip decompresses all members of a gzip stream. It returns an error if the stream is
// truncated or a checksum is wrong.
func (u *unpacker) gunzip(raw []byte) ([]byte, *problem.Body) {
	out := u.free()
	offset, err := eachMember(raw, func(src io.Reader) (err error) {
		out, err = ReadUpTo(out, src, u.limit, u.lease)
		return err
	})
	return out, inflateError("gzip", err, raw, offset)
}

// inflate decompresses Content-Encoding: deflate, which is the zlib format.
func (u *unpacker) inflate(raw []byte) (out []byte, _ *problem.Body) {
	src := bytes.NewReader(raw)
	z, err := zlib.NewReader(src)
	if err == nil {
		out, err = ReadUpTo(u.free(), z, u.limit, u.lease)
	}
	return out, inflateError("deflate", err, raw, len(raw)-src.Len())
}

// inflateError returns the error of a compressed body. offset is the number of bytes that were
// read.
func inflateError(format string, err error, raw []byte, offset int) *problem.Body {
	var rejection *problem.Body
	switch {
	case err == nil:
		return nil
	case errors.As(err, &rejection):
		return rejection
	case errors.Is(err, io.EOF): // the body is empty, or truncated in a header
		err = io.ErrUnexpectedEOF
	}
	return undecodable(fmt.Sprintf("%s decompression failed: %v (at byte %d of %d)", format, err, offset, len(raw)))
}

// ReadUpTo appends all of src to out, at most limit bytes in all. The memory is reserved with l.
// The error is that of src, or a *problem.Body.
func ReadUpTo(out []byte, src io.Reader, limit int64, l *admission.Lease) ([]byte, error) {
	for {
		if l != nil {
			if err := l.Inspect(out); err != nil {
				return nil, &problem.Body{Cause: err}
			}
		}
		if len(out) == cap(out) {
			size := min(max(2*int64(cap(out)), 4096), limit+1)
			if err := l.Reserve(size); err != nil {
				return nil, &problem.Body{Cause: err}
			}
			old := int64(cap(out))
			out = append(make([]byte, 0, size), out...)
			l.Unreserve(old)
		}
		n, err := src.Read(out[len(out):min(int64(cap(out)), limit+1)])
		out = out[:len(out)+n]
		switch {
		case int64(len(out)) > limit:
			return nil, BodyTooLarge(limit, int64(len(out)))
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, err
		}
	}
}

func unsupportedCompression(name string) *problem.Body {
	return &problem.Body{Status: 400, Attr: "compression",
		Detail: fmt.Sprintf("Unsupported compression type %q: use gzip, gzip-js, base64 or lz64.", problem.Shorten(name))}
}
