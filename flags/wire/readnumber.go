package wire

import (
	"math"
	"strconv"
	"strings"
)

// number is a number as read, before it is put into an interface.
type number struct {
	kind numberKind
	u    uint64 // asInt (two's complement), asUint
	f    float64
}

type numberKind uint8

const (
	asNull  numberKind = iota // NaN and the infinities
	asInt                     // fits an int64
	asUint                    // above the largest int64, fits a uint64
	asFloat                   // everything else
)

func (n number) value() any {
	switch n.kind {
	case asInt:
		return int64(n.u)
	case asUint:
		return n.u
	case asFloat:
		return Decimal(n.f)
	}
	return nil
}

// newInteger makes a number of an integer's sign and size.
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

// StartsNumber reports whether the present value is a number.
func (r *Reader) StartsNumber() bool {
	c := r.Peek()
	return c == '-' || '0' <= c && c <= '9' ||
		r.Lenient && (c == '+' || c == '.' || c == 'N' || c == 'I')
}

// number reads a number.
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
	r.Pos = start
	if form != integerForm {
		return r.float(start, end)
	}
	digits := strings.TrimPrefix(r.Src[start:end], "-")
	return r.integer(digits, 10, start+len(digits) < end, end)
}

// skipNumber steps over a number of strict JSON.
func (r *Reader) skipNumber() bool {
	start := r.Pos
	form := r.stepNumber()
	if end := r.Pos; form == exponentForm || form != noNumber && end-start > longNumber {
		r.Pos = start
		_, ok := r.float(start, end)
		return ok
	}
	return form != noNumber
}

// longNumber is below the length of any number without exponent that no float64
// holds.
const longNumber = 300

// numberForm is how a number is written.
type numberForm uint8

const (
	noNumber numberForm = iota
	integerForm
	pointForm
	exponentForm
)

// stepNumber steps over a number of strict JSON, whatever its size.
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
	case i == first:
		if r.Spans {
			r.Pos = i
		}
		r.Fail("expected a digit")
		return noNumber
	case src[first] == '0' && i > first+1 && !r.Spans:
		r.Fail("number with a leading zero")
		return noNumber
	case src[first] == '0' && i > first+1: // what follows the zero is at fault
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

// exponent reads what follows the e at src[i].
func (r *Reader) exponent(i int) (int, bool) {
	i++
	if i < len(r.Src) && (r.Src[i] == '+' || r.Src[i] == '-') {
		i++
	}
	return r.digits(i)
}

// digits reads one digit or more.
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

func (r *Reader) float(start, end int) (number, bool) {
	f, err := strconv.ParseFloat(r.Src[start:end], 64)
	if err != nil { // the form is checked: only the range can be wrong
		return number{}, r.Fail("number out of range")
	}
	r.Pos = end
	return number{kind: asFloat, f: f}, true
}

// NumberText reads a number as its JSON text, as serde_json writes it: integers in
// decimal, the rest as [AppendFloat] has it. NaN and the infinities are null.
func (r *Reader) NumberText() (string, bool) {
	start := r.Pos
	n, ok := r.number()
	switch {
	case n.kind == asInt && !r.Lenient: // it is written as it would be
		return r.Src[start:r.Pos], ok
	case n.kind == asInt:
		return strconv.FormatInt(int64(n.u), 10), ok
	case n.kind == asUint:
		return strconv.FormatUint(n.u, 10), ok
	case n.kind == asFloat:
		return string(AppendFloat(nil, n.f)), ok
	}
	return "null", ok
}
