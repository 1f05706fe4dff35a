// Package values implements the values of properties.
//
// [Normalize] converts a value of any Go type to the types of decoded JSON, which all other
// functions expect: nil, bool, string, int64, uint64, float64, [Decimal], []any and
// map[string]any. [Text] is the text form of a value, [Number] its number; the functions of
// fold.go compare texts without regard to case, and [IsBoolean] and [IsTrue] read a value as a
// boolean. [Content] hashes a value completely, to detect changes.
//
// The rules are those of §4.2, §4.3, §4.5 and §4.6 of the specification, and decision 32.
package values
