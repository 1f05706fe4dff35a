package featureflags

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// kindFlagVersion is a flag as it once was: Parent names the flag, ID and Sort the
// version.
const kindFlagVersion = "flag_version"

func versionsOf(f *storedFlag) string { return fmt.Sprintf("project:%d/flag:%d", f.Project, f.ID) }

// keptVersion is a version as it is stored.
type keptVersion struct {
	Version int64            `json:"version"`
	At      management.Stamp `json:"created_at"`
	By      int64            `json:"created_by"`
	Record  json.RawMessage  `json:"record"`
	Meta    json.RawMessage  `json:"meta"`
	Note    string           `json:"change_note,omitempty"`
}

// FlagVersion is a flag as it once was.
type FlagVersion struct {
	Version   int64                `json:"version"`
	CreatedAt management.Stamp     `json:"created_at"`
	CreatedBy *management.UserView `json:"created_by"`
	Key       string               `json:"key"`
	Name      string               `json:"name"`
	Filters   json.RawMessage      `json:"filters"`
	Active    bool                 `json:"active"`
	Deleted   bool                 `json:"deleted"`
	Tags      []string             `json:"tags"`
	// Note is why it was changed (spec/console.md N22); empty: nobody has said.
	Note string `json:"change_note"`
}

// RestoreFields are those of the body that brings a version back.
var RestoreFields = management.Fields{{Name: "version", Type: management.Int, Required: true, Help: "an earlier version of the flag"}, changeNote}

func keepVersion(tx Tx, f *storedFlag) error {
	v := keptVersion{f.Version, f.UpdatedAt, f.ModifiedBy, f.record(), management.Encode(f.flagMeta), f.note}
	if v.Note == "" && f.was != nil && f.was.Version == f.Version { // what makes no version says nothing of why it was made
		r, err := tx.Get(kindFlagVersion, versionsOf(f), strconv.FormatInt(f.Version, 10))
		if err != nil {
			return err
		}
		was, err := management.Decode[keptVersion](r)
		if err != nil {
			return err
		}
		if was != nil {
			v.Note = was.Note
		}
	}
	return tx.Put(&management.Record{
		Kind: kindFlagVersion, Parent: versionsOf(f), ID: strconv.FormatInt(f.Version, 10), Sort: management.SortNumber(f.Version), Data: management.Encode(v),
	})
}

func dropVersions(tx Tx, f *storedFlag) error {
	return tx.DeleteUnder(kindFlagVersion, versionsOf(f))
}

// flagThen is the flag as a version has it.
func (v *keptVersion) flagThen(f *storedFlag) (*storedFlag, error) {
	var named struct {
		Key     string `json:"key"`
		Deleted bool   `json:"deleted"`
	}
	if err := json.Unmarshal(v.Record, &named); err != nil {
		return nil, fmt.Errorf("version %d of the flag %d is not stored as it should be: %w", v.Version, f.ID, err)
	}
	then, err := decodeFlag(f.Project, &Definition{ID: f.ID, Key: named.Key, Record: v.Record, Meta: v.Meta, Deleted: named.Deleted})
	if err == nil {
		then.Pins = f.Pins // those of now
	}
	return then, err
}

// show is what a version says of its flag.
func (v *keptVersion) show(look *view, f *storedFlag) (*FlagVersion, error) {
	then, err := v.flagThen(f)
	if err != nil {
		return nil, err
	}
	by, err := look.Author(v.By)
	return &FlagVersion{v.Version, v.At, by, then.Key, then.Name, then.Filters, then.Active, then.Deleted, management.Texts(then.Tags), v.Note}, err
}

// Version returns one version of a flag (spec/clients.md §7.2).
func (s Flags) Version(ctx context.Context, st *management.Standing, id, number int64) (*FlagVersion, error) {
	return management.Of(ctx, s.flags, st, pathOf(id), func(look *view, f *storedFlag) (*FlagVersion, error) {
		record, err := look.Tx.Get(kindFlagVersion, versionsOf(f), strconv.FormatInt(number, 10))
		if err == nil && record == nil {
			err = management.ErrNotFound()
		}
		if err != nil {
			return nil, err
		}
		v, err := management.Decode[keptVersion](record)
		if err != nil {
			return nil, err
		}
		return v.show(look, f)
	})
}

// Versions returns a page of a flag's versions, the newest first.
func (s Flags) Versions(ctx context.Context, st *management.Standing, id int64, p management.Page) (management.List[FlagVersion], error) {
	return management.Of(ctx, s.flags, st, pathOf(id), func(look *view, f *storedFlag) (management.List[FlagVersion], error) {
		records, count, err := look.Tx.List(management.Query{Kind: kindFlagVersion, Parent: versionsOf(f), Descending: true, Offset: p.Offset, Limit: p.Limit})
		out := management.List[FlagVersion]{Count: count}
		for i := range records {
			v, err := management.Decode[keptVersion](&records[i])
			if err != nil {
				return out, err
			}
			shown, err := v.show(look, f)
			if err != nil {
				return out, err
			}
			out.Results = append(out.Results, *shown)
		}
		return out, err
	})
}

// Restore makes an earlier version the next one (decision 27). What uses the flag
// stays as it is.
func (s Flags) Restore(ctx context.Context, st *management.Standing, id int64, b management.Body) (*Flag, error) {
	values, err := RestoreFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Flag, error) {
		f, err := s.loadFlag(tx, st, id)
		if err != nil {
			return nil, err
		}
		number := values.Int("version")
		record, err := tx.Get(kindFlagVersion, versionsOf(f), strconv.FormatInt(number, 10))
		if err != nil {
			return nil, err
		}
		if record == nil || number >= f.Version {
			return nil, management.Coded(management.CodeDoesNotExist, "version", "The feature flag has no earlier version %d.", number)
		}
		v, err := management.Decode[keptVersion](record)
		if err != nil {
			return nil, err
		}
		then, err := v.flagThen(f)
		if err != nil {
			return nil, err
		}
		next := *then
		next.Version, next.Origin, next.was, next.activity = f.Version, f.Origin, f.was, "restored"
		next.note = values.Text("change_note")
		next.Links, next.CreatedAt, next.CreatedBy, next.UsageDashboard = f.Links, f.CreatedAt, f.CreatedBy, f.UsageDashboard
		next.Hidden, next.Context = f.Hidden, f.Context
		if err := s.saveFlag(tx, st, &next); err != nil {
			return nil, err
		}
		return s.look(&view{Tx: tx, Standing: st}).flag(&next)
	})
}

// dependent is a flag that depends on another one.
type dependent struct {
	ID     int64  `json:"id"`
	Key    string `json:"key"`
	Name   string `json:"name"`
	Active bool   `json:"active"`
}

// Dependents are the flags that depend on one directly, oldest first.
func (s Flags) Dependents(ctx context.Context, st *management.Standing, id int64) ([]dependent, error) {
	return management.Of(ctx, s.flags, st, pathOf(id), func(v *view, f *storedFlag) ([]dependent, error) {
		out := []dependent{}
		list, err := s.dependants(v.Tx, st, f)
		for _, other := range list {
			if !st.Sees(other.thing()) {
				continue
			}
			out = append(out, dependent{other.ID, other.Key, other.Name, other.Active})
		}
		return out, err
	})
}
