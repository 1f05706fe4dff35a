package codegen

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// toUTF8 converts source code to UTF-8. encoding is the name of its encoding, or "" if that is
// UTF-8. If the encoding is unknown but has zero bytes, these are removed.
func toUTF8(code []byte) (text []byte, encoding string) {
	switch {
	case bytes.HasPrefix(code, []byte("\xef\xbb\xbf")):
		return code[3:], ""
	case bytes.IndexByte(code, 0) < 0:
		return code, ""
	case len(code)%2 == 0 && isUTF16(code, 1, "\xff\xfe"):
		return fromUTF16(code, binary.LittleEndian), "UTF-16"
	case len(code)%2 == 0 && isUTF16(code, 0, "\xfe\xff"):
		return fromUTF16(code, binary.BigEndian), "UTF-16"
	}
	return bytes.ReplaceAll(code, []byte{0}, nil), "an encoding with zero bytes"
}

// isUTF16 reports whether code begins with the byte order mark, or has zeros at every second byte
// of its beginning, starting at index high, as ASCII text has in UTF-16.
func isUTF16(code []byte, high int, mark string) bool {
	if bytes.HasPrefix(code, []byte(mark)) {
		return len(code) < 4 || code[2]|code[3] != 0 // otherwise it is UTF-32
	}
	for i := range min(len(code), 16) {
		if (code[i] == 0) != (i%2 == high) {
			return false
		}
	}
	return true
}

func fromUTF16(code []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(code)/2)
	for i := range units {
		units[i] = order.Uint16(code[2*i:])
	}
	return bytes.TrimPrefix([]byte(string(utf16.Decode(units))), []byte("\ufeff"))
}
