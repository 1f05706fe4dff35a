package values

import "math"

// NoForm represents a value that has no form in JSON.
type NoForm struct{ Problem string }

// MaxDepth limits the nesting of lists and objects in property values.
const MaxDepth = 128

// Unsupported represents a JSON value that is nested too deeply, or a number out of range. It
// has no text and does not equal any value.
type Unsupported struct{}

// Decimal is a whole number that was written in JSON with a point or an exponent. Its
// text is "5.0", while the text of a float64, which encoding/json writes as 5, is "5".
type Decimal float64

// IsFinite reports whether f is neither NaN nor an infinity.
func IsFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// ExactInt is the limit below which float64 represents every integer exactly.
const ExactInt = 1 << 53
