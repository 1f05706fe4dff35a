package featureflags

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// This file applies a document of flags and cohorts to a project (decision 27).

// Apply changes the project's flags and cohorts to match a document, in one transaction. Flags and
// cohorts that the document does not contain stay, but if prune is set, such flags are deleted.
func (s Flags) Apply(ctx context.Context, scope *management.Scope, b management.Body, prune bool) (*DocumentResult, error) {
	parsed, err := readDocument(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx storeTx) (*DocumentResult, error) { return s.applyDocument(tx, scope, parsed, prune, nil) })
}

// applyDocument applies a document to a project. approved is the approval of changes to its flags,
// or nil.
func (s Flags) applyDocument(tx storeTx, scope *management.Scope, parsed *parsedDocument, prune bool, approved *storedflags.Approval) (*DocumentResult, error) {
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
			return wrapFault("flag", f.name, storedflags.ErrDuplicateKey())
		default:
			newFlags = append(newFlags, f.name)
		}
	}
	for _, list := range []struct {
		kind  management.DefinitionKind
		names []string
		ids   map[string]int64
	}{{management.CohortDefinition, newCohorts, a.current.cohortIDs}, {management.FlagDefinition, newFlags, a.current.flagIDs}} {
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
		if changed, err := a.recordChange("cohort", storedcohorts.ActivityScope, &w, current); err != nil || !changed {
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
	c, object := &cohortDraft{Cohort: stored}, management.AccessObject{Kind: storedcohorts.Kind}
	if stored != nil {
		object = stored.AccessObject()
	}
	if err := a.scope.RequireAccess(management.Editor, object); err != nil {
		return nil, err
	}
	switch {
	case stored == nil:
		c.Cohort = &storedcohorts.Cohort{Meta: storedcohorts.Meta{CreatedAt: management.NewStamp(a.Env.Now()), CreatedBy: a.scope.User.ID}}
		c.ID = a.current.cohortIDs[w.name]
	case stored.Origin != "":
		return nil, management.Clash("It is defined in the file %s and can only be changed there.", stored.Origin)
	default:
		c.before = cohorts.ViewOf(stored)
	}
	c.original = *c.Cohort
	filters, err := a.current.resolveNames(w.entry["filters"])
	if err != nil {
		return nil, err
	}
	body := management.Body{Members: map[string]json.RawMessage{"filters": storage.Encode(filters)}}
	for name, value := range w.entry {
		if name != "filters" {
			body.Members[name] = storage.Encode(value)
		}
	}
	if c.values, err = storedcohorts.Fields.Change(body); err != nil {
		return nil, err
	}
	c.Assign(c.values)
	if w.entry["cohort_type"] == storedcohorts.Realtime {
		kind := storedcohorts.Realtime
		c.Type = &kind
	}
	if err := c.draftMembers(a, w); err != nil {
		return nil, err
	}
	return c, c.Store(a.tx, a.scope)
}

// draftFlags writes the flags that change to the buffered transaction.
func (a *documentApplier) draftFlags() error {
	for i := range a.parsed.flags {
		w := &a.parsed.flags[i]
		if f := a.current.storedFlags[w.name]; f != nil && !a.scope.CanSee(f.AccessObject()) {
			return wrapFault("flag", w.name, a.scope.RequireAccess(management.Viewer, f.AccessObject()))
		}
		current := a.current.flag(w.name)
		w.completeArchived(current)
		if changed, err := a.recordChange("flag", storedflags.ActivityScope, w, current); err != nil || !changed {
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
func (a *documentApplier) draftFlag(w *namedEntry) (*storedflags.Flag, error) {
	f := &storedflags.Flag{ID: a.current.flagIDs[w.name], Key: w.name}
	if a.current.storedFlags[w.name] != nil {
		var err error
		if f, err = a.stored.Load(a.tx, a.scope, f.ID); err != nil {
			return nil, err
		}
	} else if err := a.stored.Purge(a.tx, a.scope, w.name); err != nil {
		return nil, err
	}
	record := maps.Clone(w.entry)
	delete(record, "tags")
	var err error
	if record["filters"], err = a.current.resolveNames(w.entry["filters"]); err != nil {
		return nil, err
	}
	next, err := storedflags.Decode(a.scope.Project.ID, &management.Definition{ID: f.ID, Key: f.Key, Record: wire.MustEncode(record), Meta: storage.Encode(f.Meta), Origin: f.Origin})
	if err != nil {
		return nil, err
	}
	next.Version, next.Before, next.Tags, next.Archived = f.Version, f.Before, nil, w.entry["archived"] == true
	for _, tag := range definitions.List(w.entry["tags"]) {
		text, _ := tag.(string)
		next.Tags = append(next.Tags, text)
	}
	return next, a.tx.PutDefinition(management.FlagDefinition, a.scope.Project.ID, next.Definition())
}

// draftPruned deletes the flags that a document does not contain, except flags of files.
func (a *documentApplier) draftPruned() error {
	keep := map[string]bool{}
	for _, f := range a.parsed.flags {
		keep[f.name] = true
	}
	for _, key := range slices.Sorted(maps.Keys(a.current.storedFlags)) {
		if keep[key] || a.current.storedFlags[key].Origin != "" {
			continue
		}
		f, err := a.stored.Load(a.tx, a.scope, a.current.storedFlags[key].ID)
		if err != nil {
			return err
		}
		f.Deleted = true
		if err := a.tx.PutDefinition(management.FlagDefinition, a.scope.Project.ID, f.Definition()); err != nil {
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
	usage := &storedcohorts.Usage{Tx: a.tx, Scope: a.scope}
	var stored []*storedcohorts.Cohort
	for _, c := range a.cohorts {
		if err := c.Check(usage, &c.original, c.values); err != nil {
			return wrapFault("cohort", c.Title(), err)
		}
		var before any
		if c.before != nil {
			before = c.before
		}
		if err := a.Env.LogActivity(a.tx, a.scope.Caller, management.ProjectParent(a.scope.Project.ID), storedcohorts.ActivityScope, c.ItemID(), c.Title(), before, cohorts.ViewOf(c.Cohort)); err != nil {
			return err
		}
		stored = append(stored, c.Cohort)
	}
	return storedcohorts.ScheduleCounts(a.tx, a.Env.NewID(), a.scope.Project.ID, stored)
}

// saveFlags checks and saves the flags in the resulting state. A new flag begins with version 1.
func (a *documentApplier) saveFlags() error {
	for _, f := range a.flags {
		save := a.stored.Save
		f.Approved = a.approved
		if f.Before == nil {
			save = a.stored.SaveNew
		}
		if err := save(a.tx, a.scope, f); err != nil {
			return wrapFault("flag", f.Key, err)
		}
	}
	return nil
}
