package featureflags

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// kindFlagVersion is the kind of the records of versions. Parent refers to the flag; ID and Sort
// are the version.
const kindFlagVersion = "flag_version"

// versionsParent returns the Parent of the records of a flag's versions.
func versionsParent(f *storedFlag) string { return fmt.Sprintf("project:%d/flag:%d", f.Project, f.ID) }

// storedVersion is a version of a flag as stored.
type storedVersion struct {
	// Version is the number of the version, from 1.
	Version int64 `json:"version"`
	// At is the time of the change.
	At management.Stamp `json:"created_at"`
	// By is the id of the user who made the change.
	By int64 `json:"created_by"`
	// Record and Meta are as in Definition.
	Record json.RawMessage `json:"record"`
	Meta   json.RawMessage `json:"meta"`
	// Note is the reason for the change, optional.
	Note string `json:"change_note,omitempty"`
}

// FlagVersion is a version of a flag, as the API returns it.
type FlagVersion struct {
	// Version is the number of the version, from 1.
	Version int64 `json:"version"`
	// CreatedAt is the time of the change, and CreatedBy the user who made it.
	CreatedAt management.Stamp     `json:"created_at"`
	CreatedBy *management.UserView `json:"created_by"`
	// Key and the following fields have the values that the flag had in this version.
	Key     string          `json:"key"`
	Name    string          `json:"name"`
	Filters json.RawMessage `json:"filters"`
	Active  bool            `json:"active"`
	Deleted bool            `json:"deleted"`
	Tags    []string        `json:"tags"`
	// Note is the reason for the change (spec/console.md N22); empty if the user gave no reason.
	Note string `json:"change_note"`
}

// RestoreFields are the fields of the request that restores a version.
var RestoreFields = management.Fields{{Name: "version", Type: management.Int, Required: true, Help: "number of an earlier version of the flag"}, changeNote}

// saveVersion stores the current state of a flag as its version. It overwrites the record if the
// write did not increment the version, for example if only links have changed.
func saveVersion(tx Tx, f *storedFlag) error {
	v := storedVersion{f.Version, f.UpdatedAt, f.ModifiedBy, f.record(), management.Encode(f.flagMeta), f.note}
	if v.Note == "" && f.before != nil && f.before.Version == f.Version { // keep the note if the version is the same
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

// deleteVersions deletes the records of all versions of a flag.
func deleteVersions(tx Tx, f *storedFlag) error {
	return tx.DeleteUnder(kindFlagVersion, versionsParent(f))
}

// flagAt returns the flag in the state of a version.
func (v *storedVersion) flagAt(f *storedFlag) (*storedFlag, error) {
	var header struct {
		Key     string `json:"key"`
		Deleted bool   `json:"deleted"`
	}
	if err := json.Unmarshal(v.Record, &header); err != nil {
		return nil, fmt.Errorf("the stored version %d of the flag %d is invalid: %w", v.Version, f.ID, err)
	}
	old, err := decodeFlag(f.Project, &Definition{ID: f.ID, Key: header.Key, Record: v.Record, Meta: v.Meta, Deleted: header.Deleted})
	if err == nil {
		old.Pins = f.Pins // pins are not part of versions
	}
	return old, err
}

// show returns a version as the API returns it.
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

// Versions returns a page of a flag's versions, newest first.
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

// Restore creates a new version with the contents of an earlier version (decision 27). The links of
// the flag to experiments, surveys and features, its creation and its dashboard do not change.
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
		// Only versions before the current one can be restored.
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
		// The fields that do not belong to a version keep their current values.
		next := *old
		next.Version, next.Origin, next.before, next.activity = f.Version, f.Origin, f.before, "restored"
		next.note = values.Text("change_note")
		next.Links, next.CreatedAt, next.CreatedBy = f.Links, f.CreatedAt, f.CreatedBy
		next.UsageDashboard, next.UsageEnriched = f.UsageDashboard, f.UsageEnriched
		next.Hidden, next.Context = f.Hidden, f.Context
		if err := s.saveFlag(tx, scope, &next); err != nil {
			return nil, err
		}
		return s.newRenderer(&view{Tx: tx, Scope: scope}).render(&next)
	})
}

// dependent is a flag that depends on another flag.
type dependent struct {
	ID   int64  `json:"id"`
	Key  string `json:"key"`
	Name string `json:"name"`
	// Active is absent if only active flags are listed.
	Active *bool `json:"active,omitempty"`
}

// Dependents returns the flags that directly depend on a flag and that the caller may see, oldest
// first. If onlyActive is set, it returns the active ones: while there is one, the flag cannot be
// deleted or switched off (spec/clients.md §7.2).
func (s Flags) Dependents(ctx context.Context, scope *management.Scope, id int64, onlyActive bool) ([]dependent, error) {
	return management.ReadOne(ctx, s.flags, scope, pathOf(id), func(v *view, f *storedFlag) ([]dependent, error) {
		out := []dependent{}
		list, err := s.loadDependents(v.Tx, scope, f)
		for _, other := range list {
			if !scope.CanSee(other.accessObject()) || onlyActive && !other.Active {
				continue
			}
			d := dependent{ID: other.ID, Key: other.Key, Name: other.Name}
			if !onlyActive {
				d.Active = &other.Active
			}
			out = append(out, d)
		}
		return out, err
	})
}
