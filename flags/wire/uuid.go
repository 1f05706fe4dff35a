package wire

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// UUID is the 16 bytes of a UUID. The zero value means that there is no UUID.
type UUID [16]byte

// IsZero reports whether u is the zero UUID.
func (u UUID) IsZero() bool { return u == UUID{} }

// String returns the form with hyphens, in lower case.
func (u UUID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], u[0:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:36], u[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// MarshalText implements encoding.TextMarshaler.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// Time returns the time of a UUID of version 7, in milliseconds. The result has no meaning for
// other versions.
func (u UUID) Time() time.Time {
	ms := int64(0)
	for _, b := range u[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms)
}

// ParseUUID parses a UUID in upper or lower case, with or without hyphens, in braces or after
// urn:uuid:, and reports whether it is valid.
func ParseUUID(s string) (UUID, bool) {
	switch {
	case len(s) == 45 && s[:9] == "urn:uuid:":
		s = s[9:]
	case len(s) == 38 && s[0] == '{' && s[37] == '}':
		s = s[1:37]
	}
	var digits [32]byte
	// The remaining text has 32 digits, with or without four hyphens.
	switch len(s) {
	case 36:
		if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
			return UUID{}, false
		}
		copy(digits[0:], s[0:8])
		copy(digits[8:], s[9:13])
		copy(digits[12:], s[14:18])
		copy(digits[16:], s[19:23])
		copy(digits[20:], s[24:36])
	case 32:
		copy(digits[:], s)
	default:
		return UUID{}, false
	}
	var u UUID
	_, err := hex.Decode(u[:], digits[:])
	return u, err == nil
}

// NewUUID7 returns a random UUID of version 7 with the time t.
func NewUUID7(t time.Time) UUID {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails
	return UUID7(t, random)
}

// UUID7 returns the UUID of version 7 with a time and 10 random bytes. The time in milliseconds is in
// the first 48 bits, in big-endian order.
func UUID7(t time.Time, random [10]byte) (u UUID) {
	ms := t.UnixMilli()
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
	copy(u[6:], random[:])
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80 // the version and the variant of RFC 9562
	return u
}
