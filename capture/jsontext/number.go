package jsontext

import (
	"math"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// number is a number as read, before its conversion to an interface value.
type number struct {
	kind numberKind
	u    uint64 // for asInt (two's complement) and asUint
	f    float64
}

// numberKind is the type of a number's value, as serde_json distinguishes it.
type numberKind uint8

const (
	asNull  numberKind = iota // NaN and the infinities
	asInt                     // fits an int64
	asUint                    // above the largest int64, fits a uint64
	asFloat                   // all other numbers
)

// value returns the number as an interface value, see [Reader] for the types.
func (n number) value() any {
	switch n.kind {
	case asInt:
		return int64(n.u)
	case asUint:
		return n.u
	case asFloat:
		return wire.Decimal(n.f)
	}
	return nil
}

// newInteger returns the integer with a sign and an absolute value. -0 becomes a float64, and so does
// an integer below the smallest int64.
func newInteger(negative bool, size uint64) number {
	switch {
	case !negative && size <= math.MaxInt64:
		return number{kind: asInt, u: size}
	case !negative:
		return number{kind: asUint, u: size}
	case size == 0:
		return number{kind: asFloat, f: math.Copysign(0, -1)}
	case size <= 1<<63:
		return number{kind: asInt, u: -size}
	}
	return number{kind: asFloat, f: -float64(size)}
}

// StartsNumber reports whether the value at the current position is a number.
func (r *Reader) StartsNumber() bool {
	c := r.Peek()
	return c == '-' || '0' <= c && c <= '9' ||
		r.Lenient && (c == '+' || c == '.' || c == 'N' || c == 'I')
}

// number reads a number, strict or lenient.
func (r *Reader) number() (number, bool) {
	if r.Lenient {
		return r.lenientNumber()
	}
	start := r.Pos
	form := r.stepNumber()
	if form == noNumber {
		return number{}, false
	}
	end := r.Pos
	// The second pass parses the number, after its syntax has been checked.
	r.Pos = start
	if form != integerForm {
		return r.float(start, end)
	}
	digits := strings.TrimPrefix(r.Src[start:end], "-")
	return r.integer(digits, 10, start+len(digits) < end, end)
}

// skipNumber skips a number in strict JSON. It parses only numbers that may be out of range.
func (r *Reader) skipNumber() bool {
	start := r.Pos
	form := r.stepNumber()
	// Only these numbers can be out of the range of a float64.
	if end := r.Pos; form == exponentForm || form != noNumber && end-start > longNumber {
		r.Pos = start
		_, ok := r.float(start, end)
		return ok
	}
	return form != noNumber
}

// longNumber is a length in bytes. Numbers without an exponent that are at most this long always
// fit a float64.
const longNumber = 300

// numberForm is the notation of a number.
type numberForm uint8

// The notations. noNumber means that there was a fault.
const (
	noNumber numberForm = iota
	integerForm
	pointForm
	exponentForm
)

// stepNumber skips a number in strict JSON without checking its range.
func (r *Reader) stepNumber() numberForm {
	src, i := r.Src, r.Pos
	if src[i] == '-' {
		i++
	}
	first := i
	for i < len(src) && '0' <= src[i] && src[i] <= '9' {
		i++
	}
	switch {
	// A minus sign without digits.
	case i == first:
		if r.Spans {
			r.Pos = i
		}
		r.Fail("expected a digit")
		return noNumber
	case src[first] == '0' && i > first+1 && !r.Spans:
		r.Fail("number with a leading zero")
		return noNumber
	case src[first] == '0' && i > first+1: // the position after the zero is at fault
		r.Pos = first + 1
		return integerForm
	}
	form, ok := integerForm, true
	if i < len(src) && src[i] == '.' {
		form = pointForm
		if i, ok = r.digits(i + 1); !ok {
			return noNumber
		}
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		form = exponentForm
		if i, ok = r.exponent(i); !ok {
			return noNumber
		}
	}
	r.Pos = i
	return form
}

// exponent reads the sign and digits after the e at src[i].
func (r *Reader) exponent(i int) (int, bool) {
	i++
	if i < len(r.Src) && (r.Src[i] == '+' || r.Src[i] == '-') {
		i++
	}
	return r.digits(i)
}

// digits reads one or more digits.
func (r *Reader) digits(i int) (int, bool) {
	start := i
	for i < len(r.Src) && '0' <= r.Src[i] && r.Src[i] <= '9' {
		i++
	}
	if i == start {
		r.Pos = i
		return i, r.Fail("expected a digit")
	}
	return i, true
}

// float parses the number in Src[start:end], whose syntax has been checked.
func (r *Reader) float(start, end int) (number, bool) {
	f, err := strconv.ParseFloat(r.Src[start:end], 64)
	if err != nil { // the syntax was checked, so the number is out of range
		return number{}, r.Fail("number out of range")
	}
	r.Pos = end
	return number{kind: asFloat, f: f}, true
}

// NumberText reads a number and returns it as serde_json writes it: integers in decimal, other
// numbers like [wire.AppendFloat]. NaN and the infinities are null.
func (r *Reader) NumberText() (string, bool) {
	start := r.Pos
	n, ok := r.number()
	switch {
	case n.kind == asInt && !r.Lenient: // the text already has the form that would be written
		return r.Src[start:r.Pos], ok
	case n.kind == asInt:
		return strconv.FormatInt(int64(n.u), 10), ok
	case n.kind == asUint:
		return strconv.FormatUint(n.u, 10), ok
	case n.kind == asFloat:
		return string(wire.AppendFloat(nil, n.f)), ok
	}
	return "null", ok
}
