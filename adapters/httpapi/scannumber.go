package httpapi

import (
	"math"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// jsonNumber is a number as read, before it is put into an interface.
type jsonNumber struct {
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

func (n jsonNumber) value() any {
	switch n.kind {
	case asInt:
		return int64(n.u)
	case asUint:
		return n.u
	case asFloat:
		return flags.Decimal(n.f)
	}
	return nil
}

// whole makes a number of an integer's sign and size.
func whole(negative bool, size uint64) jsonNumber {
	switch {
	case !negative && size <= math.MaxInt64:
		return jsonNumber{kind: asInt, u: size}
	case !negative:
		return jsonNumber{kind: asUint, u: size}
	case size == 0:
		return jsonNumber{kind: asFloat, f: math.Copysign(0, -1)}
	case size <= 1<<63:
		return jsonNumber{kind: asInt, u: -size}
	}
	return jsonNumber{kind: asFloat, f: -float64(size)}
}

func (r *jsonReader) startsNumber(c byte) bool {
	return c == '-' || '0' <= c && c <= '9' ||
		r.lenient && (c == '+' || c == '.' || c == 'N' || c == 'I')
}

// number reads a number.
func (r *jsonReader) number() (jsonNumber, bool) {
	if r.lenient {
		return r.lenientNumber()
	}
	src, i := r.src, r.pos
	if src[i] == '-' {
		i++
	}
	digits := i
	size, fits := uint64(0), true
	for i < len(src) && '0' <= src[i] && src[i] <= '9' {
		d := uint64(src[i] - '0')
		fits = fits && size <= (math.MaxUint64-d)/10
		size = size*10 + d
		i++
	}
	switch {
	case i == digits:
		return jsonNumber{}, r.fail("expected a digit")
	case src[digits] == '0' && i > digits+1:
		return jsonNumber{}, r.fail("number with a leading zero")
	}
	start := r.pos
	if i == len(src) || src[i] != '.' && src[i]|0x20 != 'e' {
		if fits {
			r.pos = i
			return whole(src[start] == '-', size), true
		}
		return r.float(start, i)
	}
	if src[i] == '.' {
		var ok bool
		if i, ok = r.digits(i + 1); !ok {
			return jsonNumber{}, false
		}
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		var ok bool
		if i, ok = r.exponent(i); !ok {
			return jsonNumber{}, false
		}
	}
	return r.float(start, i)
}

// exponent reads what follows the e at src[i].
func (r *jsonReader) exponent(i int) (int, bool) {
	i++
	if i < len(r.src) && (r.src[i] == '+' || r.src[i] == '-') {
		i++
	}
	return r.digits(i)
}

// digits reads one digit or more.
func (r *jsonReader) digits(i int) (int, bool) {
	start := i
	for i < len(r.src) && '0' <= r.src[i] && r.src[i] <= '9' {
		i++
	}
	if i == start {
		r.pos = i
		return i, r.fail("expected a digit")
	}
	return i, true
}

func (r *jsonReader) float(start, end int) (jsonNumber, bool) {
	f, err := strconv.ParseFloat(r.src[start:end], 64)
	if err != nil { // the form is checked: only the range can be wrong
		return jsonNumber{}, r.fail("number out of range")
	}
	r.pos = end
	return jsonNumber{kind: asFloat, f: f}, true
}

// numberText is the JSON text of a number as serde_json writes it (§4.2):
// integers in decimal, the rest as the shortest decimal that reads back the
// same, in plain notation while the decimal point stands within -5..16.
func numberText(n jsonNumber) string {
	switch n.kind {
	case asInt:
		return strconv.FormatInt(int64(n.u), 10)
	case asUint:
		return strconv.FormatUint(n.u, 10)
	case asFloat:
		return string(wire.AppendFloat(nil, n.f))
	}
	return "null"
}
