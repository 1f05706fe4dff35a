package featureflags

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// maxPins limits the pinned values of a flag. maxPinTarget limits the length of the distinct id or
// group key of a pin, in characters.
const (
	maxPins      = 100
	maxPinTarget = 400
)

// pinFields are the fields of the request that pins a value (spec/console.md N11). Exactly one of
// person_id, distinct_id and group is required.
var pinFields = management.Fields{
	{Name: "person_id", Type: management.UUID, Null: true, Help: "uuid of the person"},
	{Name: "distinct_id", Type: management.Any, Help: "a distinct id; it need not belong to a person yet"},
	{Name: "group", Type: management.Object, Null: true, Help: "a group: an object with type and key"},
	{Name: "value", Type: management.Any, Required: true, Help: "true, false or the key of a variant"},
	{Name: "note", Type: management.Text, Null: true, Blank: true, MaxLength: 200, Help: "reason for the pinned value"},
	{Name: "expires_at", Type: management.Time, Null: true, Help: "time when the pinned value expires; null: never"},
}

// flagPin is a value that is pinned for one person or one group, as the API returns it.
type flagPin struct {
	storedflags.PinSettings
	Person    *whoPerson           `json:"person"` // null if the pin is for a group or the person was erased
	CreatedBy *management.UserView `json:"created_by"`
}

// Pins returns a page of the pinned values of a flag that have not expired, newest first.
func (s Flags) Pins(ctx context.Context, scope *management.Scope, id string, page management.Page) (management.List[flagPin], error) {
	out, err := resource.ReadOne(ctx, s.flags, scope, id, func(v *view, f *storedflags.Flag) (out management.List[flagPin], err error) {
		var pins []storedflags.Pin
		pins, out.Count = lists.PageOf(f.LivePins(s.Env.Now()), page)
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
func (s Flags) showPin(v *view, p *storedflags.Pin) (*flagPin, error) {
	creator, err := v.Author(p.CreatedBy)
	out := &flagPin{PinSettings: p.PinSettings, CreatedBy: creator}
	if err != nil || p.Group != nil {
		return out, err
	}
	ids, err := v.Tx.Members(v.Project.ID, p.Cohort(), "", 1)
	if len(ids) > 0 {
		out.Person = &whoPerson{Name: ids[0], DistinctID: ids[0]}
	}
	return out, err
}

// fillPerson replaces the person of a pin by the stored person with the same distinct id, if any.
func (s Flags) fillPerson(ctx context.Context, scope *management.Scope, p *flagPin) error {
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
func (s Flags) Pin(ctx context.Context, scope *management.Scope, id int64, b management.Body) (*flagPin, error) {
	v, err := pinFields.Create(b)
	if err != nil {
		return nil, err
	}
	p := &storedflags.Pin{PinSettings: storedflags.PinSettings{Value: v.Raw("value"), Note: v.Text("note"), Expires: management.NewStamp(v.Time("expires_at"))}, CreatedBy: scope.User.ID}
	distinctID, err := s.readPinTarget(ctx, scope, v, p)
	if err != nil {
		return nil, err
	}
	out, err := management.Write(ctx, &s.Env, func(tx storeTx) (*flagPin, error) {
		f, err := s.loadPinnable(tx, scope, id)
		if err != nil {
			return nil, err
		}
		if err := checkPin(tx, f, p, s.Env.Now()); err != nil {
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
			if err := tx.AddMembers(f.Project, p.Cohort(), []string{distinctID}); err != nil {
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
	_, err := management.Write(ctx, &s.Env, func(tx storeTx) (any, error) {
		f, err := s.loadPinnable(tx, scope, id)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(f.LivePins(s.Env.Now()), func(p storedflags.Pin) bool { return strconv.FormatInt(p.ID, 10) == pin })
		if i < 0 {
			return nil, management.ErrNotFound()
		}
		err = s.stored.RetainPins(tx, f, func(p *storedflags.Pin) (bool, error) { return strconv.FormatInt(p.ID, 10) != pin, nil })
		if err != nil {
			return nil, err
		}
		return nil, s.savePins(tx, scope, f, "unpinned")
	})
	return err
}

// loadPinnable returns a flag for which the caller may pin values.
func (s Flags) loadPinnable(tx storeTx, scope *management.Scope, id int64) (*storedflags.Flag, error) {
	f, err := s.stored.Load(tx, scope, id)
	if err == nil {
		err = scope.RequireAccess(management.Editor, f.AccessObject())
	}
	switch {
	case err != nil:
		return nil, err
	case f.Deleted:
		return nil, management.Fault("", "This feature flag has been deleted. Restore it before pinning its values.")
	case f.Origin != "":
		return nil, storedflags.ErrInFile(f)
	}
	return f, nil
}

// savePins stores the pins of a flag. Pins are not part of versions, so it creates no version.
func (s Flags) savePins(tx storeTx, scope *management.Scope, f *storedflags.Flag, activity string) error {
	if err := f.CheckApproval(scope); err != nil {
		return err
	}
	if err := definitions.Put(tx, management.FlagDefinition, f.Project, f.Definition()); err != nil {
		return err
	}
	f.Activity = activity
	return s.stored.Log(tx, scope, f)
}

// removeReplacedPins removes expired pins and the pins that next replaces. It fails if the flag
// still has maxPins pins.
func (s Flags) removeReplacedPins(tx storeTx, f *storedflags.Flag, next *storedflags.Pin, distinctID string) error {
	now := s.Env.Now()
	personIDs, err := tx.SamePersons(f.Project, []string{distinctID})
	if err != nil {
		return err
	}
	err = s.stored.RetainPins(tx, f, func(p *storedflags.Pin) (bool, error) {
		switch {
		case !p.Expires.IsZero() && !now.Before(p.Expires.Time):
			return false, nil
		case p.Group != nil || next.Group != nil:
			return p.Group == nil || next.Group == nil || *p.Group != *next.Group, nil
		}
		found, err := tx.FilterMembers(f.Project, p.Cohort(), personIDs)
		return len(found) == 0, err
	})
	if err == nil && len(f.Pins) >= maxPins {
		err = management.CodedFault(management.CodeMaxLength, "", "A feature flag may have at most %d pinned values.", maxPins)
	}
	return err
}

// readPinTarget reads the target of a pin. It sets p.Group, or returns a distinct id of the person.
func (s Flags) readPinTarget(ctx context.Context, scope *management.Scope, v management.Values, p *storedflags.Pin) (string, error) {
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
		return "", readGroup(p, group)
	case hasID:
		text, err := subjectText("distinct_id", wire.Value(id))
		return text, checkPinTarget("distinct_id", text, err)
	}
	// Without People there are no persons, so every person_id is refused.
	var person *management.Person
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
func readGroup(p *storedflags.Pin, raw json.RawMessage) error {
	members, group := definitions.Object(wire.Value(raw)), &storedflags.PinnedGroup{}
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
func checkPin(tx storeTx, f *storedflags.Flag, p *storedflags.Pin, now time.Time) error {
	switch value := wire.Value(p.Value).(type) {
	case bool:
	case string:
		// The value must be a variant that the flag has now.
		if !slices.ContainsFunc(f.Shape().Variants(), func(v storedflags.Variant) bool { return v.Key == value }) {
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
