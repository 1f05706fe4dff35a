package hogql

import (
	"cmp"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// compare compares two values that are not null, in the way of the comparison operators
// (§2.9.7). It returns false if they cannot be compared, for example a property that is not a
// number with a number.
func (s *site) compare(a, b Value) (int, bool) {
	// The kind of a property varies from row to row, so special rules apply.
	if a.json || b.json {
		return s.compareProperty(a, b)
	}
	switch {
	case a.kind == Int && b.kind == Int:
		return cmp.Compare(a.n, b.n), true
	case a.kind == Text && b.kind == Text:
		return strings.Compare(a.s, b.s), true
	case a.kind == b.kind && (a.kind == Time || a.kind == Date):
		return cmp.Compare(a.n, b.n), true
	// Booleans, integers and floats are compared as numbers.
	case a.kind <= Float && b.kind <= Float:
		return compareNumbers(a, b), true
	case isMoment(a) || isMoment(b):
		return s.compareMoments(a, b)
	case (a.kind == List || a.kind == Tuple) && (b.kind == List || b.kind == Tuple):
		return s.compareLists(a.List(), b.List())
	}
	return strings.Compare(s.env.text(a), s.env.text(b)), true
}

// compareNumbers compares numbers; integers are compared exactly.
func compareNumbers(a, b Value) int {
	if a.kind != Float && b.kind != Float {
		return cmp.Compare(a.n, b.n)
	}
	return cmp.Compare(a.float(), b.float())
}

// compareProperty compares two values of which at least one is a property. A number that is
// not a property forces a numeric comparison.
func (s *site) compareProperty(a, b Value) (int, bool) {
	switch {
	case a.json && b.json:
		if a.isNumber() && b.isNumber() {
			return compareNumbers(a, b), true
		}
	case isMoment(a) || isMoment(b):
		return s.compareMoments(a, b)
	case a.isNumber() && !a.json || b.isNumber() && !b.json:
		// A number converts the property to a number; if that fails, the comparison is false.
		x, y := a.num(), b.num()
		if x.kind == Null || y.kind == Null {
			return 0, false
		}
		return compareNumbers(x, y), true
	}
	if a.kind == Text && b.kind == Text {
		return strings.Compare(a.s, b.s), true
	}
	// All other properties are compared as text. The buffer avoids an allocation for short
	// values.
	var room [128]byte
	x := s.env.appendText(room[:0], a)
	return strings.Compare(string(x), s.env.text(b)), true
}

// isMoment reports whether a value is a time or a date.
func isMoment(v Value) bool { return v.kind == Time || v.kind == Date }

// compareMoments compares times, dates, and strings that are parsed as either. A string that
// cannot be parsed is an error of the query, unless it is the value of a property.
func (s *site) compareMoments(a, b Value) (int, bool) {
	x, okA := s.moment(a)
	y, okB := s.moment(b)
	return cmp.Compare(x, y), okA && okB
}

// moment returns the instant of a time, a date or a string.
func (s *site) moment(v Value) (int64, bool) {
	switch v.kind {
	case Time:
		return v.n, true
	case Date:
		return s.env.midnight(v.n), true
	case Text:
		if t, ok := ParseTime(v.s, s.env.zone); ok {
			return t, true
		}
	}
	if !v.json {
		s.fail(TypeError, "Text "+quoted(s.env.text(v))+" is no date: it was compared with a time")
	}
	return 0, false
}

// compareLists compares lists element by element; if one is a prefix of the other, the
// shorter is less.
func (s *site) compareLists(a, b []Value) (int, bool) {
	for i := range min(len(a), len(b)) {
		if a[i].kind == Null || b[i].kind == Null {
			if a[i].kind != b[i].kind {
				return 0, false
			}
			continue
		}
		if c, ok := s.compare(a[i], b[i]); !ok || c != 0 {
			return c, ok
		}
	}
	return cmp.Compare(len(a), len(b)), true
}

// isEqual implements the operator =, for which null equals null.
func (s *site) isEqual(a, b Value) bool {
	if a.kind == Null || b.kind == Null {
		return a.kind == b.kind
	}
	c, ok := s.compare(a, b)
	return ok && c == 0
}

// order is the order of ORDER BY, min and max, in which numbers precede strings (§2.9.7). The
// arguments must not be null.
//
// Unlike compare it is a total order, because it must be able to sort properties of different
// kinds.
func order(a, b Value) int {
	ra, rb := rank(a), rank(b)
	switch {
	case ra != rb:
		return cmp.Compare(ra, rb)
	case ra == rankNumber:
		return compareNumbers(a, b)
	case ra == rankMoment || a.kind == period:
		return cmp.Compare(a.n, b.n)
	case ra == rankList:
		x, y := a.List(), b.List()
		for i := range min(len(x), len(y)) {
			if c := order(x[i], y[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(x), len(y))
	}
	return strings.Compare(plainText(a), plainText(b))
}

// These ranks determine the order of values of different kinds.
const (
	rankNull = iota
	rankNumber
	rankText
	rankMoment
	rankList
)

// rank returns the rank of a value. A boolean property is ordered as a string.
func rank(v Value) int {
	switch v.kind {
	case Null:
		return rankNull
	case Int, Float:
		return rankNumber
	case Bool:
		if !v.json {
			return rankNumber
		}
	case Time, Date:
		return rankMoment
	case List, Tuple:
		return rankList
	}
	return rankText
}

// plainText returns the content of a string, or "true" or "false" for a boolean property.
func plainText(v Value) string {
	if v.kind == Bool {
		return strconv.FormatBool(v.n != 0)
	}
	return v.s
}

// appendKey appends a key of a value for GROUP BY and DISTINCT: values that are the same have
// equal keys. Numbers, booleans and strings are the same if their text is.
//
// The key begins with a byte for its form and, if the form has no fixed length, the length.
// Therefore the keys of several values can be concatenated without ambiguity.
func appendKey(dst []byte, v Value) []byte {
	switch v.kind {
	case Null:
		return append(dst, 0)
	case Int:
		mark := len(dst)
		dst = append(dst, 1, 0, 0)
		dst = strconv.AppendInt(dst, v.n, 10)
		return putLength(dst, mark)
	case Float:
		if v.s != "" {
			return appendTextKey(dst, v.s)
		}
		mark := len(dst)
		dst = append(dst, 1, 0, 0)
		return putLength(AppendFloat(dst, v.float()), mark)
	case Time, Date, period:
		return binary.BigEndian.AppendUint64(append(dst, 2+byte(v.kind)), uint64(v.n))
	case List, Tuple:
		dst = binary.BigEndian.AppendUint32(append(dst, 3), uint32(len(v.List())))
		for _, e := range v.List() {
			dst = appendKey(dst, e)
		}
		return dst
	case Bool:
		return appendTextKey(dst, plainText(v))
	case UUID:
		if u, ok := wire.ParseUUID(v.s); ok {
			return append(append(dst, 5), u[:]...)
		}
	}
	return appendTextKey(dst, v.s)
}

// appendTextKey appends the key of a string: its length, followed by its bytes. Long strings
// have a different first byte.
func appendTextKey(dst []byte, s string) []byte {
	if len(s) >= 1<<16 {
		return append(binary.BigEndian.AppendUint64(append(dst, 4), uint64(len(s))), s...)
	}
	return append(append(dst, 1, byte(len(s)>>8), byte(len(s))), s...)
}

// putLength sets the length in the key of a short string that begins at mark.
func putLength(dst []byte, mark int) []byte {
	n := len(dst) - mark - 3
	dst[mark+1], dst[mark+2] = byte(n>>8), byte(n)
	return dst
}
