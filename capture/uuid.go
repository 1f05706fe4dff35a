package capture

import (
	"strconv"

	"github.com/bunting-flags/bunting/flags/wire"
)

// UUID is the ID of an event or a person.
type UUID = wire.UUID

// personNamespace is the namespace of the UUIDs that PersonID returns (§9.2).
var personNamespace = UUID{0x93, 0x29, 0x79, 0xb4, 0x65, 0xc3, 0x44, 0x24, 0x84, 0x67, 0x0b, 0x66, 0xec, 0x27, 0xbc, 0x22}

// PersonID returns the UUID of the person that a distinct id creates. It is a UUID of version
// 5, so that two servers generate the same one (§9.2).
func PersonID(projectID int64, distinctID string) UUID {
	return nameID(personNamespace, projectID, distinctID)
}

// nameID returns the UUID of version 5 of a project's number and a name.
func nameID(namespace UUID, projectID int64, suffix string) UUID {
	name := append(strconv.AppendInt(make([]byte, 0, 128), projectID, 10), ':')
	return wire.UUID5(namespace, append(name, suffix...))
}
