package unpack

import (
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// DefaultLimit is the limit of an unpacked body if there is no other, in bytes.
const DefaultLimit = 10 << 20

// Body decodes the encodings of §9.3, and lz64. raw is the body as received; contentType,
// contentEncoding and compression are the two headers and the query parameter, empty if absent. The
// result has at most limit bytes (DefaultLimit if limit is 0); a longer one is a 413 error whose
// count is the number of bytes that were produced until unpacking stopped. The result may share
// memory with raw or buf, and the content of buf is overwritten. The result is not checked to be
// JSON. All other memory is reserved with l, unless l is nil.
func Body(raw []byte, contentType, contentEncoding, compression string, limit int64, buf []byte, l *admission.Lease) (json []byte, err *problem.Body) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	u := unpacker{limit: limit, buf: buf[:0], lease: l}
	form, err := isFormContent(contentType)
	if err != nil {
		return nil, err
	}
	body := raw
	switch encodingOf(contentEncoding, compression, form, raw) {
	case "gzip":
		body, err = u.gunzip(raw)
	case "deflate":
		body, err = u.inflate(raw)
	}
	switch {
	case err != nil:
		return nil, err
	case int64(len(body)) > limit:
		return nil, BodyTooLarge(limit, int64(len(body)))
	case form:
		return u.form(body, compression)
	}
	switch strings.ToLower(compression) {
	case "", "gzip", "gzip-js":
		return body, nil
	case "base64":
		return u.base64(body, false)
	case "lz64":
		return u.lz64(body)
	}
	return nil, unsupportedCompression(compression)
}

// isFormContent reports whether contentType is that of a form. It returns an error for types other
// than forms, JSON and plain text.
func isFormContent(contentType string) (bool, *problem.Body) {
	base, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(base)) {
	case "", "application/json", "text/plain":
		return false, nil
	case "application/x-www-form-urlencoded":
		return true, nil
	}
	err := undecodable("unsupported content type: " + problem.Shorten(contentType))
	err.Attr = "Content-Type"
	return false, err
}

// encodingOf returns the encoding of the whole body: gzip, deflate or none (empty). The query
// parameter takes precedence over the header, and the header over the first bytes of the body.
func encodingOf(header, compression string, form bool, raw []byte) string {
	switch strings.ToLower(compression) {
	case "gzip", "gzip-js":
		if !form { // forms with this parameter are rejected later, with a message of their own
			return "gzip"
		}
	}
	switch header = strings.ToLower(header); {
	case strings.Contains(header, "gzip"), IsGzip(raw):
		return "gzip"
	case strings.Contains(header, "deflate"):
		return "deflate"
	}
	return ""
}
