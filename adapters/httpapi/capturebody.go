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

// Limits of bodies, in bytes (§4.6).
const (
	// defaultMaxCaptureBody is the default of Config.MaxCaptureBody: 20 MiB.
	defaultMaxCaptureBody = 20 << 20
	// maxRecording is the limit of session recordings, before unpacking.
	maxRecording = 25 << 20
	// unpackedTimes is the limit of unpacked v0 bodies, as a multiple of their limit before
	// unpacking.
	unpackedTimes = 5
)

const (
	// firstChunk is the number of bytes reserved for a body before its first byte arrives. The rest
	// is reserved as it arrives.
	firstChunk = 16 << 10
	// unpackedGuess is the expected ratio of the length of an unpacked body to its packed length.
	unpackedGuess = 6
	// lz64Times is the largest allowed ratio of the length of an unpacked lz64 body to its packed
	// length. lz64Memory is the number of bytes of memory that unpacking needs for each byte of the
	// result.
	lz64Times, lz64Memory = 64, 8

	// A body that is rejected before its end is read and discarded, so that the client receives the
	// status instead of a broken connection (§4.6). drainBytes and drainTime limit how much is read
	// and for how long.
	drainBytes = 64 << 20
	drainTime  = 5 * time.Second
)

// readRaw reads the body of the request, at most limit bytes, and reserves memory as the bytes
// arrive.
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

// enableEarlyCheck rejects a long body as soon as its first chunk shows that it has no events or an
// unknown project key. Packed bodies are checked when their first bytes are unpacked.
func (s *intakeService) enableEarlyCheck(l *memoryLease) {
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

// drain reads and discards the rest of a body, if enabled is true.
func drain(w http.ResponseWriter, r *http.Request, enabled bool) {
	if !enabled {
		return
	}
	// Writers without deadlines are not network connections, so the error can be ignored.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, r.Body, drainBytes)
}

// readCapture returns the decoded text of a v0 request, from the query parameter data or the body.
// It removes all encodings in the order of §2.1 to §2.5. The memory of the text belongs to the
// lease.
func (s *intakeService) readCapture(r *http.Request, q *captureQuery, l *memoryLease, limit int64) (string, error) {
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
	text, err := unpackV0(l, payload, declared, unpackedTimes*limit)
	return asText(text), err
}

// unpackV0 decodes base64, then decompresses, then decodes base64 within (§2.2, §2.4, §2.5).
func unpackV0(l *memoryLease, payload []byte, declared codec, limit int64) ([]byte, error) {
	if declared == codecLZ64 && !isGzip(payload) {
		text, err := leasedLZ64(l, payload, limit)
		if err != nil {
			return nil, err
		}
		return undoBase64(text), nil
	}
	payload = undoBase64(payload)
	// A proxy may have unpacked the body without removing the header, so JSON is not unpacked
	// (§2.4).
	if isGzip(payload) || declared == codecGzip && !startsJSON(payload) {
		text, err := gunzip(l, payload, limit)
		if err != nil {
			return nil, err
		}
		payload = undoBase64(text)
	}
	return payload, nil
}

// asText converts b to a string without copying. The caller must not modify b afterwards.
func asText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

var byteOrderMark = []byte("\xef\xbb\xbf")

// startsJSON reports whether the first character other than white space begins an object or an
// array.
func startsJSON(text []byte) bool {
	for _, c := range bytes.TrimPrefix(text, byteOrderMark) {
		if c > ' ' {
			return c == '{' || c == '['
		}
	}
	return false
}

// gzipMagic is the prefix of every gzip stream.
var gzipMagic = []byte("\x1f\x8b\x08")

func isGzip(b []byte) bool { return bytes.HasPrefix(b, gzipMagic) }

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
		if err != nil || !isGzip(packed[offset:]) {
			return offset, err
		}
	}
}

// gunzip unpacks all members of a gzip stream, to at most limit bytes.
func gunzip(l *memoryLease, packed []byte, limit int64) (out []byte, err error) {
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
func lz64Bounds(l *memoryLease, packed []byte, limit int64) (maxLength, work int64) {
	maxLength = min(limit, l.budget.total/(2*lz64Memory), lz64Times*int64(len(packed))+4096)
	return maxLength, lz64Memory * (maxLength + int64(len(packed)))
}

// leasedLZ64 unpacks LZ-string text. It reserves the memory for the work first, and frees the part
// that the result does not need.
func leasedLZ64(l *memoryLease, packed []byte, limit int64) ([]byte, error) {
	limit, work := lz64Bounds(l, packed, limit)
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
