package definitions

import "encoding/json"

// JSONOr returns raw, or fallback if raw is empty or null.
func JSONOr(raw json.RawMessage, fallback string) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(fallback)
	}
	return raw
}

// List returns a decoded JSON value as an array, or nil if it is of another type.
func List(v any) []any { l, _ := v.([]any); return l }

// Object returns a decoded JSON value as an object, or nil if it is of another type.
func Object(v any) map[string]any { o, _ := v.(map[string]any); return o }

// Omit returns a copy of o without one member.
func Omit[V any](o map[string]V, name string) map[string]V {
	out := make(map[string]V, len(o))
	for other, v := range o {
		if other != name {
			out[other] = v
		}
	}
	return out
}

// SuccessResult is the response of calls that return no data.
type SuccessResult struct {
	Success bool `json:"success"`
}
