package featureflags

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// This file applies a document of flags and cohorts to a project (decision 27).

// Apply changes the project's flags and cohorts to match a document, in one transaction. Flags and
// cohorts that the document does not contain stay, but if prune is set, such flags are deleted.
func (s Flags) Apply(ctx context.Context, scope *management.Scope, b management.Body, prune bool) (*DocumentResult, error) {
	parsed, err := readDocument(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (*DocumentResult, error) { return s.applyDocument(tx, scope, parsed, prune, nil) })
}

// parsedDocument is a document as sent, checked and in canonical form.
type parsedDocument struct {
	cohorts, flags []namedEntry
	groupTypes     map[int]string
	settings       map[string]json.RawMessage // the members in documentSettings
	warnings       []string
}

// readDocument reads a document and converts its flags and cohorts to the canonical form, which
// document uses too.
func readDocument(b management.Body) (*parsedDocument, error) {
	v, err := DocumentFields.Create(b)
	if err != nil {
		return nil, err
	}
	out := &parsedDocument{settings: map[string]json.RawMessage{}}
	if v.Has("group_type_mapping") && !v.IsNull("group_type_mapping") && json.Unmarshal(v.Raw("group_type_mapping"), &out.groupTypes) != nil {
		return nil, management.Fault("group_type_mapping", "Expected names of group types by index.")
	}
	for _, name := range documentSettings {
		if v.Has(name) {
			out.settings[name] = v.Raw(name)
		}
	}
	for _, list := range []struct {
		field, name, kind string
		part              flags.Part
		to                *[]namedEntry
		canonical         func(entry) (entry, error)
	}{
		{"cohorts", "name", "cohort", flags.CohortPart, &out.cohorts, func(o entry) (entry, error) { canonicalCohort(o); return o, nil }},
		{"flags", "key", "flag", flags.FlagPart, &out.flags, canonicalSentFlag},
	} {
		seen := map[string]bool{}
		for i, raw := range v.Objects(list.field) {
			o, _ := wire.Value(raw).(entry)
			name, _ := o[list.name].(string)
			if name == "" || seen[name] {
				return nil, management.Fault(fmt.Sprintf("%s__%d__%s", list.field, i, list.name), "A unique %s is required.", list.name)
			}
			seen[name] = true
			err := checkUnknownKeys(list.part, raw, func(text string) { out.warn(fmt.Sprintf("%s %q: %s", list.kind, name, text)) })
			if err != nil {
				return nil, wrapFault(list.kind, name, err)
			}
			if o, err = list.canonical(o); err != nil {
				return nil, wrapFault(list.kind, name, err)
			}
			for _, own := range notInDocuments {
				delete(o, own)
			}
			*list.to = append(*list.to, namedEntry{name, o})
		}
	}
	return out, nil
}

// maxDocumentWarnings limits the warnings about a document.
const maxDocumentWarnings = 100

func (w *parsedDocument) warn(text string) {
	switch n := len(w.warnings); {
	case n < maxDocumentWarnings:
		w.warnings = append(w.warnings, text)
	case n == maxDocumentWarnings:
		w.warnings = append(w.warnings, "there is more that had no effect")
	}
}

// documentApplier applies one document to a project. It first puts all changes into a buffered
// transaction and then checks them against the resulting state, so that the order of a document has
// no effect.
type documentApplier struct {
	Flags
	tx      *bufferedTx
	scope   *management.Scope
	parsed  *parsedDocument
	current *document
	out     *DocumentResult
	cohorts []*cohortDraft // cohorts and flags that change
	flags   []*storedFlag
	// approved is storedFlag.approved of all flags.
	approved *approval
}

// cohortDraft is a cohort that a document creates or changes.
type cohortDraft struct {
	*storedCohort
	original storedCohort
	values   management.Values
	before   *Cohort // nil for a new cohort
}

// applyDocument applies a document to a project. approved is the approval of changes to its flags,
// or nil.
func (s Flags) applyDocument(tx Tx, scope *management.Scope, parsed *parsedDocument, prune bool, approved *approval) (*DocumentResult, error) {
	buffer, err := newBufferedTx(tx, scope.Project.ID)
	if err != nil {
		return nil, err
	}
	current, err := s.document(buffer, scope)
	if err != nil {
		return nil, err
	}
	a := &documentApplier{Flags: s, tx: buffer, scope: scope, approved: approved, parsed: parsed, current: current, out: &DocumentResult{Changes: []documentChange{}, Warnings: slices.Clone(parsed.warnings)}}
	steps := []func() error{a.compareSettings, a.reserveIDs, a.draftCohorts, a.draftFlags, a.saveCohorts, a.saveFlags, buffer.flush}
	if prune {
		steps = slices.Insert(steps, 4, a.draftPruned)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(a.out.Changes, func(a, b documentChange) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return a.out, nil
}

// wrapFault adds the kind and the name of the faulty flag or cohort to the message of an error.
func wrapFault(kind, name string, err error) error {
	if fault, ok := errors.AsType[*management.Error](err); ok {
		wrapped := *fault
		wrapped.Message = fmt.Sprintf("%s %q: %s", kind, name, fault.Message)
		return &wrapped
	}
	return err
}

// reserveIDs reserves ids for new flags and cohorts first, so that references to them can be
// resolved.
func (a *documentApplier) reserveIDs() error {
	var newCohorts, newFlags []string
	for _, c := range a.parsed.cohorts {
		if a.current.storedCohorts[c.name] == nil {
			newCohorts = append(newCohorts, c.name)
		}
	}
	for _, f := range a.parsed.flags {
		switch {
		case a.current.storedFlags[f.name] != nil:
		case a.current.flagIDs[f.name] != 0: // a hidden flag
			return wrapFault("flag", f.name, errDuplicateKey())
		default:
			newFlags = append(newFlags, f.name)
		}
	}
	for _, list := range []struct {
		kind  DefinitionKind
		names []string
		ids   map[string]int64
	}{{CohortDefinition, newCohorts, a.current.cohortIDs}, {FlagDefinition, newFlags, a.current.flagIDs}} {
		if len(list.names) == 0 {
			continue
		}
		first, err := a.tx.ReserveDefinitionIDs(list.kind, len(list.names))
		if err != nil {
			return err
		}
		for i, name := range list.names {
			list.ids[name] = first + int64(i)
		}
	}
	return nil
}

// recordChange adds the change of a flag or cohort to the result, and reports whether there is a
// change.
func (a *documentApplier) recordChange(kind, activityScope string, w *namedEntry, current entry) (bool, error) {
	var before any // a nil map in an interface would count as an existing object
	action := "create"
	if current != nil {
		before, action = current, "update"
	}
	list, err := management.Changes(activityScope, before, w.entry)
	if err != nil {
		return false, err
	}
	if current != nil && len(list) == 0 {
		a.out.Unchanged++
		return false, nil
	}
	a.out.Changes = append(a.out.Changes, documentChange{Kind: kind, Name: w.name, Action: action, Changes: list})
	return true, nil
}

// draftCohorts writes the cohorts that change to the buffered transaction.
func (a *documentApplier) draftCohorts() error {
	for i := range a.parsed.cohorts {
		w := a.parsed.cohorts[i]
		current := a.current.cohorts[w.name]
		if err := a.expandMembers(&w, current); err != nil {
			return err
		}
		if changed, err := a.recordChange("cohort", cohortActivityScope, &w, current); err != nil || !changed {
			if err != nil {
				return err
			}
			continue
		}
		c, err := a.draftCohort(&w)
		if err != nil {
			return wrapFault("cohort", w.name, err)
		}
		a.cohorts = append(a.cohorts, c)
	}
	return nil
}

// draftCohort returns a cohort with the contents of the document.
func (a *documentApplier) draftCohort(w *namedEntry) (*cohortDraft, error) {
	stored := a.current.storedCohorts[w.name]
	c, object := &cohortDraft{storedCohort: stored}, management.AccessObject{Kind: kindCohort}
	if stored != nil {
		object = stored.accessObject()
	}
	if err := a.scope.RequireAccess(management.Editor, object); err != nil {
		return nil, err
	}
	switch {
	case stored == nil:
		c.storedCohort = &storedCohort{cohortMeta: cohortMeta{CreatedAt: management.NewStamp(a.Env.Now()), CreatedBy: a.scope.User.ID}}
		c.ID = a.current.cohortIDs[w.name]
	case stored.origin != "":
		return nil, management.Clash("It is defined in the file %s and can only be changed there.", stored.origin)
	default:
		c.before = stored.toView()
	}
	c.original = *c.storedCohort
	filters, err := a.current.resolveNames(w.entry["filters"])
	if err != nil {
		return nil, err
	}
	body := management.Body{Members: map[string]json.RawMessage{"filters": management.Encode(filters)}}
	for name, value := range w.entry {
		if name != "filters" {
			body.Members[name] = management.Encode(value)
		}
	}
	if c.values, err = CohortFields.Change(body); err != nil {
		return nil, err
	}
	c.assign(c.values)
	if w.entry["cohort_type"] == realtime {
		kind := realtime
		c.Type = &kind
	}
	if err := c.draftMembers(a, w); err != nil {
		return nil, err
	}
	return c, c.store(a.tx, a.scope)
}

// draftFlags writes the flags that change to the buffered transaction.
func (a *documentApplier) draftFlags() error {
	for i := range a.parsed.flags {
		w := &a.parsed.flags[i]
		if f := a.current.storedFlags[w.name]; f != nil && !a.scope.CanSee(f.accessObject()) {
			return wrapFault("flag", w.name, a.scope.RequireAccess(management.Viewer, f.accessObject()))
		}
		w.completeArchived(a.current.flags[w.name])
		if changed, err := a.recordChange("flag", flagActivityScope, w, a.current.flags[w.name]); err != nil || !changed {
			if err != nil {
				return err
			}
			continue
		}
		f, err := a.draftFlag(w)
		if err != nil {
			return wrapFault("flag", w.name, err)
		}
		a.flags = append(a.flags, f)
	}
	return nil
}

// draftFlag returns a flag with the contents of the document; members that the document omits have
// their defaults.
func (a *documentApplier) draftFlag(w *namedEntry) (*storedFlag, error) {
	f := &storedFlag{ID: a.current.flagIDs[w.name], Key: w.name}
	if a.current.storedFlags[w.name] != nil {
		var err error
		if f, err = a.loadFlag(a.tx, a.scope, f.ID); err != nil {
			return nil, err
		}
	} else if err := a.purge(a.tx, a.scope, w.name); err != nil {
		return nil, err
	}
	record := maps.Clone(w.entry)
	delete(record, "tags")
	var err error
	if record["filters"], err = a.current.resolveNames(w.entry["filters"]); err != nil {
		return nil, err
	}
	next, err := decodeFlag(a.scope.Project.ID, &Definition{ID: f.ID, Key: f.Key, Record: wire.MustEncode(record), Meta: management.Encode(f.flagMeta), Origin: f.Origin})
	if err != nil {
		return nil, err
	}
	next.Version, next.before, next.Tags, next.Archived = f.Version, f.before, nil, w.entry["archived"] == true
	for _, tag := range anyList(w.entry["tags"]) {
		text, _ := tag.(string)
		next.Tags = append(next.Tags, text)
	}
	return next, a.tx.PutDefinition(FlagDefinition, a.scope.Project.ID, next.definition())
}

// draftPruned deletes the flags that a document does not contain, except flags of files.
func (a *documentApplier) draftPruned() error {
	keep := map[string]bool{}
	for _, f := range a.parsed.flags {
		keep[f.name] = true
	}
	for _, key := range slices.Sorted(maps.Keys(a.current.flags)) {
		if keep[key] || a.current.storedFlags[key].Origin != "" {
			continue
		}
		f, err := a.loadFlag(a.tx, a.scope, a.current.storedFlags[key].ID)
		if err != nil {
			return err
		}
		f.Deleted = true
		if err := a.tx.PutDefinition(FlagDefinition, a.scope.Project.ID, f.definition()); err != nil {
			return err
		}
		a.flags = append(a.flags, f)
		a.out.Changes = append(a.out.Changes, documentChange{Kind: "flag", Name: key, Action: "delete", Changes: []management.Change{}})
	}
	return nil
}

// saveCohorts checks the cohorts in the resulting state and logs their changes.
func (a *documentApplier) saveCohorts() error {
	if len(a.cohorts) == 0 {
		return nil
	}
	usage := &cohortUsage{tx: a.tx, scope: a.scope}
	cohorts := Cohorts(a.Flags)
	for _, c := range a.cohorts {
		if err := c.check(usage, &c.original, c.values); err != nil {
			return wrapFault("cohort", c.title(), err)
		}
		var before any
		if c.before != nil {
			before = c.before
		}
		if err := cohorts.Env.LogActivity(a.tx, a.scope.Caller, management.ProjectParent(a.scope.Project.ID), cohortActivityScope, c.itemID(), c.title(), before, c.toView()); err != nil {
			return err
		}
	}
	return cohorts.scheduleCounts(a.tx, a.scope.Project.ID, a.cohorts)
}

// saveFlags checks and saves the flags in the resulting state. A new flag begins with version 1.
func (a *documentApplier) saveFlags() error {
	for _, f := range a.flags {
		save := a.saveFlag
		f.approved = a.approved
		if f.before == nil {
			save = a.saveNew
		}
		if err := save(a.tx, a.scope, f); err != nil {
			return wrapFault("flag", f.Key, err)
		}
	}
	return nil
}
