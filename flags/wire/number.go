package wire

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// AppendFloat appends the shortest decimal text that parses back to f. The text has at least one
// digit after the decimal point; it has an exponent without plus sign or leading zeros (1e16,
// 1.5e-7) if the decimal point is more than 16 digits after, or at least 5 zeros before, the first
// digit. f must be finite.
func AppendFloat(dst []byte, f float64) []byte {
	// The exponent form always has one digit before the point, so that the position of the point is
	// known.
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
	if e > 1 { // remove the gap where the point was
		copy(mantissa[1:], mantissa[2:])
		mantissa = mantissa[:e-1]
	}
	// The cases are: exponent form, 0.00ddd, ddd00.0 and dd.dd.
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

// AppendInteger appends f in the form that encoding/json writes, if that is an integer of 64 bits,
// and reports whether it is one.
func AppendInteger(dst []byte, f float64) ([]byte, bool) {
	const exact = 1 << 53 // float64 represents every integer below it
	switch size := math.Abs(f); {
	// encoding/json writes numbers from 1e21 on with an exponent, and -0 as -0.
	case f != math.Trunc(f) || size >= 1e21 || f == 0 && math.Signbit(f):
		return dst, false
	case size < exact:
		return strconv.AppendInt(dst, int64(f), 10), true
	}
	// Beyond 2^53 the decimal digits decide whether the number fits 64 bits.
	var room [32]byte
	digits := strconv.AppendFloat(room[:0], f, 'f', -1, 64)
	if !isInteger(digits) {
		return dst, false
	}
	return append(dst, digits...), true
}

// isInteger reports whether digits fit an int64 or a uint64.
func isInteger(digits []byte) bool {
	if _, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(string(digits), 10, 64)
	return err == nil
}

// Decimal returns the property value of a number that JSON writes with a point or an exponent: f
// itself, or for a whole number a json.Number with the text 5.0, since the float64 5 would be
// written as 5.
func Decimal(f float64) any {
	var room [32]byte
	if _, isInteger := AppendInteger(room[:0], f); isInteger {
		return json.Number(AppendFloat(room[:0], f))
	}
	return f
}
