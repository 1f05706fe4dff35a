package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
)

var (
	// ErrReadOnly is returned for changes of persons and groups if the field of People that
	// makes them is nil.
	ErrReadOnly = errors.New("capture: persons cannot be changed here")
	// ErrOverQuota is returned for changes that are recorded as events, if the events are
	// over a limit (§13.4).
	ErrOverQuota = errors.New("capture: the change is an event that exceeds the quota")
)

// People changes persons and groups on behalf of users of the API, without an event from a
// client. Its methods return a *Refusal if the arguments are invalid, ErrOverQuota,
// ErrReadOnly, or ErrUnavailable if the store cannot make the change at the moment. On a nil
// or zero People they return ErrReadOnly.
type People struct {
	// History reads persons and groups. Transactor makes the changes that are not recorded as
	// events.
	History    History
	Transactor Transactor
	// Intake records the events for changes of properties, so that these changes follow the
	// rules of all events. If nil, properties cannot be set.
	Intake *Intake
}

// Transactor runs work in a separate transaction between the commits of events. It is
// implemented by Recorder.
type Transactor interface {
	Transact(ctx context.Context, projectID int64, work func(Tx) error) error
}

// transact runs work with p.Transactor, or returns ErrReadOnly if there is none.
func (p *People) transact(ctx context.Context, projectID int64, work func(Tx) error) error {
	if p == nil || p.Transactor == nil {
		return ErrReadOnly
	}
	return p.Transactor.Transact(ctx, projectID, work)
}

// The bounds of a transaction of Erase. Events of clients wait for its end, and it has a time limit. It
// ends with the person with which one of these numbers is reached. Each deleted event may be in another
// block, which is written again.
const (
	erasedPersons = 25
	erasedEvents  = 250
)

// Erase deletes persons, and also their events if withEvents is true (decision 17). It is not an error
// if there is no such person. Several persons are deleted in one transaction. After it, erased is called
// for each person that existed, with the number of deleted events. If Erase fails or ctx ends, the
// persons of the last transaction are unchanged, and those of earlier transactions are deleted.
func (p *People) Erase(ctx context.Context, projectID int64, persons []UUID, withEvents bool, erased func(person UUID, events int64)) error {
	for len(persons) > 0 {
		var found []UUID
		var counts []int64
		tried := 0
		err := p.transact(ctx, projectID, func(tx Tx) error {
			for all := int64(0); tried < min(len(persons), erasedPersons) && all < erasedEvents; tried++ {
				exists, events, err := tx.ErasePerson(projectID, persons[tried], withEvents)
				if err = cmp.Or(err, ctx.Err()); err != nil {
					return err
				}
				all += events
				if exists {
					found, counts = append(found, persons[tried]), append(counts, events)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, person := range found {
			erased(person, counts[i])
		}
		persons = persons[tried:]
	}
	return nil
}

// EraseEvents deletes the events of a person and returns their number. The person is not
// deleted.
func (p *People) EraseEvents(ctx context.Context, projectID int64, person UUID) (events int64, err error) {
	err = p.transact(ctx, projectID, func(tx Tx) (err error) {
		events, err = tx.EraseEvents(projectID, person)
		return err
	})
	if err != nil {
		return 0, err
	}
	return events, nil
}

// Split assigns the distinct ids of a person, at most MaxReturnedIDs at a time, to new
// persons. The distinct id main stays with the person; if it is empty, the first of BestIDs
// does. See SplitPerson.
func (p *People) Split(ctx context.Context, projectID int64, person *StoredPerson, main string) error {
	ids := person.BestIDs()
	if main != "" && !slices.Contains(ids, main) {
		ids = append(ids, main) // the person has more than MaxReturnedIDs
	}
	return p.transact(ctx, projectID, func(tx Tx) error {
		if person == nil {
			return invalidInput("", "There is no such person.")
		}
		found, err := SplitPerson(tx, projectID, person.UUID, ids, main)
		if err == nil && !found {
			err = invalidInput("main_distinct_id", "The person has no such distinct id.")
		}
		return err
	})
}

// SetPerson merges a JSON object into the properties of a person, like a $set event. It does
// not remove properties.
func (p *People) SetPerson(ctx context.Context, project Project, person *StoredPerson, properties string) error {
	return p.sendPerson(ctx, project, person, "$set", Member{"$set", properties})
}

// UnsetPerson removes a property of a person.
func (p *People) UnsetPerson(ctx context.Context, project Project, person *StoredPerson, name string) error {
	return p.sendPerson(ctx, project, person, "$delete_person_property", Member{"$unset", "[" + wire.Quote(name) + "]"})
}

// sendPerson records an event for a person, with the first of BestIDs as its distinct id.
func (p *People) sendPerson(ctx context.Context, project Project, person *StoredPerson, event string, property Member) error {
	ids := person.BestIDs()
	if len(ids) == 0 {
		return invalidInput("", "The person has no distinct id.")
	}
	return p.send(ctx, project, event, ids[0], property)
}

// NewGroup creates a group of an existing type, with a JSON object as its properties
// (spec/management.md §5.4). It returns a *Refusal if the group exists.
func (p *People) NewGroup(ctx context.Context, project Project, id GroupID, typeName, properties string) (*Group, error) {
	switch existing, err := p.group(ctx, project.ID, id); {
	case err != nil:
		return nil, err
	case existing != nil:
		return nil, invalidInput("detail", "A group with this key already exists")
	}
	return p.SetGroup(ctx, project, id, typeName, properties)
}

// SetGroup merges a JSON object into the properties of a group, like a $groupidentify event,
// and returns the group.
func (p *People) SetGroup(ctx context.Context, project Project, id GroupID, typeName, properties string) (*Group, error) {
	err := p.send(ctx, project, "$groupidentify", "$"+typeName+"_"+id.Key,
		Member{"$group_set", properties}, Member{"$group_type", wire.Quote(typeName)}, Member{"$group_key", wire.Quote(id.Key)},
		Member{"$process_person_profile", "false"})
	if err != nil {
		return nil, err
	}
	return p.group(ctx, project.ID, id)
}

// group returns a stored group, or nil if there is no such group.
func (p *People) group(ctx context.Context, projectID int64, id GroupID) (*Group, error) {
	if p == nil || p.History == nil {
		return nil, ErrReadOnly
	}
	return p.History.Group(ctx, projectID, id)
}

// UnsetGroup removes a property of a group and returns the group.
func (p *People) UnsetGroup(ctx context.Context, projectID int64, id GroupID, name string) (*Group, error) {
	err := p.transact(ctx, projectID, func(tx Tx) error {
		found, err := unsetGroupProperty(tx, projectID, id, name)
		if err == nil && !found {
			err = invalidInput("$unset", fmt.Sprintf("The group has no property \"%s\".", wire.Shorten(name, 64)))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return p.group(ctx, projectID, id)
}

// Import creates a person with all its distinct ids and a given UUID, or replaces the person
// with that UUID (decision 26). It returns a *Refusal if the person is invalid or a distinct
// id belongs to another person, because an import does not merge persons. ID and Version are
// ignored.
func (p *People) Import(ctx context.Context, projectID int64, person StoredPerson) error {
	return p.transact(ctx, projectID, func(tx Tx) error { return importPerson(tx, projectID, person) })
}

// ImportGroup creates or replaces a group. A new group type is assigned the lowest free
// number. It returns a *Refusal if no number is free or the group is invalid.
func (p *People) ImportGroup(ctx context.Context, projectID int64, typeName string, g Group) error {
	return p.transact(ctx, projectID, func(tx Tx) error { return importGroup(tx, projectID, typeName, g) })
}

// send records an event with the Intake. The event is not located, because the caller's
// address is not that of the person.
func (p *People) send(ctx context.Context, project Project, event, distinctID string, properties ...Member) error {
	if p == nil || p.Intake == nil {
		return ErrReadOnly
	}
	text := Object{
		{"api_key", wire.Quote(project.APIKey)}, {"event", wire.Quote(event)}, {"distinct_id", wire.Quote(distinctID)},
		{"properties", Object(append(properties, Member{"$geoip_disable", "true"})).String()},
	}.String()
	submission, err := Decode(text, DecodeOptions{})
	if err != nil {
		return err
	}
	receipt, err := p.Intake.Accept(ctx, submission, Origin{})
	if err != nil {
		return err
	}
	for _, reason := range receipt.Results {
		switch {
		case reason.IsOverQuota():
			return ErrOverQuota
		case reason != NotDropped:
			return invalidInput("", fmt.Sprintf("The change was not accepted: %s.", reason))
		}
	}
	return nil
}

// BestIDs returns the distinct ids, those that were assigned by people before those that SDKs
// generated. p may be nil.
func (p *StoredPerson) BestIDs() []string {
	if p == nil {
		return nil
	}
	out := append([]string{}, p.DistinctIDs...)
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(anonymityRank(a), anonymityRank(b)) })
	return out
}

// anonymityRank is the sort key of BestIDs.
func anonymityRank(id string) int {
	if isAnonymous(id) {
		return 1
	}
	return 0
}

// isAnonymous reports whether an id has the form of those that SDKs generate: five groups of
// digits and lower-case letters, separated by hyphens.
func isAnonymous(id string) bool {
	words, length := 1, 0
	for i := range len(id) {
		switch c := id[i]; {
		case c == '-' && length > 0:
			words, length = words+1, 0
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
			length++
		default:
			return false
		}
	}
	return words == 5 && length > 0
}

// nameProperties are the properties that may contain a person's name. The first one that is
// not empty is used.
var nameProperties = []string{"email", "Email", "$email", "name", "Name", "username", "Username", "UserName"}

// Name returns the display name of the person: the first of several properties that is a
// string or a number, or otherwise the first of BestIDs. It is empty if the person has
// neither.
func (p *StoredPerson) Name() string {
	for _, property := range nameProperties {
		value, _ := p.Properties.Get(property)
		name, isText := text(value)
		if !isText && value != "" && (value[0] == '-' || value[0] >= '0' && value[0] <= '9') {
			name = value
		}
		if name != "" {
			return name
		}
	}
	if ids := p.BestIDs(); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

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
