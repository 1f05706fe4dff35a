package featureflags

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// Limits of the settings of a flag (spec/flags.md §1.5).
const (
	maxFilters       = 512 << 10 // bytes
	maxContexts      = 50
	maxContextLength = 255 // characters
)

// flagKey matches valid keys of flags. Their length is checked separately.
var flagKey = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// badFilters returns an error for the field filters, with the code for invalid input.
func badFilters(format string, args ...any) *management.Error {
	return management.Fault("filters", format, args...)
}

// check validates a flag against its state before the change (f.before) and the other definitions
// of the project, and returns the first fault. It converts the filters into their stored form.
func (s Flags) check(tx Tx, scope *management.Scope, f *storedFlag) error {
	var l faultList
	if err := s.checkAll(tx, scope, f, &l); err != nil {
		return err
	}
	return l.first()
}

// checkAll is like check but adds all faults to l, up to the limit of l. It returns only errors
// of the store. The order of the checks determines which fault the caller of check gets.
func (s Flags) checkAll(tx Tx, scope *management.Scope, f *storedFlag, l *faultList) error {
	before := f.before
	if before == nil {
		before = &storedFlag{}
	}
	// A flag may have been deleted with a suffix (checkUses): restoring it removes the suffix.
	restored := before.Deleted && !f.Deleted
	if restored {
		f.Key = strings.TrimSuffix(f.Key, deletedSuffix(f))
	}
	if f.before == nil || f.Key != before.Key || restored {
		if err := l.add("", s.checkKey(tx, scope, f)); err != nil {
			return err
		}
	}
	if err := l.add("", f.checkSettings(before)); err != nil || l.isFull() {
		return err
	}
	if err := s.checkRules(tx, scope, f, before, restored, l); err != nil || l.isFull() {
		return err
	}
	// A new or restored flag has no dependents that could need it, and is not switched on.
	if f.before == nil || before.Deleted {
		return nil
	}
	return l.add("", s.checkUses(tx, scope, f))
}

// checkRules validates the parts of a flag that determine its value, if they have changed.
func (s Flags) checkRules(tx Tx, scope *management.Scope, f, before *storedFlag, restored bool, l *faultList) error {
	changed := !bytes.Equal(f.Filters, before.Filters)
	if changed {
		if !f.gatherFilters(l) || l.isFull() {
			return nil
		}
		if err := l.add("filters", f.checkLinked()); err != nil {
			return err
		}
	}
	if before.Key != f.Key && f.before != nil {
		if err := l.add("key", s.renameReferences(tx, scope, f)); err != nil {
			return err
		}
	}
	// Compiling reads all dependencies, so it is done only if the result can differ.
	if changed || f.Key != before.Key || restored || f.Active && !before.Active {
		_, err := s.compileAll(tx, scope, f, l)
		return err
	}
	return nil
}

// checkKey checks the format of the flag's key and that no other flag of the project uses it.
// Deleted flags do not count.
func (s Flags) checkKey(tx Tx, scope *management.Scope, f *storedFlag) error {
	if err := checkKeyFormat(f.Key); err != nil {
		return err
	}
	other, err := tx.DefinitionByKey(FlagDefinition, scope.Project.ID, f.Key)
	if err == nil && other != nil && other.ID != f.ID {
		err = errDuplicateKey()
	}
	return err
}

// checkKeyFormat checks the characters and the length of a flag's key.
func checkKeyFormat(key string) error {
	switch {
	case !flagKey.MatchString(key):
		return management.CodedFault("invalid_key", "key", "Only letters, numbers, hyphens (-) & underscores (_) are allowed.")
	case len(key) > maxFlagKey:
		return management.CodedFault(management.CodeMaxLength, "key", "Ensure this field has no more than %d characters.", maxFlagKey)
	}
	return nil
}

// errDuplicateKey returns the error for a key that another flag of the project uses.
func errDuplicateKey() error {
	return management.CodedFault(management.CodeUnique, "key", "There is already a feature flag with this key.")
}

// checkSettings checks all settings except the key and the filters. before is the flag before the
// change, or the zero value for a new flag.
func (f *storedFlag) checkSettings(before *storedFlag) error {
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
		return errArchivedActive()
	}
	return nil
}

// errArchivedActive returns the error for a flag that would be both on and in the archive.
func errArchivedActive() error {
	return management.Fault("archived", "A feature flag must be inactive to be archived.")
}

// checkLinked returns an error if the flag has an early access feature and its filters use groups
// or variants, which such features do not support.
func (f *storedFlag) checkLinked() error {
	if liveCount(f.Links.Features) == 0 {
		return nil
	}
	// Persons enroll by a property, which conditions for groups do not read.
	shape := f.shape()
	switch {
	case shape.isGrouped():
		return badFilters("Cannot change this flag to a group-based when linked to an Early Access Feature.")
	case len(shape.variants()) > 0:
		return badFilters("Multivariate feature flags are not supported for Early Access Features.")
	}
	return nil
}

// deletedSuffix is appended to the key of a deleted flag that deleted experiments still
// reference, so that a new flag can use the key.
func deletedSuffix(f *storedFlag) string { return fmt.Sprintf(":deleted:%d", f.ID) }

// checkUses returns an error if the change deletes the flag or switches it off while other
// objects need it: early access features, experiments, or active flags that depend on it
// (§5.1.3, spec/clients.md §7.2). It returns an error, too, if the change switches the flag on while
// a flag that it depends on is off.
func (s Flags) checkUses(tx Tx, scope *management.Scope, f *storedFlag) error {
	deleted, off := f.Deleted && !f.before.Deleted, f.before.Active && !f.Active
	switch {
	case !deleted && !off:
		return checkEnabled(tx, scope, f)
	case deleted && liveCount(f.Links.Features) > 0:
		return management.Fault("", "Cannot delete a feature flag that is in use with early access features. Please delete the early access feature before deleting the flag.")
	case deleted && liveCount(f.Links.Experiments) > 0:
		var ids []string
		for _, link := range liveLinks(f.Links.Experiments) {
			ids = append(ids, string(link.ID))
		}
		return management.Fault("", "Cannot delete a feature flag that is linked to active experiment(s) with ID(s): %s. Please delete the experiment(s) before deleting the flag.", strings.Join(ids, ", "))
	}
	list, err := s.loadDependents(tx, scope, f.before)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(other *storedFlag) bool { return !other.Active })
	if len(list) > 0 {
		verb := "disable"
		if deleted {
			verb = "delete"
		}
		return management.Fault("", "Cannot %s this feature flag because other flags depend on it: %s. Please update or disable the dependent flags first.", verb, flagNames(list, cmp.Or(f.named, 5)))
	}
	// Only deleted experiments are left: they still reference the flag, so that it can be
	// restored with them. The key becomes free for a new flag.
	if deleted && len(f.Links.Experiments) > 0 {
		f.Key += deletedSuffix(f)
	}
	return nil
}

// checkEnabled returns an error if the change switches the flag on while flags on which it directly
// depends are off: these would determine its value, and not its own conditions.
func checkEnabled(tx Tx, scope *management.Scope, f *storedFlag) error {
	if f.before.Active || !f.Active || f.Deleted {
		return nil
	}
	e := &dependencies{tx: tx, project: scope.Project.ID, self: f}
	var off []*storedFlag
	for _, p := range f.shape().properties("flag") {
		other, err := e.dependency(p)
		if err != nil {
			return err
		}
		if other != nil && other != f && !other.Active && !slices.ContainsFunc(off, func(x *storedFlag) bool { return x.ID == other.ID }) {
			off = append(off, other)
		}
	}
	if len(off) == 0 {
		return nil
	}
	return management.Fault("", "Cannot enable this feature flag because it depends on disabled flags: %s. Please enable the dependency flags first.", flagNames(off, 5))
}

// flagNames returns the keys and ids of flags for an error message, which names the first most.
func flagNames(list []*storedFlag, most int) string {
	var names []string
	for _, f := range list[:min(most, len(list))] {
		names = append(names, fmt.Sprintf("%s (ID: %d)", f.Key, f.ID))
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(names, ", ")
}

// enrollment is the prefix of the person property that records a person's choice to enroll in an
// early access feature. The flag's key follows.
const enrollment = "$feature_enrollment/"

// renameReferences updates references to the flag's key after the key has changed: the enrollment
// property in its own super groups. Other flags refer to it by id, except for flags in
// definitions files. These cannot be changed here, so a reference to the old key is a conflict.
func (s Flags) renameReferences(tx Tx, scope *management.Scope, f *storedFlag) error {
	list, err := s.loadDependents(tx, scope, f.before)
	if err != nil {
		return err
	}
	// A reference by key in a file would no longer lead to this flag.
	for _, other := range list {
		if other.Origin != "" && other.dependsOnKeyOf(f.before) {
			return management.Clash("The feature flag %q of the file %s depends on the key %q.", other.Key, other.Origin, f.before.Key)
		}
	}
	filters := anyObject(wire.Value(f.Filters))
	changed := false
	for _, group := range anyList(filters["super_groups"]) {
		for _, p := range anyList(anyObject(group)["properties"]) {
			if p := anyObject(p); p["key"] == enrollment+f.before.Key {
				p["key"], changed = enrollment+f.Key, true
			}
		}
	}
	if changed {
		f.Filters = wire.MustEncode(filters)
	}
	return nil
}
