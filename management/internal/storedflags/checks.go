package storedflags

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// Check validates a flag against its state before the change (f.before) and the other definitions
// of the project, and returns the first fault. It converts the filters into their stored form.
func (s Store) Check(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	var l Faults
	if err := s.CheckAll(tx, scope, f, &l); err != nil {
		return err
	}
	return l.First()
}

// CheckAll is like check but adds all faults to l, up to the limit of l. It returns only errors
// of the store. The order of the checks determines which fault the caller of check gets.
func (s Store) CheckAll(tx definitions.Tx, scope *management.Scope, f *Flag, l *Faults) error {
	before := f.Before
	if before == nil {
		before = &Flag{}
	}
	// A flag may have been deleted with a suffix (checkUses): restoring it removes the suffix.
	restored := before.Deleted && !f.Deleted
	if restored {
		f.Key = strings.TrimSuffix(f.Key, deletedSuffix(f))
	}
	if f.Before == nil || f.Key != before.Key || restored {
		if err := l.Add("", s.checkKey(tx, scope, f)); err != nil {
			return err
		}
	}
	if err := l.Add("", f.CheckSettings(before)); err != nil || l.isFull() {
		return err
	}
	if err := s.checkRules(tx, scope, f, before, restored, l); err != nil || l.isFull() {
		return err
	}
	// A new or restored flag has no dependents that could need it, and is not switched on.
	if f.Before == nil || before.Deleted {
		return nil
	}
	return l.Add("", s.checkUses(tx, scope, f))
}

// checkRules validates the parts of a flag that determine its value, if they have changed.
func (s Store) checkRules(tx definitions.Tx, scope *management.Scope, f, before *Flag, restored bool, l *Faults) error {
	changed := !bytes.Equal(f.Filters, before.Filters)
	if changed {
		if !f.GatherFilters(l) || l.isFull() {
			return nil
		}
		if err := l.Add("filters", f.checkLinked()); err != nil {
			return err
		}
	}
	if before.Key != f.Key && f.Before != nil {
		if err := l.Add("key", s.renameReferences(tx, scope, f)); err != nil {
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
func (s Store) checkKey(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	if err := CheckKey(f.Key); err != nil {
		return err
	}
	other, err := tx.DefinitionByKey(management.FlagDefinition, scope.Project.ID, f.Key)
	if err == nil && other != nil && other.ID != f.ID {
		err = ErrDuplicateKey()
	}
	return err
}

// ErrArchivedActive returns the error for a flag that would be both on and in the archive.
func ErrArchivedActive() error {
	return management.Fault("archived", "A feature flag must be inactive to be archived.")
}

// checkLinked returns an error if the flag has an early access feature and its filters use groups
// or variants, which such features do not support.
func (f *Flag) checkLinked() error {
	if LiveCount(f.Links.Features) == 0 {
		return nil
	}
	// Persons enroll by a property, which conditions for groups do not read.
	shape := f.Shape()
	switch {
	case shape.isGrouped():
		return BadFilters("Cannot change this flag to a group-based when linked to an Early Access Feature.")
	case len(shape.Variants()) > 0:
		return BadFilters("Multivariate feature flags are not supported for Early Access Features.")
	}
	return nil
}

// checkUses returns an error if the change deletes the flag or switches it off while other
// objects need it: early access features, experiments, or active flags that depend on it
// (§5.1.3, spec/clients.md §7.2). It returns an error, too, if the change switches the flag on while
// a flag that it depends on is off.
func (s Store) checkUses(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	deleted, off := f.Deleted && !f.Before.Deleted, f.Before.Active && !f.Active
	switch {
	case !deleted && !off:
		return checkEnabled(tx, scope, f)
	case deleted && LiveCount(f.Links.Features) > 0:
		return management.Fault("", "Cannot delete a feature flag that is in use with early access features. Please delete the early access feature before deleting the flag.")
	case deleted && LiveCount(f.Links.Experiments) > 0:
		var ids []string
		for _, link := range LiveLinks(f.Links.Experiments) {
			ids = append(ids, string(link.ID))
		}
		return management.Fault("", "Cannot delete a feature flag that is linked to active experiment(s) with ID(s): %s. Please delete the experiment(s) before deleting the flag.", strings.Join(ids, ", "))
	}
	list, err := s.Dependents(tx, scope, f.Before)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(other *Flag) bool { return !other.Active })
	if len(list) > 0 {
		verb := "disable"
		if deleted {
			verb = "delete"
		}
		return management.Fault("", "Cannot %s this feature flag because other flags depend on it: %s. Please update or disable the dependent flags first.", verb, flagNames(list, cmp.Or(f.Named, 5)))
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
func checkEnabled(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	if f.Before.Active || !f.Active || f.Deleted {
		return nil
	}
	e := &dependencies{tx: tx, project: scope.Project.ID, self: f}
	var off []*Flag
	for _, p := range f.Shape().properties("flag") {
		other, err := e.dependency(p)
		if err != nil {
			return err
		}
		if other != nil && other != f && !other.Active && !slices.ContainsFunc(off, func(x *Flag) bool { return x.ID == other.ID }) {
			off = append(off, other)
		}
	}
	if len(off) == 0 {
		return nil
	}
	return management.Fault("", "Cannot enable this feature flag because it depends on disabled flags: %s. Please enable the dependency flags first.", flagNames(off, 5))
}

// flagNames returns the keys and ids of flags for an error message, which names the first most.
func flagNames(list []*Flag, most int) string {
	var names []string
	for _, f := range list[:min(most, len(list))] {
		names = append(names, fmt.Sprintf("%s (ID: %d)", f.Key, f.ID))
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(names, ", ")
}

// renameReferences updates references to the flag's key after the key has changed: the enrollment
// property in its own super groups. Other flags refer to it by id, except for flags in
// definitions files. These cannot be changed here, so a reference to the old key is a conflict.
func (s Store) renameReferences(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	list, err := s.Dependents(tx, scope, f.Before)
	if err != nil {
		return err
	}
	// A reference by key in a file would no longer lead to this flag.
	for _, other := range list {
		if other.Origin != "" && other.dependsOnKeyOf(f.Before) {
			return management.Clash("The feature flag %q of the file %s depends on the key %q.", other.Key, other.Origin, f.Before.Key)
		}
	}
	filters := definitions.Object(wire.Value(f.Filters))
	changed := false
	for _, group := range definitions.List(filters["super_groups"]) {
		for _, p := range definitions.List(definitions.Object(group)["properties"]) {
			if p := definitions.Object(p); p["key"] == Enrollment+f.Before.Key {
				p["key"], changed = Enrollment+f.Key, true
			}
		}
	}
	if changed {
		f.Filters = wire.MustEncode(filters)
	}
	return nil
}
