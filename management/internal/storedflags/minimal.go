package storedflags

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// LoadMinimal returns a flag as it is embedded in other responses. It returns null if id is
// 0, if the flag is deleted, and if the caller may not see it; hidden is true only in the last
// case.
func LoadMinimal(v *resource.View[definitions.Tx], id int64) (_ json.RawMessage, hidden bool, err error) {
	null := json.RawMessage("null")
	if id == 0 {
		return null, false, nil
	}
	d, err := v.Tx.Definition(management.FlagDefinition, v.Project.ID, id)
	if err != nil || d == nil || d.Deleted {
		return null, false, err
	}
	f, err := Decode(v.Project.ID, d)
	switch {
	case err != nil:
		return nil, false, err
	case !v.CanSee(f.AccessObject()):
		return null, true, nil
	}
	return EncodeMinimal(f), false, nil
}

// minimalFlag is the short form of a flag in responses about other objects (§5.1.3).
type minimalFlag struct {
	ID         int64           `json:"id"`
	Team       int64           `json:"team_id"`
	Name       string          `json:"name"`
	Key        string          `json:"key"`
	Filters    json.RawMessage `json:"filters"`
	Deleted    bool            `json:"deleted"`
	Active     bool            `json:"active"`
	Continuity *bool           `json:"ensure_experience_continuity"`
	Encrypted  bool            `json:"has_encrypted_payloads"`
	Version    int64           `json:"version"`
	Runtime    string          `json:"evaluation_runtime"`
	Tags       []string        `json:"evaluation_tags"`
}

// EncodeMinimal returns a flag in its short form.
func EncodeMinimal(f *Flag) json.RawMessage {
	return storage.Encode(minimalFlag{
		f.ID, f.Project, f.Name, f.Key, f.Filters, f.Deleted, f.Active, f.Continuity, f.Encrypted, f.Version, f.EffectiveRuntime(), management.NonNilStrings(f.Contexts),
	})
}
