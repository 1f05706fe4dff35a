// Package ids generates UUIDs that only the main module needs: random ones, and those of names. The
// type of UUIDs, its text and UUIDs with a time are in package flags/wire.
package ids

import (
	"crypto/rand"
	"crypto/sha1"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Random returns a random UUID of version 4.
func Random() string {
	var u wire.UUID
	_, _ = rand.Read(u[:]) // never fails
	return withVersion(u, 4).String()
}

// OfName returns the UUID of version 5 of a name in a namespace. It is deterministic.
func OfName(namespace wire.UUID, name []byte) wire.UUID {
	of := make([]byte, 0, 128)
	sum := sha1.Sum(append(append(of, namespace[:]...), name...))
	return withVersion(wire.UUID(sum[:16]), 5)
}

// withVersion returns u with the version n and the variant of RFC 9562.
func withVersion(u wire.UUID, n byte) wire.UUID {
	u[6], u[8] = u[6]&0x0f|n<<4, u[8]&0x3f|0x80
	return u
}
