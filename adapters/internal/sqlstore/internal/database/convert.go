package database

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// Micros returns a time in its stored form: microseconds since 1970 in UTC.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// FromMicros returns the time of a stored number of microseconds, in UTC.
func FromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// UUIDOf returns the UUID of 16 stored bytes.
func UUIDOf(b []byte) (capture.UUID, error) {
	if len(b) != len(capture.UUID{}) {
		return capture.UUID{}, fmt.Errorf("a uuid of %d bytes is stored: the database was changed by another program", len(b))
	}
	return capture.UUID(b), nil
}

// CleanText returns s in a form that PostgreSQL accepts: with U+FFFD for U+0000 and for
// invalid UTF-8.
func CleanText(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// JSONText returns the JSON form of a value that can always be encoded.
func JSONText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// JSONList returns the stored form of a list, in which nil is an empty list.
func JSONList[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	return JSONText(list)
}

// JSONMap returns the stored form of a map, in which nil is an empty map.
func JSONMap[V any](m map[string]V) string {
	if len(m) == 0 {
		return "{}"
	}
	return JSONText(m)
}

// NullIfEmpty returns NULL for an empty string.
func NullIfEmpty(text string) sql.NullString {
	return sql.NullString{String: CleanText(text), Valid: text != ""}
}

// OptionalMicros is like micros with 0 for the zero time.
func OptionalMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return Micros(t)
}

// JSONOrDefault returns a JSON text in a form that PostgreSQL accepts, or fallback if
// it is empty.
func JSONOrDefault(raw []byte, fallback string) string {
	if len(raw) == 0 {
		return fallback
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}

// BoolToInt returns the stored form of a boolean.
func BoolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
