package httpapi

import (
	"strings"
)

// unpack undoes the encodings of §9.3, and lz64. raw is the body as read, the
// next three are the two headers and the query parameter, empty where absent.
// No more than limit bytes are produced (0: DefaultMaxBody); beyond is 413, where the
// count is what had been produced when unpacking stopped. The answer may lie
// in raw or in buf, whose content is overwritten; it may be no JSON at all. What it
// takes beside these two is reserved with l, unless that is nil.
func unpack(raw []byte, contentType, contentEncoding, compression string, limit int64, buf []byte, l *memoryLease) (json []byte, err *bodyError) {
	if limit <= 0 {
		limit = DefaultMaxBody
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
		return nil, bodyTooLarge(limit, int64(len(body)))
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

// isFormContent reports whether the body is a form, and refuses types that are
// neither form nor JSON nor plain text.
func isFormContent(contentType string) (bool, *bodyError) {
	base, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(base)) {
	case "", "application/json", "text/plain":
		return false, nil
	case "application/x-www-form-urlencoded":
		return true, nil
	}
	err := undecodable("unsupported content type: " + shorten(contentType))
	err.Attr = "Content-Type"
	return false, err
}

// encodingOf says how the body as a whole is compressed. The query parameter
// speaks first, then the header, then the first bytes.
func encodingOf(header, compression string, form bool, raw []byte) string {
	switch strings.ToLower(compression) {
	case "gzip", "gzip-js":
		if !form { // a form refuses it, with a text of its own
			return "gzip"
		}
	}
	switch header = strings.ToLower(header); {
	case strings.Contains(header, "gzip"), isGzip(raw):
		return "gzip"
	case strings.Contains(header, "deflate"):
		return "deflate"
	}
	return ""
}
