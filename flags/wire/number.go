package wire

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// AppendFloat appends the shortest digits that read back as f: plain with at least
// one digit after the point while the decimal point stands within -5...16 places of
// the first digit, else with a bare exponent (1e16, 1.5e-7). f is finite.
func AppendFloat(dst []byte, f float64) []byte {
	var room [32]byte
	text := strconv.AppendFloat(room[:0], f, 'e', -1, 64) // [-]d[.ddd]e±dd
	if text[0] == '-' {
		dst = append(dst, '-')
		text = text[1:]
	}
	e := slices.Index(text, 'e')
	exp := 0
	for _, c := range text[e+2:] {
		exp = exp*10 + int(c-'0')
	}
	if text[e+1] == '-' {
		exp = -exp
	}
	mantissa := text[:e]
	if e > 1 { // close the gap of the point
		copy(mantissa[1:], mantissa[2:])
		mantissa = mantissa[:e-1]
	}
	switch point := exp + 1; { // digits before the point
	case point > 16 || point <= -5:
		dst = append(dst, mantissa[0])
		if len(mantissa) > 1 {
			dst = append(append(dst, '.'), mantissa[1:]...)
		}
		return strconv.AppendInt(append(dst, 'e'), int64(exp), 10)
	case point <= 0:
		dst = append(dst, "0.00000"[:2-point]...)
		return append(dst, mantissa...)
	case point >= len(mantissa):
		dst = append(dst, mantissa...)
		for range point - len(mantissa) {
			dst = append(dst, '0')
		}
		return append(dst, ".0"...)
	default:
		dst = append(append(dst, mantissa[:point]...), '.')
		return append(dst, mantissa[point:]...)
	}
}

// AppendInteger appends f as encoding/json writes it when that is an integer of 64
// bits. It reports whether it is one.
func AppendInteger(dst []byte, f float64) ([]byte, bool) {
	const exact = 1 << 53 // below it float64 holds every integer
	switch size := math.Abs(f); {
	case f != math.Trunc(f) || size >= 1e21 || f == 0 && math.Signbit(f):
		return dst, false
	case size < exact:
		return strconv.AppendInt(dst, int64(f), 10), true
	}
	var room [32]byte
	digits := strconv.AppendFloat(room[:0], f, 'f', -1, 64)
	if !isInteger(digits) {
		return dst, false
	}
	return append(dst, digits...), true
}

// isInteger reports whether digits are an int64 or a uint64.
func isInteger(digits []byte) bool {
	if _, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(string(digits), 10, 64)
	return err == nil
}

// Decimal is the property value of a number that JSON writes with a point or an
// exponent: f itself, and of a whole number a json.Number, whose text is 5.0 where
// that of the float64 5 is 5.
func Decimal(f float64) any {
	var room [32]byte
	if _, isInteger := AppendInteger(room[:0], f); isInteger {
		return json.Number(AppendFloat(room[:0], f))
	}
	return f
}
