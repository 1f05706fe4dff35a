package featureflags

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

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
	// Archived flags are not active.
	Archived bool     `json:"archived"`
	Tags     []string `json:"tags"`
	// Continuity and the following fields are as in Flag.
	Continuity    bool     `json:"ensure_experience_continuity"`
	Runtime       string   `json:"evaluation_runtime"`
	RemoteConfig  bool     `json:"is_remote_configuration"`
	Hash          *string  `json:"bucketing_hash"`
	Bucketing     *string  `json:"bucketing_identifier"`
	Contexts      []string `json:"evaluation_contexts"`
	ContextsMatch string   `json:"evaluation_contexts_match_mode"`
	// Note is the reason for the change (spec/console.md N22); empty if the user gave no reason.
	Note string `json:"change_note"`
}

// restoreFields are the fields of the request that restores a version.
var restoreFields = management.Fields{{Name: "version", Type: management.Int, Required: true, Help: "number of an earlier version of the flag"}, storedflags.NoteField}

// showVersion returns a version as the API returns it.
func showVersion(v *storedflags.Version, reader *view, f *storedflags.Flag) (*FlagVersion, error) {
	old, err := v.FlagAt(f)
	if err != nil {
		return nil, err
	}
	author, err := reader.Author(v.By)
	return &FlagVersion{
		Version: v.Version, CreatedAt: v.At, CreatedBy: author, Key: old.Key, Name: old.Name, Filters: old.Filters, Active: old.Active, Deleted: old.Deleted,
		Archived: old.Archived, Tags: management.NonNilStrings(old.Tags), Continuity: old.Continuity != nil && *old.Continuity, Runtime: old.EffectiveRuntime(),
		RemoteConfig: old.RemoteConfig, Hash: textOrNil(old.Hash), Bucketing: textOrNil(old.Bucketing), Contexts: management.NonNilStrings(old.Contexts),
		ContextsMatch: cmp.Or(old.ContextsMatch, "any"), Note: v.Note,
	}, err
}

// Version returns one version of a flag (spec/clients.md §7.2).
func (s Flags) Version(ctx context.Context, scope *management.Scope, id, number int64) (*FlagVersion, error) {
	return resource.ReadOne(ctx, s.flags, scope, pathOf(id), func(reader *view, f *storedflags.Flag) (*FlagVersion, error) {
		v, err := records.Existing(management.Found[storedflags.Version](reader.Tx.Get(storedflags.KindVersion, storedflags.VersionsParent(f), strconv.FormatInt(number, 10))))
		if err != nil {
			return nil, err
		}
		return showVersion(v, reader, f)
	})
}

// Versions returns a page of a flag's versions, newest first.
func (s Flags) Versions(ctx context.Context, scope *management.Scope, id int64, p management.Page) (management.List[FlagVersion], error) {
	return resource.ReadOne(ctx, s.flags, scope, pathOf(id), func(reader *view, f *storedflags.Flag) (management.List[FlagVersion], error) {
		records, count, err := reader.Tx.List(management.Query{Kind: storedflags.KindVersion, Parent: storedflags.VersionsParent(f), Descending: true, Offset: p.Offset, Limit: p.Limit})
		out := management.List[FlagVersion]{Count: count}
		for i := range records {
			v, err := management.Decode[storedflags.Version](&records[i])
			if err != nil {
				return out, err
			}
			row, err := showVersion(v, reader, f)
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
	values, err := restoreFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx storeTx) (*Flag, error) {
		f, err := s.stored.Load(tx, scope, id)
		if err != nil {
			return nil, err
		}
		number := values.Int("version")
		// Only versions before the current one can be restored.
		record, err := tx.Get(storedflags.KindVersion, storedflags.VersionsParent(f), strconv.FormatInt(number, 10))
		if err != nil {
			return nil, err
		}
		if record == nil || number >= f.Version {
			return nil, management.CodedFault(management.CodeDoesNotExist, "version", "The feature flag has no earlier version %d.", number)
		}
		v, err := management.Decode[storedflags.Version](record)
		if err != nil {
			return nil, err
		}
		old, err := v.FlagAt(f)
		if err != nil {
			return nil, err
		}
		// The fields that do not belong to a version keep their current values.
		next := *old
		next.Version, next.Origin, next.Before, next.Activity = f.Version, f.Origin, f.Before, "restored"
		next.Note = values.Text("change_note")
		next.Links, next.CreatedAt, next.CreatedBy = f.Links, f.CreatedAt, f.CreatedBy
		next.UsageDashboard, next.UsageEnriched = f.UsageDashboard, f.UsageEnriched
		next.Hidden, next.Context = f.Hidden, f.Context
		if err := s.stored.Save(tx, scope, &next); err != nil {
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
	return resource.ReadOne(ctx, s.flags, scope, pathOf(id), func(v *view, f *storedflags.Flag) ([]dependent, error) {
		out := []dependent{}
		list, err := s.stored.Dependents(v.Tx, scope, f)
		for _, other := range list {
			if !scope.CanSee(other.AccessObject()) || onlyActive && !other.Active {
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
