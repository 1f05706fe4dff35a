package featureflags

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// ApplyPatch applies a patch to f in memory, with the permissions of scope. It returns an error
// if the patch is empty, has members that a request cannot change, or if the result is not valid.
func (s Flags) ApplyPatch(tx storeTx, scope *management.Scope, f *storedflags.Flag, patch json.RawMessage) error {
	b := management.Body{Members: management.JSONObject(patch)}
	if len(b.Members) == 0 {
		return management.Fault("", "The patch is empty.")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Members)) {
		if slices.Contains(editingFields, name) || !slices.ContainsFunc(flagFields, func(f management.Field) bool { return f.Name == name }) {
			return management.Fault(name, "A change request cannot change this field.")
		}
	}
	if f.Origin != "" {
		return storedflags.ErrInFile(f)
	}
	if err := storedflags.CheckBody(&b, flags.FlagPart); err != nil {
		return err
	}
	v, err := flagFields.Change(b)
	if err != nil {
		return err
	}
	resource.Apply(flagFields, v, f)
	note := f.Note
	if err := s.apply(tx, scope, f, v); err != nil {
		return err
	}
	f.Note = note
	return s.stored.Check(tx, scope, f)
}

// Members returns the members of a flag as the API returns it.
func (s Flags) Members(v *view, f *storedflags.Flag) (map[string]json.RawMessage, error) {
	out, err := s.newRenderer(v).render(f)
	if err != nil {
		return nil, err
	}
	return management.JSONMembers(out)
}

// MembersAt returns the members of a flag at a version, or nil if that is not stored.
func (s Flags) MembersAt(v *view, f *storedflags.Flag, version int64) (map[string]json.RawMessage, error) {
	stored, err := management.Found[storedflags.Version](v.Tx.Get(storedflags.KindVersion, storedflags.VersionsParent(f), strconv.FormatInt(version, 10)))
	if err != nil || stored == nil {
		return nil, err
	}
	old, err := stored.FlagAt(f)
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", version, err)
	}
	return s.Members(v, old)
}
