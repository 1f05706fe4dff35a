package storedflags

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// Limits of the settings of a flag (spec/flags.md §1.5).
const (
	maxContexts      = 50
	maxContextLength = 255 // characters
)

// flagKey matches valid keys of flags. Their length is checked separately.
var flagKey = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// CheckKey checks the characters and the length of a flag's key.
func CheckKey(key string) error {
	switch {
	case !flagKey.MatchString(key):
		return management.CodedFault("invalid_key", "key", "Only letters, numbers, hyphens (-) & underscores (_) are allowed.")
	case len(key) > MaxKey:
		return management.CodedFault(management.CodeMaxLength, "key", "Ensure this field has no more than %d characters.", MaxKey)
	}
	return nil
}

// ErrDuplicateKey returns the error for a key that another flag of the project uses.
func ErrDuplicateKey() error {
	return management.CodedFault(management.CodeUnique, "key", "There is already a feature flag with this key.")
}

// CheckSettings checks all settings except the key and the filters. before is the flag before the
// change, or the zero value for a new flag.
func (f *Flag) CheckSettings(before *Flag) error {
	switch {
	case len(f.Contexts) > maxContexts:
		return management.CodedFault(management.CodeMaxLength, "evaluation_contexts", "Ensure this field has no more than %d elements.", maxContexts)
	case slices.ContainsFunc(f.Contexts, func(text string) bool { return len([]rune(text)) > maxContextLength }):
		return management.CodedFault(management.CodeMaxLength, "evaluation_contexts", "Ensure this field has no more than %d characters.", maxContextLength)
	// Experience continuity is tied to the person, not to the device.
	case f.Bucketing == "device_id" && f.Continuity != nil && *f.Continuity:
		return management.Fault("bucketing_identifier", "A flag that is bucketed by device cannot ensure experience continuity.")
	// The order matters: switching an archived flag on removes it from the archive, while a flag
	// that is on cannot be archived.
	case f.Archived && f.Active && before.Archived:
		f.Archived = false
	case f.Archived && f.Active:
		return ErrArchivedActive()
	}
	return nil
}

// deletedSuffix is appended to the key of a deleted flag that deleted experiments still
// reference, so that a new flag can use the key.
func deletedSuffix(f *Flag) string { return fmt.Sprintf(":deleted:%d", f.ID) }
