package wire

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"time"
)

// UUID is the 16 bytes of a UUID.
type UUID [16]byte

// IsZero reports whether there is none.
func (u UUID) IsZero() bool { return u == UUID{} }

// String is the form with hyphens, in lower case.
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

// Time is the time in a UUID of version 7, in milliseconds; of any other it means
// nothing.
func (u UUID) Time() time.Time {
	ms := int64(0)
	for _, b := range u[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms)
}

// ParseUUID reads the form with hyphens, in any case, with or without the
// hyphens, braces or urn:uuid: that some programs write.
func ParseUUID(s string) (UUID, bool) {
	switch {
	case len(s) == 45 && s[:9] == "urn:uuid:":
		s = s[9:]
	case len(s) == 38 && s[0] == '{' && s[37] == '}':
		s = s[1:37]
	}
	var digits [32]byte
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

// RandomUUID makes a random UUID, of version 4.
func RandomUUID() string {
	var u UUID
	_, _ = rand.Read(u[:]) // never fails
	return u.version(4).String()
}

// NewUUID7 makes a random UUID of version 7, whose time is at.
func NewUUID7(t time.Time) UUID {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails
	return UUID7(t, random)
}

// UUID7 makes a UUID of version 7 of a time and 10 random bytes.
func UUID7(t time.Time, random [10]byte) (u UUID) {
	ms := t.UnixMilli()
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
	copy(u[6:], random[:])
	return u.version(7)
}

// UUID5 is the UUID of version 5 of a name: always the same one.
func UUID5(namespace UUID, name []byte) UUID {
	of := make([]byte, 0, 128)
	sum := sha1.Sum(append(append(of, namespace[:]...), name...))
	return UUID(sum[:16]).version(5)
}

// version marks a UUID as one of a version of RFC 9562.
func (u UUID) version(n byte) UUID {
	u[6], u[8] = u[6]&0x0f|n<<4, u[8]&0x3f|0x80
	return u
}
