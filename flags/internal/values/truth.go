package values

import "slices"

// IsBoolean reports whether a value satisfies rule 1 of §4.6: it is a boolean, "true" or
// "false" in any case, or an array of such values only, which may be empty.
func IsBoolean(v any) bool {
	switch v := v.(type) {
	case bool:
		return true
	case string:
		return EqualLower(v, "true") || EqualLower(v, "false")
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !IsBoolean(item) })
	}
	return false
}

// IsTrue reports whether a value is true, "true" in any case, or an array of such
// values only (§4.6).
func IsTrue(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return EqualLower(v, "true")
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !IsTrue(item) })
	}
	return false
}
