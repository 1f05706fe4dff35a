package featureflags

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// maxPins limits the pinned values of a flag. maxPinTarget limits the length of the distinct id or
// group key of a pin, in characters.
const (
	maxPins      = 100
	maxPinTarget = 400
)

// PinFields are the fields of the request that pins a value (spec/console.md N11). Exactly one of
// person_id, distinct_id and group is required.
var PinFields = management.Fields{
	{Name: "person_id", Type: management.UUID, Null: true, Help: "uuid of the person"},
	{Name: "distinct_id", Type: management.Any, Help: "a distinct id; it need not belong to a person yet"},
	{Name: "group", Type: management.Object, Null: true, Help: "a group: an object with type and key"},
	{Name: "value", Type: management.Any, Required: true, Help: "true, false or the key of a variant"},
	{Name: "note", Type: management.Text, Null: true, Blank: true, MaxLength: 200, Help: "reason for the pinned value"},
	{Name: "expires_at", Type: management.Time, Null: true, Help: "time when the pinned value expires; null: never"},
}

// pinSettings are the members of a pin that are stored and returned unchanged.
type pinSettings struct {
	ID        int64            `json:"id"`
	Group     *pinnedGroup     `json:"group"` // null if the pin is for a person
	Value     json.RawMessage  `json:"value"` // true, false or a variant
	Note      string           `json:"note"`
	Expires   management.Stamp `json:"expires_at"` // null if the pin does not expire
	CreatedAt management.Stamp `json:"created_at"`
}

// pinnedGroup is a group, by its group type and its key.
type pinnedGroup struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

// storedPin is a pin as stored with its flag. The person of a pin is stored as the only member of a
// static cohort that is not listed. Therefore the pin moves along when persons are merged, it is
// erased with the person, and SDKs receive it in the same way as other members.
type storedPin struct {
	pinSettings
	// CreatedBy is the id of a user.
	CreatedBy int64 `json:"created_by"`
}

// FlagPin is a value that is pinned for one person or one group, as the API returns it.
type FlagPin struct {
	pinSettings
	Person    *whoPerson           `json:"person"` // null if the pin is for a group or the person was erased
	CreatedBy *management.UserView `json:"created_by"`
}

// cohort returns the id of the static cohort that contains the person of a pin. It is negative, and
// therefore different from the ids of all listed cohorts.
func (p *storedPin) cohort() int64 { return -p.ID }

// pinRecords returns pins in the form that /flags reads.
func pinRecords(pins []storedPin) (out []map[string]any) {
	for i := range pins {
		p := &pins[i]
		record := map[string]any{"value": p.Value}
		if p.Group != nil {
			record["group_type"], record["group_key"] = p.Group.Type, p.Group.Key
		} else {
			record["cohort"] = p.cohort()
		}
		if !p.Expires.IsZero() {
			record["expires_at"] = p.Expires.UTC().Format(time.RFC3339Nano)
		}
		out = append(out, record)
	}
	return out
}

// livePins returns the pins that have not expired, newest first.
func (f *storedFlag) livePins(now time.Time) (out []storedPin) {
	for _, p := range f.Pins {
		if p.Expires.IsZero() || now.Before(p.Expires.Time) {
			out = append(out, p)
		}
	}
	return out
}

// Pins returns a page of the pinned values of a flag that have not expired, newest first.
func (s Flags) Pins(ctx context.Context, scope *management.Scope, id string, page management.Page) (management.List[FlagPin], error) {
	out, err := management.ReadOne(ctx, s.flags, scope, id, func(v *view, f *storedFlag) (out management.List[FlagPin], err error) {
		var pins []storedPin
		pins, out.Count = management.PageOf(f.livePins(s.Env.Now()), page)
		for i := range pins {
			pin, err := s.showPin(v, &pins[i])
			if err != nil {
				return out, err
			}
			out.Results = append(out.Results, *pin)
		}
		return out, nil
	})
	// People reads the store by itself, so it is not called within the transaction.
	for i := range out.Results {
		if err == nil {
			err = s.fillPerson(ctx, scope, &out.Results[i])
		}
	}
	return out, err
}

// showPin converts a pin. It sets only the distinct id of the person; fillPerson adds the rest.
func (s Flags) showPin(v *view, p *storedPin) (*FlagPin, error) {
	creator, err := v.Author(p.CreatedBy)
	out := &FlagPin{pinSettings: p.pinSettings, CreatedBy: creator}
	if err != nil || p.Group != nil {
		return out, err
	}
	ids, err := v.Tx.Members(v.Project.ID, p.cohort(), "", 1)
	if len(ids) > 0 {
		out.Person = &whoPerson{Name: ids[0], DistinctID: ids[0]}
	}
	return out, err
}

// fillPerson replaces the person of a pin by the stored person with the same distinct id, if any.
func (s Flags) fillPerson(ctx context.Context, scope *management.Scope, p *FlagPin) error {
	if p.Person == nil || s.People == nil {
		return nil
	}
	person, err := s.People.PersonByDistinctID(ctx, scope.Project.ID, p.Person.DistinctID)
	if person != nil {
		*p.Person = newWhoPerson(person)
	}
	return err
}

// Pin pins a value. It replaces an existing pin for the same person or group.
func (s Flags) Pin(ctx context.Context, scope *management.Scope, id int64, b management.Body) (*FlagPin, error) {
	v, err := PinFields.Create(b)
	if err != nil {
		return nil, err
	}
	p := &storedPin{pinSettings: pinSettings{Value: v.Raw("value"), Note: v.Text("note"), Expires: management.NewStamp(v.Time("expires_at"))}, CreatedBy: scope.User.ID}
	distinctID, err := s.readPinTarget(ctx, scope, v, p)
	if err != nil {
		return nil, err
	}
	out, err := management.Write(ctx, &s.Env, func(tx Tx) (*FlagPin, error) {
		f, err := s.loadPinnable(tx, scope, id)
		if err != nil {
			return nil, err
		}
		if err := f.checkPin(tx, p, s.Env.Now()); err != nil {
			return nil, err
		}
		if err := s.removeReplacedPins(tx, f, p, distinctID); err != nil {
			return nil, err
		}
		p.CreatedAt = management.NewStamp(s.Env.Now())
		if p.ID, err = tx.Next("flag_pin"); err != nil {
			return nil, err
		}
		if p.Group == nil {
			if err := tx.AddMembers(f.Project, p.cohort(), []string{distinctID}); err != nil {
				return nil, err
			}
		}
		f.Pins = slices.Insert(f.Pins, 0, *p)
		if err := s.savePins(tx, scope, f, "pinned"); err != nil {
			return nil, err
		}
		return s.showPin(&view{Tx: tx, Scope: scope}, p)
	})
	if err != nil {
		return nil, err
	}
	return out, s.fillPerson(ctx, scope, out)
}

// Unpin removes the pin with an id.
func (s Flags) Unpin(ctx context.Context, scope *management.Scope, id int64, pin string) error {
	_, err := management.Write(ctx, &s.Env, func(tx Tx) (any, error) {
		f, err := s.loadPinnable(tx, scope, id)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(f.livePins(s.Env.Now()), func(p storedPin) bool { return strconv.FormatInt(p.ID, 10) == pin })
		if i < 0 {
			return nil, management.ErrNotFound()
		}
		err = s.retainPins(tx, f, func(p *storedPin) (bool, error) { return strconv.FormatInt(p.ID, 10) != pin, nil })
		if err != nil {
			return nil, err
		}
		return nil, s.savePins(tx, scope, f, "unpinned")
	})
	return err
}

// loadPinnable returns a flag for which the caller may pin values.
func (s Flags) loadPinnable(tx Tx, scope *management.Scope, id int64) (*storedFlag, error) {
	f, err := s.loadFlag(tx, scope, id)
	if err == nil {
		err = scope.RequireAccess(management.Editor, f.accessObject())
	}
	switch {
	case err != nil:
		return nil, err
	case f.Deleted:
		return nil, management.Fault("", "This feature flag has been deleted. Restore it before pinning its values.")
	case f.Origin != "":
		return nil, errInFile(f)
	}
	return f, nil
}

// savePins stores the pins of a flag. Pins are not part of versions, so it creates no version.
func (s Flags) savePins(tx Tx, scope *management.Scope, f *storedFlag, activity string) error {
	if err := f.checkApproval(scope); err != nil {
		return err
	}
	if err := putDefinition(tx, FlagDefinition, f.Project, f.definition()); err != nil {
		return err
	}
	f.activity = activity
	return s.logFlag(tx, scope, f)
}

// retainPins removes the pins for which keep returns false, and their members.
func (s Flags) retainPins(tx Tx, f *storedFlag, keep func(*storedPin) (bool, error)) error {
	var retained []storedPin
	for i := range f.Pins {
		p := &f.Pins[i]
		ok, err := keep(p)
		if err != nil {
			return err
		}
		if ok {
			retained = append(retained, *p)
			continue
		}
		ids, err := tx.Members(f.Project, p.cohort(), "", maxAdded)
		if err == nil && len(ids) > 0 {
			err = tx.RemoveMembers(f.Project, p.cohort(), ids)
		}
		if err != nil {
			return err
		}
	}
	f.Pins = retained
	return nil
}

// removeReplacedPins removes expired pins and the pins that next replaces. It fails if the flag
// still has maxPins pins.
func (s Flags) removeReplacedPins(tx Tx, f *storedFlag, next *storedPin, distinctID string) error {
	now := s.Env.Now()
	personIDs, err := tx.SamePersons(f.Project, []string{distinctID})
	if err != nil {
		return err
	}
	err = s.retainPins(tx, f, func(p *storedPin) (bool, error) {
		switch {
		case !p.Expires.IsZero() && !now.Before(p.Expires.Time):
			return false, nil
		case p.Group != nil || next.Group != nil:
			return p.Group == nil || next.Group == nil || *p.Group != *next.Group, nil
		}
		found, err := tx.FilterMembers(f.Project, p.cohort(), personIDs)
		return len(found) == 0, err
	})
	if err == nil && len(f.Pins) >= maxPins {
		err = management.CodedFault(management.CodeMaxLength, "", "A feature flag may have at most %d pinned values.", maxPins)
	}
	return err
}

// readPinTarget reads the target of a pin. It sets p.Group, or returns a distinct id of the person.
func (s Flags) readPinTarget(ctx context.Context, scope *management.Scope, v management.Values, p *storedPin) (string, error) {
	id, group := v.Raw("distinct_id"), v.Raw("group")
	isSet := func(name string) bool { raw := v.Raw(name); return len(raw) > 0 && string(raw) != "null" }
	// The API accepts null for the members that are not used.
	hasID, hasGroup, count := isSet("distinct_id"), isSet("group"), 0
	for _, has := range []bool{hasID, hasGroup, v.Text("person_id") != ""} {
		if has {
			count++
		}
	}
	switch {
	case count == 0:
		return "", management.CodedFault(management.CodeRequired, "distinct_id", "Give distinct_id, person_id or group.")
	case count > 1:
		return "", management.Fault("distinct_id", "Give one of distinct_id, person_id and group.")
	case hasGroup:
		return "", p.readGroup(group)
	case hasID:
		text, err := subjectText("distinct_id", wire.Value(id))
		return text, checkPinTarget("distinct_id", text, err)
	}
	// Without People there are no persons, so every person_id is refused.
	var person *Person
	var err error
	if s.People != nil {
		person, err = s.People.PersonByUUID(ctx, scope.Project.ID, v.Text("person_id"))
	}
	if err == nil && (person == nil || len(person.DistinctIDs) == 0) {
		err = management.CodedFault(management.CodeDoesNotExist, "person_id", "There is no person %s.", v.Text("person_id"))
	}
	if err != nil {
		return "", err
	}
	return person.DistinctIDs[0], nil
}

// readGroup reads the group of a pin.
func (p *storedPin) readGroup(raw json.RawMessage) error {
	members, group := anyObject(wire.Value(raw)), &pinnedGroup{}
	var err error
	if group.Type, err = subjectText("group__type", members["type"]); err != nil {
		return err
	}
	group.Key, err = subjectText("group__key", members["key"])
	p.Group = group
	return checkPinTarget("group__key", group.Key, err)
}

// checkPinTarget checks a distinct id, a group type or a group key; err is the error of its
// decoding.
func checkPinTarget(field, text string, err error) error {
	switch {
	case err != nil:
		return err
	case text == "":
		return management.Fault(field, "This field may not be blank.")
	case utf8.RuneCountInString(text) > maxPinTarget:
		return management.CodedFault(management.CodeMaxLength, field, "Ensure this field has no more than %d characters.", maxPinTarget)
	}
	return nil
}

// checkPin checks the value, the group type and the expiry of a pin.
func (f *storedFlag) checkPin(tx Tx, p *storedPin, now time.Time) error {
	switch value := wire.Value(p.Value).(type) {
	case bool:
	case string:
		// The value must be a variant that the flag has now.
		if !slices.ContainsFunc(f.shape().variants(), func(v variantShape) bool { return v.Key == value }) {
			return management.CodedFault(management.CodeDoesNotExist, "value", "The feature flag has no variant %q.", value)
		}
	default:
		return management.Fault("value", "Give true, false or the key of a variant.")
	}
	if !p.Expires.IsZero() && !now.Before(p.Expires.Time) {
		return management.Fault("expires_at", "This time is in the past.")
	}
	if p.Group == nil {
		return nil
	}
	types, err := tx.GroupTypes(f.Project)
	if err != nil {
		return err
	}
	for _, name := range types {
		if name == p.Group.Type {
			return nil
		}
	}
	return management.CodedFault(management.CodeDoesNotExist, "group__type", "The project has no group type %q.", p.Group.Type)
}

// addPinnedMembers adds the persons of all pins of a set to members, the static cohorts by distinct
// id.
func addPinnedMembers(tx Tx, project int64, set *flags.Set, members map[string][]int64) error {
	for _, cohort := range set.Needs().Cohorts {
		if cohort >= 0 {
			continue
		}
		ids, err := tx.Members(project, cohort, "", maxAdded)
		if err != nil {
			return err
		}
		for _, id := range ids {
			members[id] = append(members[id], cohort)
		}
	}
	return nil
}
