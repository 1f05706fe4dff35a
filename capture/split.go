package capture

import (
	"slices"
	"strconv"
)

// splitNamespace is the namespace of the UUIDs that splitID returns.
var splitNamespace = UUID{0x5c, 0x2b, 0x0e, 0x51, 0x7d, 0x93, 0x4a, 0x68, 0x9e, 0x1f, 0x42, 0xd0, 0x6b, 0x37, 0xa8, 0x14}

// SplitPerson undoes merges (spec/management.md §5.3). The distinct id main stays with the
// person, together with the properties and the data of flags. Every other distinct id of ids
// is assigned to a new person without properties, whose UUID is derived from that of the old
// person. The new persons have the same version as the old person, so that the version of a
// distinct id's person never decreases. Memberships in static cohorts do not change.
//
// If main is empty, it is the first of ids that belongs to the person. SplitPerson returns
// false and changes nothing if the person has none of ids, or main is not one of its ids.
func SplitPerson(tx Tx, projectID int64, person UUID, ids []string, main string) (bool, error) {
	identities, err := tx.People(projectID, ids)
	if err != nil {
		return false, err
	}
	var old *Person
	var ownIDs []string // the ids that belong to the person now
	for i, k := range identities {
		if k.Person != nil && k.Person.UUID == person {
			old, ownIDs = k.Person, append(ownIDs, ids[i])
		}
	}
	switch {
	case old == nil || main != "" && !slices.Contains(ownIDs, main):
		return false, nil
	case main == "":
		main = ownIDs[0]
	}
	remaining := *old
	remaining.Version++
	c := &Changes{Persons: []ProjectPerson{{projectID, &remaining, false}}}
	for _, id := range ownIDs {
		if id == main {
			continue
		}
		split := &Person{UUID: splitID(projectID, old, id), CreatedAt: old.CreatedAt, Version: remaining.Version, Properties: Object{}}
		c.Persons = append(c.Persons, ProjectPerson{projectID, split, true})
		c.IDs = append(c.IDs, ProjectID{projectID, id, split.UUID})
	}
	if len(c.IDs) == 0 {
		return true, nil
	}
	return true, tx.Save(c)
}

// splitID returns the UUID of a new person. PersonID cannot be used, because its result may
// be the UUID of the old person, or of a person that was merged into it.
func splitID(projectID int64, old *Person, id string) UUID {
	return nameID(splitNamespace, projectID, old.UUID.String()+":"+strconv.FormatInt(old.Version, 10)+":"+id)
}

// unsetGroupProperty removes a property of a group, which is not possible with an event. It
// returns false if there is no such group, or it has no such property.
func unsetGroupProperty(tx Tx, projectID int64, id GroupID, name string) (bool, error) {
	stored, err := tx.Groups(projectID, []GroupID{id})
	if err != nil || stored[0] == nil {
		return false, err
	}
	if _, found := stored[0].Properties.Get(name); !found {
		return false, nil
	}
	g := *stored[0]
	g.Properties = removeKeys(slices.Clone(g.Properties), []string{name})
	return true, tx.Save(&Changes{Groups: []ProjectGroup{{projectID, g}}})
}
