package records

import (
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// formerKind returns the kind of records that map former UUIDs of objects of a kind to their
// numbers: ID is the UUID, Sort the number.
func formerKind(kind string) string { return "former_" + kind }

// ResolveNumber returns the id of the record that a path names, either by its number or by the UUID
// that it had before objects had numbers (decision 26). It returns "" if there is no such id; for a
// number it does not check that the record exists.
func ResolveNumber(tx management.Tx, kind, parent, ref string) (string, error) {
	if n, err := strconv.ParseInt(ref, 10, 64); err == nil && n > 0 && strconv.FormatInt(n, 10) == ref {
		return ref, nil
	}
	uuid, ok := management.NormalizeUUID(ref)
	if !ok {
		return "", nil
	}
	former, err := tx.Get(formerKind(kind), parent, uuid)
	if err != nil || former == nil {
		return "", err
	}
	return former.Sort, nil
}
