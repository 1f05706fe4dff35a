package management

import (
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Values are the values of the fields that a body has, by name. Their Go types are those that
// Field.Read returns; the value of null is nil.
type Values map[string]any

// Has reports whether the body has the field, null or not.
func (v Values) Has(name string) bool { _, ok := v[name]; return ok }

// IsNull reports whether the field is null; it is false for an absent field.
func (v Values) IsNull(name string) bool { value, ok := v[name]; return ok && value == nil }

// Value returns the value of a field. It returns false if the field is absent, null or not a T.
func Value[T any](v Values, name string) (T, bool) { value, ok := v[name].(T); return value, ok }

// Text returns a string, "" if the field is absent or null.
func (v Values) Text(name string) string { text, _ := Value[string](v, name); return text }

// Int returns an integer, 0 if the field is absent or null.
func (v Values) Int(name string) int64 { n, _ := Value[int64](v, name); return n }

// Bool returns a boolean, false if the field is absent or null.
func (v Values) Bool(name string) bool { b, _ := Value[bool](v, name); return b }

// OptionalBool returns a boolean, nil if the field is absent or null.
func (v Values) OptionalBool(name string) *bool {
	if b, ok := Value[bool](v, name); ok {
		return &b
	}
	return nil
}

// Time returns a time, zero if the field is absent or null.
func (v Values) Time(name string) time.Time { at, _ := Value[time.Time](v, name); return at }

// Raw returns the unchanged JSON of an Object, Array or Any, nil if the field is absent or null.
func (v Values) Raw(name string) json.RawMessage {
	raw, _ := Value[json.RawMessage](v, name)
	return raw
}

// Texts returns a list of strings, nil if the field is absent or null.
func (v Values) Texts(name string) []string { list, _ := Value[[]string](v, name); return list }

// Ints returns a list of integers, nil if the field is absent or null.
func (v Values) Ints(name string) []int64 { list, _ := Value[[]int64](v, name); return list }

// Objects returns a list of JSON objects, nil if the field is absent or null.
func (v Values) Objects(name string) []json.RawMessage {
	list, _ := Value[[]json.RawMessage](v, name)
	return list
}

// Set sets *dst to the value of a field, unless the field is absent or null.
func Set[T any](v Values, name string, dst *T) {
	if value, ok := Value[T](v, name); ok {
		*dst = value
	}
}

// SetNull is like Set for fields that may be null: null sets *dst to nil.
func SetNull[T any](v Values, name string, dst **T) {
	if v.IsNull(name) {
		*dst = nil
	} else if value, ok := Value[T](v, name); ok {
		*dst = &value
	}
}

// JSONObject returns the members of a JSON object, or nil if raw is not an object.
func JSONObject(raw json.RawMessage) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// JSONText returns the value of a JSON string, or "" if raw is not a string.
func JSONText(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text) // on failure text stays empty
	return text
}

// EmptyJSON reports whether a JSON document is null, "", [], {} or has no bytes.
func EmptyJSON(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// Decode returns the value that is stored in a record, or nil if r is nil. It returns an
// storage.UnreadableError if the record cannot be decoded.
func Decode[T any](r *Record) (*T, error) {
	if r == nil {
		return nil, nil
	}
	out := new(T)
	if err := json.Unmarshal(r.Data, out); err != nil {
		return nil, &storage.UnreadableError{What: r.Kind + " " + r.ID, Err: err}
	}
	return out, nil
}
