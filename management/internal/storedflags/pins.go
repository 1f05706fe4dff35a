package storedflags

import (
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// MaxPinMembers is more than the distinct ids that the person of a pin has.
const MaxPinMembers = 1000

// PinSettings are the members of a pin that are stored and returned unchanged.
type PinSettings struct {
	ID        int64            `json:"id"`
	Group     *PinnedGroup     `json:"group"` // null if the pin is for a person
	Value     json.RawMessage  `json:"value"` // true, false or a variant
	Note      string           `json:"note"`
	Expires   management.Stamp `json:"expires_at"` // null if the pin does not expire
	CreatedAt management.Stamp `json:"created_at"`
}

// PinnedGroup is a group, by its group type and its key.
type PinnedGroup struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

// Pin is a pin as stored with its flag. The person of a pin is stored as the only member of a
// static cohort that is not listed. Therefore the pin moves along when persons are merged, it is
// erased with the person, and SDKs receive it in the same way as other members.
type Pin struct {
	PinSettings
	// CreatedBy is the id of a user.
	CreatedBy int64 `json:"created_by"`
}

// Cohort returns the id of the static cohort that contains the person of a pin. It is negative, and
// therefore different from the ids of all listed cohorts.
func (p *Pin) Cohort() int64 { return -p.ID }

// pinRecords returns pins in the form that /flags reads.
func pinRecords(pins []Pin) (out []map[string]any) {
	for i := range pins {
		p := &pins[i]
		record := map[string]any{"value": p.Value}
		if p.Group != nil {
			record["group_type"], record["group_key"] = p.Group.Type, p.Group.Key
		} else {
			record["cohort"] = p.Cohort()
		}
		if !p.Expires.IsZero() {
			record["expires_at"] = p.Expires.UTC().Format(time.RFC3339Nano)
		}
		out = append(out, record)
	}
	return out
}

// LivePins returns the pins that have not expired, newest first.
func (f *Flag) LivePins(now time.Time) (out []Pin) {
	for _, p := range f.Pins {
		if p.Expires.IsZero() || now.Before(p.Expires.Time) {
			out = append(out, p)
		}
	}
	return out
}

// RetainPins removes the pins for which keep returns false, and their members.
func (s Store) RetainPins(tx definitions.Tx, f *Flag, keep func(*Pin) (bool, error)) error {
	var retained []Pin
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
		ids, err := tx.Members(f.Project, p.Cohort(), "", MaxPinMembers)
		if err == nil && len(ids) > 0 {
			err = tx.RemoveMembers(f.Project, p.Cohort(), ids)
		}
		if err != nil {
			return err
		}
	}
	f.Pins = retained
	return nil
}
