package intake

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
	"github.com/bunting-flags/bunting/capture"
)

// Limits of bodies, in bytes (§4.6).
const (
	// DefaultMaxCaptureBody is the default of Config.MaxCaptureBody: 20 MiB.
	DefaultMaxCaptureBody = 20 << 20
	// maxRecording is the limit of session recordings, before unpacking.
	maxRecording = 25 << 20
	// unpackedTimes is the limit of unpacked v0 bodies, as a multiple of their limit before
	// unpacking.
	unpackedTimes = 5
)

// enableEarlyCheck rejects a long body as soon as its first chunk shows that it has no events or an
// unknown project key. Packed bodies are checked when their first bytes are unpacked.
func (s *Service) enableEarlyCheck(l *admission.Lease) {
	l.OnFirstChunk = func(text []byte) error {
		if !unpack.StartsJSON(text) {
			if !l.Arrived { // it may be packed
				s.enableEarlyCheck(l)
			}
			return nil
		}
		token, err := capture.PeekToken(unpack.AsText(text))
		if err == nil && token != "" {
			err = s.Intake.CheckKey(l.Ctx, token)
		}
		if err != nil {
			return captureProblem(err)
		}
		return nil
	}
}

// readCapture returns the decoded text of a v0 request, from the query parameter data or the body.
// It removes all encodings in the order of §2.1 to §2.5. The memory of the text belongs to the
// lease.
func (s *Service) readCapture(r *http.Request, q *captureQuery, l *admission.Lease, limit int64) (string, error) {
	s.enableEarlyCheck(l)
	payload := []byte(nil)
	form := false
	switch {
	case q.data != "":
		l.MarkArrived()
		if err := l.Acquire(int64(len(q.data))); err != nil {
			return "", err
		}
		payload = []byte(q.data)
	case r.Method == http.MethodPost:
		var err error
		if payload, err = l.ReadRaw(limit); err != nil {
			return "", err
		}
		form = isForm(frame.Header(r.Header, "Content-Type"))
	}
	declared := codecOf(q.compression)
	if form && looksLikeForm(payload) {
		name, _ := unpack.FormMember(payload, "compression=")
		if declared == codecUnknown {
			declared = codecOf(unpack.QueryText(string(name[:min(len(name), 64)])))
		}
		payload, _ = unpack.FormMember(payload, "data=")
		payload = unpack.Unescape(payload)
	}
	if declared == codecUnknown {
		declared = codecOf(frame.Header(r.Header, "Content-Encoding"))
	}
	if len(payload) == 0 {
		return "", &problemNoData
	}
	text, err := unpackV0(l, payload, declared, unpackedTimes*limit)
	return unpack.AsText(text), err
}

// unpackV0 decodes base64, then decompresses, then decodes base64 within (§2.2, §2.4, §2.5).
func unpackV0(l *admission.Lease, payload []byte, declared codec, limit int64) ([]byte, error) {
	if declared == codecLZ64 && !unpack.IsGzip(payload) {
		text, err := unpack.LeasedLZ64(l, payload, limit)
		if err != nil {
			return nil, err
		}
		return unpack.UndoBase64(text), nil
	}
	payload = unpack.UndoBase64(payload)
	// A proxy may have unpacked the body without removing the header, so JSON is not unpacked
	// (§2.4).
	if unpack.IsGzip(payload) || declared == codecGzip && !unpack.StartsJSON(payload) {
		text, err := unpack.Gunzip(l, payload, limit)
		if err != nil {
			return nil, err
		}
		payload = unpack.UndoBase64(text)
	}
	return payload, nil
}
