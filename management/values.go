package management

import (
	"encoding/json"
	"time"
)

// Values are the fields of a body that were there, read by their types. A field
// that was null has the value nil.
type Values map[string]any

// Has reports whether the field was there, null or not.
func (v Values) Has(name string) bool { _, ok := v[name]; return ok }

// IsNull reports whether the field was there and null.
func (v Values) IsNull(name string) bool { value, ok := v[name]; return ok && value == nil }

// Value returns a value of a type; false when the field was absent or null.
func Value[T any](v Values, name string) (T, bool) { value, ok := v[name].(T); return value, ok }

// Text returns a text, "" for none.
func (v Values) Text(name string) string { text, _ := Value[string](v, name); return text }

// Int returns a number, 0 for none.
func (v Values) Int(name string) int64 { n, _ := Value[int64](v, name); return n }

// Bool returns a truth, false for none.
func (v Values) Bool(name string) bool { b, _ := Value[bool](v, name); return b }

// OptionalBool returns a truth, nil for none.
func (v Values) OptionalBool(name string) *bool {
	if b, ok := Value[bool](v, name); ok {
		return &b
	}
	return nil
}

// Time returns a time, the zero one for none.
func (v Values) Time(name string) time.Time { at, _ := Value[time.Time](v, name); return at }

// Raw returns a value as it stood, nil for none.
func (v Values) Raw(name string) json.RawMessage {
	raw, _ := Value[json.RawMessage](v, name)
	return raw
}

// Texts returns a list of texts, nil for none.
func (v Values) Texts(name string) []string { list, _ := Value[[]string](v, name); return list }

// Ints returns a list of numbers, nil for none.
func (v Values) Ints(name string) []int64 { list, _ := Value[[]int64](v, name); return list }

// Objects returns a list of objects, nil for none.
func (v Values) Objects(name string) []json.RawMessage {
	list, _ := Value[[]json.RawMessage](v, name)
	return list
}

// Set puts the field where to points, if it was there and not null.
func Set[T any](v Values, name string, dst *T) {
	if value, ok := Value[T](v, name); ok {
		*dst = value
	}
}

// SetNull is Set for what may be null: null sets nil.
func SetNull[T any](v Values, name string, dst **T) {
	if v.IsNull(name) {
		*dst = nil
	} else if value, ok := Value[T](v, name); ok {
		*dst = &value
	}
}
