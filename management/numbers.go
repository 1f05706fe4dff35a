package management

import "strconv"

// formerKind is the kind of the records that say which number a thing of a kind has
// that had a UUID before: ID is the UUID, Sort the number.
func formerKind(kind string) string { return "former_" + kind }

// ResolveNumber finds the id of the record that a path names by its number, or by the
// UUID that it had before there were numbers (decision 26); empty for none.
func ResolveNumber(tx Tx, kind, parent, ref string) (string, error) {
	if n, err := strconv.ParseInt(ref, 10, 64); err == nil && n > 0 && strconv.FormatInt(n, 10) == ref {
		return ref, nil
	}
	uuid, ok := NormalizeUUID(ref)
	if !ok {
		return "", nil
	}
	former, err := tx.Get(formerKind(kind), parent, uuid)
	if err != nil || former == nil {
		return "", err
	}
	return former.Sort, nil
}
