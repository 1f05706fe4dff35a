package httpapi

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"sync"
	"time"
	"unsafe"

	"github.com/klauspost/compress/gzip"

	"github.com/bunting-flags/bunting/capture"
)

// Bounds of bodies, in bytes (§4.6).
const (
	// defaultMaxCaptureBody is Config.MaxCaptureBody where that is zero: 20 MiB.
	defaultMaxCaptureBody = 20 << 20
	// maxRecording is the wire limit of session recordings.
	maxRecording = 25 << 20
	// unpackedTimes is how many times the wire limit a v0 body may have unpacked.
	unpackedTimes = 5
)

const (
	// firstChunk is what a body gets of the budget before its first byte is there;
	// the rest it gets as it arrives.
	firstChunk = 16 << 10
	// unpackedGuess is how many times as long a body is expected to be unpacked.
	unpackedGuess = 6
	// lz64Times bounds how many times as long an lz64 body may be unpacked, and
	// lz64Memory is what unpacking takes, in bytes for each byte that comes out.
	lz64Times, lz64Memory = 64, 8

	// A body that is refused before its end is read and thrown away, so that its
	// sender sees the status and no broken connection (§4.6): this many bytes, for
	// this long.
	drainBytes = 64 << 20
	drainTime  = 5 * time.Second
)

// readRaw reads the bytes of a body as they come, at most limit.
func (l *memoryLease) readRaw(limit int64) ([]byte, error) {
	w, r := l.body.w, l.body.r
	if r.ContentLength > limit {
		drain(w, r, header(r.Header, "Expect") == "")
		return nil, payloadTooLarge(limit)
	}
	first := int64(firstChunk)
	if r.ContentLength >= 0 {
		first = min(first, r.ContentLength+1)
	}
	raw, err := l.read(nil, &l.body, first, max(r.ContentLength, 0), limit)
	if err != nil {
		err = readProblem(err)
		drain(w, r, isDrainable(err))
		return nil, err
	}
	l.body.finish()
	l.markArrived()
	return raw, nil
}

// enableEarlyCheck lets a long body be refused for what its first bytes say: no events, or
// the key of nobody. Packed texts are shown when they are unpacked.
func (s *server) enableEarlyCheck(l *memoryLease) {
	l.onFirstChunk = func(text []byte) error {
		if !startsJSON(text) {
			if !l.arrived { // it may be packed
				s.enableEarlyCheck(l)
			}
			return nil
		}
		token, err := capture.PeekToken(asText(text))
		if err == nil && token != "" {
			err = s.Intake.CheckKey(l.ctx, token)
		}
		if err != nil {
			return captureProblem(err)
		}
		return nil
	}
}

// drain throws the rest of a body away, if wanted.
func drain(w http.ResponseWriter, r *http.Request, enabled bool) {
	if !enabled {
		return
	}
	// A writer that has no deadlines has no network either.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, r.Body, drainBytes)
}

// readCapture is the text of a v0 request: its data parameter or its body,
// rid of all encodings in the order of §2.1 to §2.5. The text is part of the
// lease.
func (s *server) readCapture(r *http.Request, q *captureQuery, l *memoryLease, limit int64) (string, error) {
	s.enableEarlyCheck(l)
	payload := []byte(nil)
	form := false
	switch {
	case q.data != "":
		l.markArrived()
		if err := l.acquire(int64(len(q.data))); err != nil {
			return "", err
		}
		payload = []byte(q.data)
	case r.Method == http.MethodPost:
		var err error
		if payload, err = l.readRaw(limit); err != nil {
			return "", err
		}
		form = isForm(header(r.Header, "Content-Type"))
	}
	declared := codecOf(q.compression)
	if form && looksLikeForm(payload) {
		name, _ := formMember(payload, "compression=")
		if declared == codecUnknown {
			declared = codecOf(queryText(string(name[:min(len(name), 64)])))
		}
		payload, _ = formMember(payload, "data=")
		payload = unescape(payload)
	}
	if declared == codecUnknown {
		declared = codecOf(header(r.Header, "Content-Encoding"))
	}
	if len(payload) == 0 {
		return "", &problemNoData
	}
	text, err := l.unpackV0(payload, declared, unpackedTimes*limit)
	return asText(text), err
}

// unpackV0 undoes base64, compression and base64 again (§2.2, §2.4, §2.5).
func (l *memoryLease) unpackV0(payload []byte, declared codec, limit int64) ([]byte, error) {
	if declared == codecLZ64 && !isGzip(payload) {
		text, err := l.unpackLZ64(payload, limit)
		if err != nil {
			return nil, err
		}
		return undoBase64(text), nil
	}
	payload = undoBase64(payload)
	// A proxy may have unpacked the body and left the header: JSON is JSON (§2.4).
	if isGzip(payload) || declared == codecGzip && !startsJSON(payload) {
		text, err := l.gunzip(payload, limit)
		if err != nil {
			return nil, err
		}
		payload = undoBase64(text)
	}
	return payload, nil
}

// asText takes bytes for the text of a body. Nobody writes to them afterwards.
func asText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

var byteOrderMark = []byte("\xef\xbb\xbf")

// startsJSON reports whether the first character that is no blank begins an
// object or a list.
func startsJSON(text []byte) bool {
	for _, c := range bytes.TrimPrefix(text, byteOrderMark) {
		if c > ' ' {
			return c == '{' || c == '['
		}
	}
	return false
}

// gzipMagic begins every gzip stream.
var gzipMagic = []byte("\x1f\x8b\x08")

func isGzip(b []byte) bool { return bytes.HasPrefix(b, gzipMagic) }

// inflater is a pooled gzip reader and the bytes that it reads.
type inflater struct {
	src bytes.Reader
	gz  gzip.Reader
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// eachMember calls take with what every member of a gzip stream holds. What follows the
// last one and begins no other is ignored. at is how far the stream was read.
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
		if err != nil || !isGzip(packed[offset:]) {
			return offset, err
		}
	}
}

func (l *memoryLease) gunzip(packed []byte, limit int64) (out []byte, err error) {
	expected := unpackedLength(packed)
	_, err = eachMember(packed, func(src io.Reader) (err error) {
		out, err = l.unpackInto(out, src, expected, limit)
		return err
	})
	if err != nil {
		return nil, unpackProblem(err, &problemBadGzip)
	}
	return out, nil
}

// unpackedLength is what a gzip stream says of its own length where that is likely,
// else a guess.
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

// lz64Bounds are how long LZ-string text may be unpacked, and the memory that takes.
func (l *memoryLease) lz64Bounds(packed []byte, limit int64) (maxLength, work int64) {
	maxLength = min(limit, l.budget.total/(2*lz64Memory), lz64Times*int64(len(packed))+4096)
	return maxLength, lz64Memory * (maxLength + int64(len(packed)))
}

// unpackLZ64 unpacks LZ-string text. Memory for the work is reserved before.
func (l *memoryLease) unpackLZ64(packed []byte, limit int64) ([]byte, error) {
	limit, work := l.lz64Bounds(packed, limit)
	if err := l.acquire(work); err != nil {
		return nil, err
	}
	out, problem := unpackLZ64(packed, limit)
	if problem != nil {
		return nil, lz64Problem(problem, limit)
	}
	l.free(work - int64(cap(out)))
	return out, nil
}
