package capture

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
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

// NewUUID7 makes a random UUID of version 7, whose time is at.
func NewUUID7(at time.Time) UUID { return newUUID7(at, random()) }

// newUUID7 makes a UUID of version 7 out of a time and 10 random bytes.
func newUUID7(at time.Time, random [10]byte) UUID {
	var u UUID
	ms := at.UnixMilli()
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
	copy(u[6:], random[:])
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	return u
}

// personNamespace is the namespace of person ids (§9.2).
var personNamespace = UUID{0x93, 0x29, 0x79, 0xb4, 0x65, 0xc3, 0x44, 0x24, 0x84, 0x67, 0x0b, 0x66, 0xec, 0x27, 0xbc, 0x22}

// PersonID is the id of the person that a distinct id makes: a UUID of version
// 5, so that two servers make the same one (§9.2).
func PersonID(projectID int64, distinctID string) UUID {
	return nameID(personNamespace, projectID, distinctID)
}

// nameID is the UUID of version 5 of a project's number and a name.
func nameID(namespace UUID, projectID int64, of string) UUID {
	name := make([]byte, 0, 128)
	name = append(name, namespace[:]...)
	name = strconv.AppendInt(name, projectID, 10)
	name = append(name, ':')
	name = append(name, of...)
	sum := sha1.Sum(name)
	var u UUID
	copy(u[:], sum[:16])
	u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
	return u
}
