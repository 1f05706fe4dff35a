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

// maxPins is how many values of a flag may be pinned, maxPinTarget how long a distinct id or
// the key of a group is that has one, in characters.
const (
	maxPins      = 100
	maxPinTarget = 400
)

// PinFields are those of the body that pins a value (spec/console.md N11): one of person_id,
// distinct_id and group.
var PinFields = management.Fields{
	{Name: "person_id", Type: management.UUID, Null: true, Help: "the person"},
	{Name: "distinct_id", Type: management.Any, Help: "a distinct id of the person; nobody need have it yet"},
	{Name: "group", Type: management.Object, Null: true, Help: "a group, with type and key"},
	{Name: "value", Type: management.Any, Required: true, Help: "true, false or the key of a variant"},
	{Name: "note", Type: management.Text, Null: true, Blank: true, MaxLength: 200, Help: "why"},
	{Name: "expires_at", Type: management.Time, Null: true, Help: "when it ends; null: never"},
}

// pinSettings are what is kept of a pin and shown as it is.
type pinSettings struct {
	ID        int64            `json:"id"`
	Group     *pinnedGroup     `json:"group"` // null: it is of a person
	Value     json.RawMessage  `json:"value"` // true, false or a variant
	Note      string           `json:"note"`
	Expires   management.Stamp `json:"expires_at"` // null: never
	CreatedAt management.Stamp `json:"created_at"`
}

type pinnedGroup struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

// storedPin is a pin as it is kept with its flag. The person of one is the member of a
// static cohort that no list shows: so it goes along when persons are merged, is erased
// with the person, and SDKs get it as they get other members.
type storedPin struct {
	pinSettings
	CreatedBy int64 `json:"created_by"`
}

// FlagPin is a value that is pinned for one person or group.
type FlagPin struct {
	pinSettings
	Person    *whoPerson           `json:"person"` // null: of a group, or the person is erased
	CreatedBy *management.UserView `json:"created_by"`
}

// cohort is the static cohort of a pin, below zero.
func (p *storedPin) cohort() int64 { return -p.ID }

// pinRecords are pins as /flags reads them.
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

// livePins are the pins that have not ended, the newest first.
func (f *storedFlag) livePins(now time.Time) (out []storedPin) {
	for _, p := range f.Pins {
		if p.Expires.IsZero() || now.Before(p.Expires.Time) {
			out = append(out, p)
		}
	}
	return out
}

// Pins returns a page of the values of a flag that are pinned, the newest first.
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
	for i := range out.Results {
		if err == nil {
			err = s.fillPerson(ctx, scope, &out.Results[i])
		}
	}
	return out, err
}

// showPin shows a pin; of the person there is the distinct id alone.
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

// fillPerson says who the person of a pin is.
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

// Pin pins a value, in the place of one that is there for the same person or group.
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

// Unpin ends a pinned value.
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

// loadPinnable is a flag whose values the caller may pin.
func (s Flags) loadPinnable(tx Tx, scope *management.Scope, id int64) (*storedFlag, error) {
	f, err := s.loadFlag(tx, scope, id)
	if err == nil {
		err = scope.RequireAccess(management.Editor, f.accessObject())
	}
	switch {
	case err != nil:
		return nil, err
	case f.Deleted:
		return nil, management.Fault("", "This feature flag has been deleted. Restore it before values of it are pinned.")
	case f.Origin != "":
		return nil, errInFile(f)
	}
	return f, nil
}

// savePins stores the pins of a flag. They are no part of its versions.
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

// retainPins keeps some of the pins of a flag, and drops the members of the others.
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

// removeReplacedPins drops the pins that have ended, and those that a new one replaces.
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
		err = management.CodedFault(management.CodeMaxLength, "", "At most %d values of a feature flag are pinned.", maxPins)
	}
	return err
}

// readPinTarget reads for whom a pin is: its group, or a distinct id of the person.
func (s Flags) readPinTarget(ctx context.Context, scope *management.Scope, v management.Values, p *storedPin) (string, error) {
	id, group := v.Raw("distinct_id"), v.Raw("group")
	isSet := func(name string) bool { raw := v.Raw(name); return len(raw) > 0 && string(raw) != "null" }
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

// checkPin checks the value, the group's type and the end of a pin.
func (f *storedFlag) checkPin(tx Tx, p *storedPin, now time.Time) error {
	switch value := wire.Value(p.Value).(type) {
	case bool:
	case string:
		if !slices.ContainsFunc(f.shape().variants(), func(v variantShape) bool { return v.Key == value }) {
			return management.CodedFault(management.CodeDoesNotExist, "value", "The feature flag has no variant %q.", value)
		}
	default:
		return management.Fault("value", "Give true, false or the key of a variant.")
	}
	if !p.Expires.IsZero() && !now.Before(p.Expires.Time) {
		return management.Fault("expires_at", "This time is over.")
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

// addPinnedMembers adds whom the pins of a set are for to the static cohorts of distinct ids.
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
