package capture

import (
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
)

// importPerson is the part of People.Import that runs inside the transaction.
func importPerson(tx Tx, projectID int64, p StoredPerson) error {
	switch {
	case p.UUID.IsZero():
		return invalidInput("uuid", "the person has no uuid")
	case len(p.DistinctIDs) == 0 || len(p.DistinctIDs) > MaxReturnedIDs:
		return invalidInput("distinct_ids", fmt.Sprintf("a person must have 1 to %d distinct ids, not %d", MaxReturnedIDs, len(p.DistinctIDs)))
	case !fits(p.Properties):
		return invalidInput("properties", fmt.Sprintf("the properties are larger than %d bytes", maxPersonProperties))
	}
	ids := slices.Clone(p.DistinctIDs)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		if id == "" || id != cut(id, maxID) {
			return invalidInput("distinct_ids", fmt.Sprintf("a distinct id must have 1 to %d characters", maxID))
		}
	}
	identities, err := tx.People(projectID, ids)
	if err != nil {
		return err
	}
	person, isNew := p.Person, true
	person.Version = 0
	var missing []ProjectID
	for i, k := range identities {
		switch {
		case k.Person == nil:
			missing = append(missing, ProjectID{projectID, ids[i], p.UUID})
		case k.Person.UUID != p.UUID:
			return invalidInput("distinct_ids", fmt.Sprintf("the distinct id %s belongs to another person, %s", wire.Quote(cutBytes(ids[i], warningID)), k.Person.UUID))
		default:
			isNew, person.Version = false, k.Person.Version+1
		}
	}
	return tx.Save(&Changes{Persons: []ProjectPerson{{projectID, &person, isNew}}, IDs: missing})
}

// importGroup is the part of People.ImportGroup that runs inside the transaction.
func importGroup(tx Tx, projectID int64, typeName string, g Group) error {
	switch {
	case typeName == "" || isLonger(typeName, maxGroupName):
		return invalidInput("group_type", fmt.Sprintf("a group type must have 1 to %d characters", maxGroupName))
	case g.Key == "" || isLonger(g.Key, maxGroupName):
		return invalidInput("group_key", fmt.Sprintf("a group key must have 1 to %d characters", maxGroupName))
	case !fits(g.Properties):
		return invalidInput("group_properties", fmt.Sprintf("the properties are larger than %d bytes", maxPersonProperties))
	}
	types, err := tx.GroupTypes(projectID)
	if err != nil {
		return err
	}
	p := newPlan(projectID, types)
	if g.Type = p.groupType(typeName, &Event{}); g.Type < 0 {
		return invalidInput("group_type", fmt.Sprintf("the project already has %d group types", maxGroupTypes))
	}
	c := &Changes{GroupTypes: p.newTypes}
	c.Groups = []ProjectGroup{{projectID, g}}
	return tx.Save(c)
}

// invalidInput returns the error for an argument that is invalid.
func invalidInput(attr, detail string) error {
	return &Refusal{Kind: Invalid, Code: "invalid_input", Detail: detail, Attr: attr}
}
