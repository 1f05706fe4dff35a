package storedflags

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Clone returns a copy of a flag on which a change can be tried.
func (f *Flag) Clone() *Flag { g := *f; return &g }

// EditFilters calls change with the members of a flag's filters, and stores the result in the flag.
func (f *Flag) EditFilters(change func(map[string]json.RawMessage) error) error {
	filters := map[string]json.RawMessage{}
	if err := json.Unmarshal(f.Filters, &filters); err != nil {
		return err
	}
	if err := change(filters); err != nil {
		return err
	}
	f.Filters = storage.Encode(filters)
	return nil
}

// EditConditions calls change with the conditions of a flag, and stores the result in the flag.
func (f *Flag) EditConditions(change func([]json.RawMessage) ([]json.RawMessage, error)) error {
	return f.EditFilters(func(filters map[string]json.RawMessage) (err error) {
		var groups []json.RawMessage
		if raw := filters["groups"]; raw != nil {
			if err := json.Unmarshal(raw, &groups); err != nil {
				return err
			}
		}
		if groups, err = change(slices.Clone(groups)); err == nil {
			filters["groups"] = storage.Encode(groups)
		}
		return err
	})
}
