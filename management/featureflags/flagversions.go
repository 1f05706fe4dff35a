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

func versionsParent(f *storedFlag) string { return fmt.Sprintf("project:%d/flag:%d", f.Project, f.ID) }

// storedVersion is a version as it is stored.
type storedVersion struct {
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

func saveVersion(tx Tx, f *storedFlag) error {
	v := storedVersion{f.Version, f.UpdatedAt, f.ModifiedBy, f.record(), management.Encode(f.flagMeta), f.note}
	if v.Note == "" && f.before != nil && f.before.Version == f.Version { // what makes no version says nothing of why it was made
		r, err := tx.Get(kindFlagVersion, versionsParent(f), strconv.FormatInt(f.Version, 10))
		if err != nil {
			return err
		}
		previous, err := management.Decode[storedVersion](r)
		if err != nil {
			return err
		}
		if previous != nil {
			v.Note = previous.Note
		}
	}
	return tx.Put(&management.Record{
		Kind: kindFlagVersion, Parent: versionsParent(f), ID: strconv.FormatInt(f.Version, 10), Sort: management.SortNumber(f.Version), Data: management.Encode(v),
	})
}

func deleteVersions(tx Tx, f *storedFlag) error {
	return tx.DeleteUnder(kindFlagVersion, versionsParent(f))
}

// flagAt is the flag as a version has it.
func (v *storedVersion) flagAt(f *storedFlag) (*storedFlag, error) {
	var header struct {
		Key     string `json:"key"`
		Deleted bool   `json:"deleted"`
	}
	if err := json.Unmarshal(v.Record, &header); err != nil {
		return nil, fmt.Errorf("version %d of the flag %d is not stored as it should be: %w", v.Version, f.ID, err)
	}
	old, err := decodeFlag(f.Project, &Definition{ID: f.ID, Key: header.Key, Record: v.Record, Meta: v.Meta, Deleted: header.Deleted})
	if err == nil {
		old.Pins = f.Pins // those of now
	}
	return old, err
}

// show is what a version says of its flag.
func (v *storedVersion) show(reader *view, f *storedFlag) (*FlagVersion, error) {
	old, err := v.flagAt(f)
	if err != nil {
		return nil, err
	}
	author, err := reader.Author(v.By)
	return &FlagVersion{v.Version, v.At, author, old.Key, old.Name, old.Filters, old.Active, old.Deleted, management.NonNilStrings(old.Tags), v.Note}, err
}

// Version returns one version of a flag (spec/clients.md §7.2).
func (s Flags) Version(ctx context.Context, scope *management.Scope, id, number int64) (*FlagVersion, error) {
	return management.ReadOne(ctx, s.flags, scope, pathOf(id), func(reader *view, f *storedFlag) (*FlagVersion, error) {
		record, err := reader.Tx.Get(kindFlagVersion, versionsParent(f), strconv.FormatInt(number, 10))
		if err == nil && record == nil {
			err = management.ErrNotFound()
		}
		if err != nil {
			return nil, err
		}
		v, err := management.Decode[storedVersion](record)
		if err != nil {
			return nil, err
		}
		return v.show(reader, f)
	})
}

// Versions returns a page of a flag's versions, the newest first.
func (s Flags) Versions(ctx context.Context, scope *management.Scope, id int64, p management.Page) (management.List[FlagVersion], error) {
	return management.ReadOne(ctx, s.flags, scope, pathOf(id), func(reader *view, f *storedFlag) (management.List[FlagVersion], error) {
		records, count, err := reader.Tx.List(management.Query{Kind: kindFlagVersion, Parent: versionsParent(f), Descending: true, Offset: p.Offset, Limit: p.Limit})
		out := management.List[FlagVersion]{Count: count}
		for i := range records {
			v, err := management.Decode[storedVersion](&records[i])
			if err != nil {
				return out, err
			}
			row, err := v.show(reader, f)
			if err != nil {
				return out, err
			}
			out.Results = append(out.Results, *row)
		}
		return out, err
	})
}

// Restore makes an earlier version the next one (decision 27). What uses the flag
// stays as it is.
func (s Flags) Restore(ctx context.Context, scope *management.Scope, id int64, b management.Body) (*Flag, error) {
	values, err := RestoreFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (*Flag, error) {
		f, err := s.loadFlag(tx, scope, id)
		if err != nil {
			return nil, err
		}
		number := values.Int("version")
		record, err := tx.Get(kindFlagVersion, versionsParent(f), strconv.FormatInt(number, 10))
		if err != nil {
			return nil, err
		}
		if record == nil || number >= f.Version {
			return nil, management.CodedFault(management.CodeDoesNotExist, "version", "The feature flag has no earlier version %d.", number)
		}
		v, err := management.Decode[storedVersion](record)
		if err != nil {
			return nil, err
		}
		old, err := v.flagAt(f)
		if err != nil {
			return nil, err
		}
		next := *old
		next.Version, next.Origin, next.before, next.activity = f.Version, f.Origin, f.before, "restored"
		next.note = values.Text("change_note")
		next.Links, next.CreatedAt, next.CreatedBy, next.UsageDashboard = f.Links, f.CreatedAt, f.CreatedBy, f.UsageDashboard
		next.Hidden, next.Context = f.Hidden, f.Context
		if err := s.saveFlag(tx, scope, &next); err != nil {
			return nil, err
		}
		return s.newRenderer(&view{Tx: tx, Scope: scope}).render(&next)
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
func (s Flags) Dependents(ctx context.Context, scope *management.Scope, id int64) ([]dependent, error) {
	return management.ReadOne(ctx, s.flags, scope, pathOf(id), func(v *view, f *storedFlag) ([]dependent, error) {
		out := []dependent{}
		list, err := s.loadDependents(v.Tx, scope, f)
		for _, other := range list {
			if !scope.CanSee(other.accessObject()) {
				continue
			}
			out = append(out, dependent{other.ID, other.Key, other.Name, other.Active})
		}
		return out, err
	})
}
