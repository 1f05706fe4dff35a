package featureflags

import (
	"context"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// flagCheck is the list of all faults of a flag that is to be saved.
type flagCheck struct {
	Faults []storedflags.FlagFault `json:"faults"`
}

// checkFields are the fields of a flag and the id of the flag that the body would change.
var checkFields = append(management.Fields{{Name: "id", Type: management.Int, Null: true, Custom: true, Help: "id of the flag that the body would change; absent for a new flag"}}, flagFields...)

// Check validates the body of a flag that would be created, or changed if the body has an id, and
// returns all faults with their paths. It writes nothing to the store (spec/console.md N9).
func (s Flags) Check(ctx context.Context, scope *management.Scope, b management.Body) (*flagCheck, error) {
	// Fields with faults are absent from values, so the remaining ones can still be checked.
	values, faults := checkFields.ReadAll(b, management.EmptyJSON(b.Members["id"]))
	if values == nil { // the body is not an object
		return nil, faults[0]
	}
	return management.Read(ctx, &s.Env, func(tx storeTx) (*flagCheck, error) {
		l := &storedflags.Faults{Limit: storedflags.MaxFaults}
		f, err := s.loadForCheck(tx, scope, values, l)
		if f == nil || err != nil {
			return &flagCheck{l.Show()}, err
		}
		// The id and the API key in the body are not members of a flag.
		storedflags.FindUnknownKeys(flags.FlagPart, storage.Encode(definitions.Omit(definitions.Omit(b.Members, "personal_api_key"), "id")), nil, l)
		for _, fault := range faults {
			if err := l.Add("", fault); err != nil {
				return nil, err
			}
		}
		resource.Apply(flagFields, values, f)
		if err := l.Add("", s.apply(tx, scope, f, values)); err != nil {
			return nil, err
		}
		if f.Before == nil && f.Filters == nil { // already reported by apply
			// Continue with valid filters, so that further faults are found.
			f.Filters = []byte(`{"groups":[]}`)
		}
		err = s.stored.CheckAll(tx, scope, f, l)
		return &flagCheck{l.Show()}, err
	})
}

// loadForCheck returns the flag that a body would change, or a new one. It returns nil and adds a
// fault if the flag does not exist or the caller may not see it.
func (s Flags) loadForCheck(tx storeTx, scope *management.Scope, v management.Values, l *storedflags.Faults) (*storedflags.Flag, error) {
	if !v.Has("id") || v.IsNull("id") {
		return &storedflags.Flag{Project: scope.Project.ID, Active: true}, nil
	}
	f, err := s.stored.Load(tx, scope, v.Int("id"))
	if err == nil {
		err = scope.RequireAccess(management.Viewer, f.AccessObject())
	}
	if err != nil { // the faults of a flag that the caller may not see would show its contents
		return nil, l.Add("id", err)
	}
	if f.Origin != "" {
		return f, l.Add("", storedflags.ErrInFile(f))
	}
	return f, nil
}
