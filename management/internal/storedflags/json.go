package storedflags

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// canonicalJSON returns a normalized encoding of a JSON value for comparisons, with all digits of
// its numbers preserved. It returns nil if raw is nil.
func canonicalJSON(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	return wire.MustEncode(withoutNames(wire.Value(raw)))
}

// CompactJSON returns a canonical encoding of a JSON value for comparisons, with sorted members.
// An empty value results in null.
func CompactJSON(raw json.RawMessage) []byte {
	var v any
	_ = json.Unmarshal(raw, &v) // v stays nil for invalid JSON
	return storage.Encode(v)
}

// PlainText returns a shortened value for error messages: strings as they are, other values as
// JSON.
func PlainText(v any) string {
	text, ok := v.(string)
	if !ok {
		text = string(wire.MustEncode(v))
	}
	return plain.ShortText(text)
}

// MissingFrom returns the strings that are not in list.
func MissingFrom(list, texts []string) (out []string) {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			out = append(out, text)
		}
	}
	return out
}

// EqualJSON reports whether two JSON values are equal, ignoring the names of cohorts, which are
// returned with flags but not stored.
func EqualJSON(a, b json.RawMessage) bool { return bytes.Equal(PlainJSON(a), PlainJSON(b)) }

// PlainJSON returns a JSON value in a form that can be compared: without the names of cohorts and
// with sorted members.
func PlainJSON(raw json.RawMessage) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	return storage.Encode(withoutNames(v))
}

// withoutNames removes all members cohort_name from a decoded JSON value, in place.
func withoutNames(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cohort_name")
		for name := range v {
			v[name] = withoutNames(v[name])
		}
	case []any:
		for i := range v {
			v[i] = withoutNames(v[i])
		}
	}
	return v
}
