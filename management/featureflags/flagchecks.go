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
func (s Flags) check(tx Tx, st *management.Standing, f *storedFlag) error {
	var l faultList
	if err := s.checkAll(tx, st, f, &l); err != nil {
		return err
	}
	return l.first()
}

// checkAll is check that gathers all that is wrong. Its own error is the store's.
func (s Flags) checkAll(tx Tx, st *management.Standing, f *storedFlag, l *faultList) error {
	was := f.was
	if was == nil {
		was = &storedFlag{}
	}
	back := was.Deleted && !f.Deleted
	if back {
		f.Key = strings.TrimSuffix(f.Key, deletedSuffix(f))
	}
	if f.was == nil || f.Key != was.Key || back {
		if err := l.at("", s.checkKey(tx, st, f)); err != nil {
			return err
		}
	}
	if err := l.at("", f.checkSettings(was)); err != nil || l.full() {
		return err
	}
	if err := s.checkRules(tx, st, f, was, back, l); err != nil || l.full() {
		return err
	}
	if f.was == nil || was.Deleted {
		return nil
	}
	return l.at("", s.checkUses(tx, st, f))
}

// checkRules looks at what decides, where that has changed.
func (s Flags) checkRules(tx Tx, st *management.Standing, f, was *storedFlag, back bool, l *faultList) error {
	changed := !bytes.Equal(f.Filters, was.Filters)
	if changed {
		if !f.gatherFilters(l) || l.full() {
			return nil
		}
		if err := l.at("filters", f.checkLinked()); err != nil {
			return err
		}
	}
	if was.Key != f.Key && f.was != nil {
		if err := l.at("key", s.renamed(tx, st, f)); err != nil {
			return err
		}
	}
	if changed || f.Key != was.Key || back || f.Active && !was.Active {
		_, err := s.compileAll(tx, st, f, l)
		return err
	}
	return nil
}

func (s Flags) checkKey(tx Tx, st *management.Standing, f *storedFlag) error {
	if err := keyFault(f.Key); err != nil {
		return err
	}
	other, err := tx.DefinitionByKey(FlagDefinition, st.Project.ID, f.Key)
	if err == nil && other != nil && other.ID != f.ID {
		err = errKeyTaken()
	}
	return err
}

// keyFault is what is wrong with the key of a flag by itself.
func keyFault(key string) error {
	switch {
	case !flagKey.MatchString(key):
		return management.Coded("invalid_key", "key", "Only letters, numbers, hyphens (-) & underscores (_) are allowed.")
	case len(key) > maxFlagKey:
		return management.Coded(management.CodeMaxLength, "key", "Ensure this field has no more than %d characters.", maxFlagKey)
	}
	return nil
}

func errKeyTaken() error {
	return management.Coded(management.CodeUnique, "key", "There is already a feature flag with this key.")
}

// checkSettings looks at everything but key and filters.
func (f *storedFlag) checkSettings(was *storedFlag) error {
	switch {
	case len(f.Contexts) > maxContexts:
		return management.Coded(management.CodeMaxLength, "evaluation_contexts", "Ensure this field has no more than %d elements.", maxContexts)
	case slices.ContainsFunc(f.Contexts, func(text string) bool { return len([]rune(text)) > maxContextLength }):
		return management.Coded(management.CodeMaxLength, "evaluation_contexts", "Ensure this field has no more than %d characters.", maxContextLength)
	case f.Bucketing == "device_id" && f.Continuity != nil && *f.Continuity:
		return management.Fault("bucketing_identifier", "A flag that is bucketed by device cannot ensure experience continuity.")
	case f.Archived && f.Active && was.Archived: // what is switched on again comes out of the archive
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
	case shape.grouped():
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
func (s Flags) checkUses(tx Tx, st *management.Standing, f *storedFlag) error {
	gone, off := f.Deleted && !f.was.Deleted, f.was.Active && !f.Active
	if !gone && !off {
		return nil
	}
	if gone && liveCount(f.Links.Features) > 0 {
		return management.Fault("", "Cannot delete a feature flag that is in use with early access features. Please delete the early access feature before deleting the flag.")
	}
	if gone && liveCount(f.Links.Experiments) > 0 {
		var ids []string
		for _, link := range liveLinks(f.Links.Experiments) {
			ids = append(ids, string(link.ID))
		}
		return management.Fault("", "Cannot delete a feature flag that is linked to active experiment(s) with ID(s): %s. Please delete the experiment(s) before deleting the flag.", strings.Join(ids, ", "))
	}
	list, err := s.dependants(tx, st, f.was)
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
		if gone {
			verb = "delete"
		}
		return management.Fault("", "Cannot %s this feature flag because other active flags depend on it: %s", verb, strings.Join(names, ", "))
	}
	if gone && len(f.Links.Experiments) > 0 {
		f.Key += deletedSuffix(f)
	}
	return nil
}

// enrollment begins the name of the property by which persons choose early access
// themselves.
const enrollment = "$feature_enrollment/"

// renamed takes a new key along to what names the flag by its key: the property of
// early access. Other flags name it by its id, but for those of files, which
// cannot be changed here.
func (s Flags) renamed(tx Tx, st *management.Standing, f *storedFlag) error {
	list, err := s.dependants(tx, st, f.was)
	if err != nil {
		return err
	}
	for _, other := range list {
		if other.Origin != "" && other.names(f.was) {
			return management.Clash("The feature flag %q of the file %s depends on the key %q.", other.Key, other.Origin, f.was.Key)
		}
	}
	filters := anyObject(wire.Value(f.Filters))
	changed := false
	for _, group := range anyList(filters["super_groups"]) {
		for _, p := range anyList(anyObject(group)["properties"]) {
			if p := anyObject(p); p["key"] == enrollment+f.was.Key {
				p["key"], changed = enrollment+f.Key, true
			}
		}
	}
	if changed {
		f.Filters = wire.MustEncode(filters)
	}
	return nil
}
