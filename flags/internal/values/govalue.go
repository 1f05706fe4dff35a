package values

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// This file converts property values of Go types that a JSON decoder does not produce
// (decision 32).

// convert converts a value to the types of decoded JSON: integers and strings directly, other
// types by encoding them with encoding/json.
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
		return string([]rune(x)) // each byte of invalid UTF-8 becomes U+FFFD
	case json.Number:
		if n, ok := Literal(string(x)); ok {
			return n
		}
	}
	text, err := marshal(v)
	if err != nil {
		return NoForm{strings.TrimPrefix(err.Error(), "json: ")}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil { // nested deeper than decoders allow
		return Unsupported{}
	}
	return native(tree, MaxDepth)
}

// marshal is json.Marshal that returns panics of MarshalJSON methods as errors.
func marshal(v any) (text []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%T: panic: %v", v, r)
		}
	}()
	return json.Marshal(v)
}

// native converts the json.Numbers in decoded JSON to Go numbers, in place.
func native(v any, depth int) any {
	switch x := v.(type) {
	case json.Number:
		if n, ok := Literal(string(x)); ok {
			return n
		}
		return Unsupported{}
	case []any:
		if depth == 0 {
			return Unsupported{}
		}
		for i := range x {
			x[i] = native(x[i], depth-1)
		}
	case map[string]any:
		if depth == 0 {
			return Unsupported{}
		}
		for k := range x {
			x[k] = native(x[k], depth-1)
		}
	}
	return v
}

// fromUint returns an int64 if u fits.
func fromUint(u uint64) any {
	if u <= math.MaxInt64 {
		return int64(u)
	}
	return u
}

// Literal converts a JSON number. It returns false if s is not one, or is too large for a
// float64.
func Literal(s string) (any, bool) {
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
		return Decimal(f), true
	}
	return f, true
}
