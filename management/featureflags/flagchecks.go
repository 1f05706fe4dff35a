package featureflags

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// What may be written of a flag (spec/flags.md §1.5).
const (
	maxFilters       = 512 << 10 // bytes
	maxContexts      = 50
	maxContextLength = 255 // characters
)

var flagKey = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// badFilters is a fault of a flag's filters.
func badFilters(format string, args ...any) *management.Error {
	return management.Fault("filters", format, args...)
}

// check looks whether a flag may be stored as it is now, given what it was: what
// is wrong is the caller's fault, of which the first is told. Filters are brought into
// their stored form.
func (s Flags) check(tx Tx, scope *management.Scope, f *storedFlag) error {
	var l faultList
	if err := s.checkAll(tx, scope, f, &l); err != nil {
		return err
	}
	return l.first()
}

// checkAll is check that gathers all that is wrong. Its own error is the store's.
func (s Flags) checkAll(tx Tx, scope *management.Scope, f *storedFlag, l *faultList) error {
	before := f.before
	if before == nil {
		before = &storedFlag{}
	}
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
	if f.before == nil || before.Deleted {
		return nil
	}
	return l.add("", s.checkUses(tx, scope, f))
}

// checkRules looks at what decides, where that has changed.
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
	if changed || f.Key != before.Key || restored || f.Active && !before.Active {
		_, err := s.compileAll(tx, scope, f, l)
		return err
	}
	return nil
}

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

// checkKeyFormat is what is wrong with the key of a flag by itself.
func checkKeyFormat(key string) error {
	switch {
	case !flagKey.MatchString(key):
		return management.CodedFault("invalid_key", "key", "Only letters, numbers, hyphens (-) & underscores (_) are allowed.")
	case len(key) > maxFlagKey:
		return management.CodedFault(management.CodeMaxLength, "key", "Ensure this field has no more than %d characters.", maxFlagKey)
	}
	return nil
}

func errDuplicateKey() error {
	return management.CodedFault(management.CodeUnique, "key", "There is already a feature flag with this key.")
}

// checkSettings looks at everything but key and filters.
func (f *storedFlag) checkSettings(before *storedFlag) error {
	switch {
	case len(f.Contexts) > maxContexts:
		return management.CodedFault(management.CodeMaxLength, "evaluation_contexts", "Ensure this field has no more than %d elements.", maxContexts)
	case slices.ContainsFunc(f.Contexts, func(text string) bool { return len([]rune(text)) > maxContextLength }):
		return management.CodedFault(management.CodeMaxLength, "evaluation_contexts", "Ensure this field has no more than %d characters.", maxContextLength)
	case f.Bucketing == "device_id" && f.Continuity != nil && *f.Continuity:
		return management.Fault("bucketing_identifier", "A flag that is bucketed by device cannot ensure experience continuity.")
	case f.Archived && f.Active && before.Archived: // what is switched on again comes out of the archive
		f.Archived = false
	case f.Archived && f.Active:
		return management.Fault("archived", "A feature flag has to be inactive to be archived.")
	}
	return nil
}

// checkLinked looks at what early access features do not go with.
func (f *storedFlag) checkLinked() error {
	if liveCount(f.Links.Features) == 0 {
		return nil
	}
	shape := f.shape()
	switch {
	case shape.isGrouped():
		return badFilters("Cannot change this flag to a group-based when linked to an Early Access Feature.")
	case len(shape.variants()) > 0:
		return badFilters("Multivariate feature flags are not supported for Early Access Features.")
	}
	return nil
}

// deletedSuffix is what the key of a deleted flag ends with when deleted
// experiments hold it.
func deletedSuffix(f *storedFlag) string { return fmt.Sprintf(":deleted:%d", f.ID) }

// checkUses refuses to delete or switch off what others need (§5.1.3).
func (s Flags) checkUses(tx Tx, scope *management.Scope, f *storedFlag) error {
	deleted, off := f.Deleted && !f.before.Deleted, f.before.Active && !f.Active
	if !deleted && !off {
		return nil
	}
	if deleted && liveCount(f.Links.Features) > 0 {
		return management.Fault("", "Cannot delete a feature flag that is in use with early access features. Please delete the early access feature before deleting the flag.")
	}
	if deleted && liveCount(f.Links.Experiments) > 0 {
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
		const most = 5
		var names []string
		for _, other := range list[:min(most, len(list))] {
			names = append(names, fmt.Sprintf("%s (ID: %d)", other.Key, other.ID))
		}
		if len(list) > most {
			names = append(names, fmt.Sprintf("and %d more", len(list)-most))
		}
		verb := "disable"
		if deleted {
			verb = "delete"
		}
		return management.Fault("", "Cannot %s this feature flag because other active flags depend on it: %s", verb, strings.Join(names, ", "))
	}
	if deleted && len(f.Links.Experiments) > 0 {
		f.Key += deletedSuffix(f)
	}
	return nil
}

// enrollment begins the name of the property by which persons choose early access
// themselves.
const enrollment = "$feature_enrollment/"

// renameReferences takes a new key along to what names the flag by its key: the property of
// early access. Other flags name it by its id, but for those of files, which
// cannot be changed here.
func (s Flags) renameReferences(tx Tx, scope *management.Scope, f *storedFlag) error {
	list, err := s.loadDependents(tx, scope, f.before)
	if err != nil {
		return err
	}
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
