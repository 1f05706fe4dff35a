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
	// ErrReadOnly is for changes of people where there is nothing that makes them.
	ErrReadOnly = errors.New("capture: people cannot be changed here")
	// ErrOverQuota is for changes of people that are events, over a limit (§13.4).
	ErrOverQuota = errors.New("capture: the change is an event over the quota")
)

// People changes persons and groups where no client sends an event. Errors are a
// *Refusal for what the caller has to mend, ErrOverQuota, ErrReadOnly, or
// ErrUnavailable when the store does not take it now. What a nil or zero People would
// need is ErrReadOnly.
type People struct {
	// History reads back, Between makes the changes that are no events.
	History    History
	Transactor Transactor
	// Intake takes the events in that changes of properties amount to, so that these
	// follow the rules of all events. Nil: properties cannot be set.
	Intake *Intake
}

// Transactor runs work in a transaction of its own between the commits of events: a
// Recorder.
type Transactor interface {
	Transact(ctx context.Context, projectID int64, work func(Tx) error) error
}

func (p *People) transact(ctx context.Context, projectID int64, work func(Tx) error) error {
	if p == nil || p.Transactor == nil {
		return ErrReadOnly
	}
	return p.Transactor.Transact(ctx, projectID, work)
}

// Erase takes a person away, with the events of that person if asked (decision
// 17), and says whether there was one and how many events. Nobody of that id is no error.
func (p *People) Erase(ctx context.Context, projectID int64, person UUID, withEvents bool) (found bool, events int64, err error) {
	err = p.transact(ctx, projectID, func(tx Tx) (err error) {
		found, events, err = tx.ErasePerson(projectID, person, withEvents)
		return err
	})
	if err != nil {
		return false, 0, err
	}
	return found, events, nil
}

// EraseEvents takes the events of a person away, and says how many; the person stays.
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

// Split gives the distinct ids of a person, at most MaxReturnedIDs at a time, persons
// of their own; main keeps the person, or when it is empty the id that is shown
// first: see SplitPerson.
func (p *People) Split(ctx context.Context, projectID int64, person *StoredPerson, main string) error {
	ids := person.BestIDs()
	if main != "" && !slices.Contains(ids, main) {
		ids = append(ids, main) // of more than can be shown
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

// SetPerson merges a JSON object into the properties of a person, as a $set event
// does; it takes none away.
func (p *People) SetPerson(ctx context.Context, project Project, person *StoredPerson, properties string) error {
	return p.sendPerson(ctx, project, person, "$set", Member{"$set", properties})
}

// UnsetPerson takes a property of a person away.
func (p *People) UnsetPerson(ctx context.Context, project Project, person *StoredPerson, name string) error {
	return p.sendPerson(ctx, project, person, "$delete_person_property", Member{"$unset", "[" + wire.Quote(name) + "]"})
}

// sendPerson sends an event of a person, under the id that is shown first.
func (p *People) sendPerson(ctx context.Context, project Project, person *StoredPerson, event string, property Member) error {
	ids := person.BestIDs()
	if len(ids) == 0 {
		return invalidInput("", "The person has no distinct id.")
	}
	return p.send(ctx, project, event, ids[0], property)
}

// NewGroup makes a group of a type that there is, with the properties of a JSON
// object (spec/management.md §5.4).
func (p *People) NewGroup(ctx context.Context, project Project, id GroupID, typeName, properties string) (*Group, error) {
	switch existing, err := p.group(ctx, project.ID, id); {
	case err != nil:
		return nil, err
	case existing != nil:
		return nil, invalidInput("detail", "A group with this key already exists")
	}
	return p.SetGroup(ctx, project, id, typeName, properties)
}

// SetGroup merges a JSON object into the properties of a group, as a $groupidentify
// event does, and returns the group.
func (p *People) SetGroup(ctx context.Context, project Project, id GroupID, typeName, properties string) (*Group, error) {
	err := p.send(ctx, project, "$groupidentify", "$"+typeName+"_"+id.Key,
		Member{"$group_set", properties}, Member{"$group_type", wire.Quote(typeName)}, Member{"$group_key", wire.Quote(id.Key)},
		Member{"$process_person_profile", "false"})
	if err != nil {
		return nil, err
	}
	return p.group(ctx, project.ID, id)
}

func (p *People) group(ctx context.Context, projectID int64, id GroupID) (*Group, error) {
	if p == nil || p.History == nil {
		return nil, ErrReadOnly
	}
	return p.History.Group(ctx, projectID, id)
}

// UnsetGroup takes a property of a group away, and returns the group.
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

// Import makes a person with all of its distinct ids and its own uuid (decision 26), or
// replaces the person of that uuid. It fails with a *Refusal when the person cannot be
// one, or an id belongs to somebody else: an import merges nobody. ID and Version are
// not looked at.
func (p *People) Import(ctx context.Context, projectID int64, person StoredPerson) error {
	return p.transact(ctx, projectID, func(tx Tx) error { return importPerson(tx, projectID, person) })
}

// ImportGroup makes a group, or replaces it. A new type takes the next free number;
// without one it fails with a *Refusal, as for a group that cannot be one.
func (p *People) ImportGroup(ctx context.Context, projectID int64, typeName string, g Group) error {
	return p.transact(ctx, projectID, func(tx Tx) error { return importGroup(tx, projectID, typeName, g) })
}

// send has the Intake take an event in. It is not located: the caller is not whom it
// is about.
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
			return invalidInput("", fmt.Sprintf("The change was not taken: %s.", reason))
		}
	}
	return nil
}

// BestIDs are the distinct ids, those that people have chosen before those that
// SDKs made up.
func (p *StoredPerson) BestIDs() []string {
	if p == nil {
		return nil
	}
	out := append([]string{}, p.DistinctIDs...)
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(anonymityRank(a), anonymityRank(b)) })
	return out
}

func anonymityRank(id string) int {
	if isAnonymous(id) {
		return 1
	}
	return 0
}

// isAnonymous reports whether an id looks like one of an SDK: five words of digits
// and small letters, with hyphens between them.
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

// nameProperties may hold a person's name; the first that does counts.
var nameProperties = []string{"email", "Email", "$email", "name", "Name", "username", "Username", "UserName"}

// Name is how a person is called: by a property that is a text or a number, else by
// the best of the distinct ids.
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
