package capture

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

// This file reads single values of a body. They come as JSON text that has been
// stepped over before; empty is for absent.

func isAbsent(value string) bool { return value == "" || value == "null" }

// firstPresent is the first value that is there and not null, empty for none.
func firstPresent(values ...string) string {
	for _, v := range values {
		if !isAbsent(v) {
			return v
		}
	}
	return ""
}

// scalar is the text of a string, and that of another value as it was sent;
// empty for null.
func scalar(value string) string {
	if isAbsent(value) {
		return ""
	}
	if s, ok := text(value); ok {
		return s
	}
	return value
}

// eventName is a name as it was sent: empty when it is no string or blank.
func eventName(value string) string {
	s, _ := text(value)
	return replaceNUL(unlessBlank(s))
}

// idText writes any value as a distinct id (§3.4), empty for a blank one.
func idText(value string) string {
	if isAbsent(value) {
		return ""
	}
	s := value
	switch value[0] {
	case '"':
		s = wire.Unquote(value)
	case '{', '[':
		s = compact(value)
	}
	return unlessBlank(replaceNUL(s))
}

func replaceNUL(s string) string {
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00", "\ufffd")
}

func unlessBlank(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// compact is a JSON text without the blanks between its parts, strings written
// the same way whichever escapes they were sent with.
func compact(value string) string {
	s := newScanner(value)
	out := make([]byte, 0, len(value))
	for s.Space(); s.Pos < len(s.Src); s.Space() {
		start := s.Pos
		if s.Peek() == '"' && s.Skip() {
			out = wire.AppendQuoted(out, wire.Unquote(value[start:s.Pos]))
			continue
		}
		s.Pos = start + 1
		out = append(out, value[start])
	}
	return string(out)
}

// StoredDistinctID is a distinct id as it is stored (§3.4): without U+0000, and
// its first 200 characters.
func StoredDistinctID(id string) string { return cut(replaceNUL(id), maxID) }

// parseOffset reads an age in milliseconds; a fraction is rounded (§18.3, 65).
func parseOffset(value string) (ms int64, ok bool) {
	if value == "" || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return 0, false
	}
	if ms, err := strconv.ParseInt(value, 10, 64); err == nil {
		return clampMillis(ms), true
	}
	f, _ := strconv.ParseFloat(value, 64) // stepped over before, so a number
	return int64(math.Round(min(max(f, -maxMillis), maxMillis))), true
}

// optionalUUID reads a uuid, zero for none: absent, null or "" (§3.2).
func optionalUUID(value string) (UUID, bool) {
	if isAbsent(value) || value == `""` {
		return UUID{}, true
	}
	s, _ := text(value)
	return wire.ParseUUID(s)
}

// invalidByte is where s stops being UTF-8.
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
