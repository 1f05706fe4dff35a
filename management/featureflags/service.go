package featureflags

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Bodies are the fields of the bodies of requests.
var Bodies = struct {
	BlastRadius, BulkChange, BulkDelete, BulkKeys, BulkTags, Check, Copy, Document, Explain, Flag, Pin, Restore, Who management.Fields
}{
	BlastRadius: blastRadiusFields, BulkChange: bulkChangeFields, BulkDelete: bulkDeleteFields, BulkKeys: bulkKeysFields, BulkTags: bulkTagsFields, Check: checkFields, Copy: copyFields, Document: documentFields, Explain: explainFields, Flag: flagFields, Pin: pinFields, Restore: restoreFields, Who: whoFields,
}

// New creates a Flags.
func New(c Config) *Flags {
	if c.HasDashboard == nil {
		c.HasDashboard = func(management.Tx, int64, int64) (bool, error) { return false, nil }
	}
	if c.SurveyObject == nil {
		c.SurveyObject = func(storeTx, *management.Scope, string) (*management.AccessObject, error) { return nil, nil }
	}
	s := &core{Config: c}
	s.stored = storedflags.Store{Env: &s.Env}
	s.flags = Flags{s}.resource()
	return &Flags{s}
}

// Finders returns the function that looks up flags for access rules, by their kind.
func (s Flags) Finders() map[string]management.Finder {
	return map[string]management.Finder{storedflags.Kind: s.flags.Finder()}
}
