package capture

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/capture/jsontext"
	"github.com/bunting-flags/bunting/flags/wire"
)

// This file has functions that read single values of a body. A value is JSON text that the
// scanner has already validated; the empty string represents an absent value.

func isAbsent(value string) bool { return value == "" || value == "null" }

// firstPresent returns the first value that is neither absent nor null, or the empty string.
func firstPresent(values ...string) string {
	for _, v := range values {
		if !isAbsent(v) {
			return v
		}
	}
	return ""
}

// scalar returns the content of a JSON string, and the JSON text of any other value. It
// returns the empty string for null and absent values.
func scalar(value string) string {
	if isAbsent(value) {
		return ""
	}
	if s, ok := text(value); ok {
		return s
	}
	return value
}

// eventName returns an event's name as the client sent it. It is empty if value is not a
// string or is blank.
func eventName(value string) string {
	s, _ := text(value)
	return replaceNUL(unlessBlank(s))
}

// idText converts any value to a distinct id (§3.4). It returns the empty string if the id
// would be blank.
func idText(value string) string {
	if isAbsent(value) {
		return ""
	}
	s := value
	switch value[0] {
	case '"':
		s = jsontext.Unquote(value)
	case '{', '[':
		s = compact(value)
	}
	return unlessBlank(replaceNUL(s))
}

// replaceNUL replaces each U+0000 by U+FFFD.
func replaceNUL(s string) string {
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00", "\ufffd")
}

// unlessBlank returns s, or the empty string if s has only white space.
func unlessBlank(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// compact returns JSON text without white space, and with strings in a uniform encoding,
// independent of the escapes that the client used.
func compact(value string) string {
	s := newScanner(value)
	out := make([]byte, 0, len(value))
	for s.Space(); s.Pos < len(s.Src); s.Space() {
		start := s.Pos
		if s.Peek() == '"' && s.Skip() {
			out = wire.AppendQuoted(out, jsontext.Unquote(value[start:s.Pos]))
			continue
		}
		s.Pos = start + 1
		out = append(out, value[start])
	}
	return string(out)
}

// StoredDistinctID returns a distinct id in the form in which it is stored (§3.4): its first
// 200 characters, with U+0000 replaced by U+FFFD.
func StoredDistinctID(id string) string { return cut(replaceNUL(id), maxID) }

// parseOffset parses an age in milliseconds. A fraction is rounded (§18.3, 65).
func parseOffset(value string) (ms int64, ok bool) {
	if value == "" || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return 0, false
	}
	if ms, err := strconv.ParseInt(value, 10, 64); err == nil {
		return clampMillis(ms), true
	}
	f, _ := strconv.ParseFloat(value, 64) // the scanner has validated it, so it is a number
	return int64(math.Round(min(max(f, -maxMillis), maxMillis))), true
}

// optionalUUID parses a uuid. It returns the zero UUID and true if the value is absent, null
// or "" (§3.2).
func optionalUUID(value string) (UUID, bool) {
	if isAbsent(value) || value == `""` {
		return UUID{}, true
	}
	s, _ := text(value)
	return wire.ParseUUID(s)
}

// invalidByte returns the offset of the first byte of s that is not valid UTF-8.
func invalidByte(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return len(s)
}
