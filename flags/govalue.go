package flags

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// This file reads values of Go types that no JSON decoder makes (decision 32).

// noForm stands for a value that has no form in JSON.
type noForm struct{ problem string }

// convert reads a value that is not canonical: plain numbers and texts by
// themselves, everything else by what encoding/json writes.
func convert(v any) any {
	switch x := v.(type) {
	case int:
		return int64(x)
	case int8:
		return int64(x)
	case int16:
		return int64(x)
	case int32:
		return int64(x)
	case uint:
		return fromUint(uint64(x))
	case uint8:
		return int64(x)
	case uint16:
		return int64(x)
	case uint32:
		return int64(x)
	case uint64:
		return fromUint(x)
	case string:
		return string([]rune(x)) // each byte that is no UTF-8 becomes U+FFFD
	case json.Number:
		if n, ok := literal(string(x)); ok {
			return n
		}
	}
	text, err := marshal(v)
	if err != nil {
		return noForm{strings.TrimPrefix(err.Error(), "json: ")}
	}
	tree, err := DecodeJSON(text)
	if err != nil { // what is nested deeper than decoders go
		return unsupported{}
	}
	return native(tree, maxDepth)
}

// marshal is json.Marshal, with the panics of methods as errors.
func marshal(v any) (text []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%T: panic: %v", v, r)
		}
	}()
	return json.Marshal(v)
}

// native turns the numbers of decoded JSON into Go numbers.
func native(v any, depth int) any {
	switch x := v.(type) {
	case json.Number:
		if n, ok := literal(string(x)); ok {
			return n
		}
		return unsupported{}
	case []any:
		if depth == 0 {
			return unsupported{}
		}
		for i := range x {
			x[i] = native(x[i], depth-1)
		}
	case map[string]any:
		if depth == 0 {
			return unsupported{}
		}
		for k := range x {
			x[k] = native(x[k], depth-1)
		}
	}
	return v
}

func fromUint(u uint64) any {
	if u <= math.MaxInt64 {
		return int64(u)
	}
	return u
}

// literal reads a JSON number literal. It fails when the text is not one, or names a number too big
// for a float.
func literal(s string) (any, bool) {
	if !isJSONNumber(s) {
		return nil, false
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil && s != "-0" {
		return i, true
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return u, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, false
	}
	var room [32]byte
	if _, isInteger := wire.AppendInteger(room[:0], f); isInteger {
		return decimalFloat(f), true
	}
	return f, true
}

// Decimal is the property value of a number that JSON writes with a point or an
// exponent, for those who decode requests: f itself, and of a whole number a
// json.Number, whose text is 5.0 where that of the float64 5 is 5 (§4.2).
func Decimal(f float64) any { return wire.Decimal(f) }
