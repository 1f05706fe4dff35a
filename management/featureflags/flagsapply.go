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

// Apply makes the project's flags and cohorts those of a document, all or none.
// What the document does not have stays, unless prune says that flags of it are
// deleted.
func (s Flags) Apply(ctx context.Context, st *management.Standing, b management.Body, prune bool) (*DocumentResult, error) {
	wanted, err := readDocument(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*DocumentResult, error) { return s.applyDocument(tx, st, wanted, prune, nil) })
}

// wantedDocument is a document as it was sent.
type wantedDocument struct {
	cohorts, flags []named
	groupTypes     map[int]string
	settings       map[string]json.RawMessage // of documentSettings
	warnings       []string
}

type named struct {
	name  string
	entry entry
}

// readDocument reads a document and brings its flags and cohorts into the form in
// which document has them.
func readDocument(b management.Body) (*wantedDocument, error) {
	v, err := DocumentFields.Create(b)
	if err != nil {
		return nil, err
	}
	out := &wantedDocument{settings: map[string]json.RawMessage{}}
	if v.Has("group_type_mapping") && !v.Null("group_type_mapping") && json.Unmarshal(v.Raw("group_type_mapping"), &out.groupTypes) != nil {
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
		to                *[]named
		canonical         func(entry) (entry, error)
	}{
		{"cohorts", "name", "cohort", flags.CohortPart, &out.cohorts, func(o entry) (entry, error) { canonicalCohort(o); return o, nil }},
		{"flags", "key", "flag", flags.FlagPart, &out.flags, canonicalFlag},
	} {
		seen := map[string]bool{}
		for i, raw := range v.Objects(list.field) {
			o, _ := wire.Value(raw).(entry)
			name, _ := o[list.name].(string)
			if name == "" || seen[name] {
				return nil, management.Fault(fmt.Sprintf("%s__%d__%s", list.field, i, list.name), "It needs a %s of its own.", list.name)
			}
			seen[name] = true
			err := checkKnown(list.part, raw, func(text string) { out.warn(fmt.Sprintf("%s %q: %s", list.kind, name, text)) })
			if err != nil {
				return nil, at(list.kind, name, err)
			}
			if o, err = list.canonical(o); err != nil {
				return nil, at(list.kind, name, err)
			}
			for _, own := range notInDocuments {
				delete(o, own)
			}
			*list.to = append(*list.to, named{name, o})
		}
	}
	return out, nil
}

// maxDocumentWarnings bounds the warnings of a document.
const maxDocumentWarnings = 100

func (w *wantedDocument) warn(text string) {
	switch n := len(w.warnings); {
	case n < maxDocumentWarnings:
		w.warnings = append(w.warnings, text)
	case n == maxDocumentWarnings:
		w.warnings = append(w.warnings, "there is more that had no effect")
	}
}

// application is one document on its way into a project. Everything is put into
// drafts first and judged then, in the state that it leads to: the order of a
// document means nothing.
type application struct {
	Flags
	tx      *drafts
	st      *management.Standing
	wanted  *wantedDocument
	has     *document
	out     *DocumentResult
	cohorts []*cohortDraft // what has changed
	flags   []*storedFlag
	// approved is storedFlag.approved of all flags.
	approved *approval
}

// cohortDraft is a cohort that a document makes or changes.
type cohortDraft struct {
	*storedCohort
	was    storedCohort
	values management.Values
	before *Cohort // nil for a new one
}

// applyDocument puts a document into a project; approved is why its flags may change, nil
// for nothing.
func (s Flags) applyDocument(tx Tx, st *management.Standing, wanted *wantedDocument, prune bool, approved *approval) (*DocumentResult, error) {
	in, err := newDrafts(tx, st.Project.ID)
	if err != nil {
		return nil, err
	}
	has, err := s.document(in, st)
	if err != nil {
		return nil, err
	}
	a := &application{Flags: s, tx: in, st: st, approved: approved, wanted: wanted, has: has, out: &DocumentResult{Changes: []documentChange{}, Warnings: slices.Clone(wanted.warnings)}}
	steps := []func() error{a.compareProjects, a.numberNew, a.draftCohorts, a.draftFlags, a.saveCohorts, a.saveFlags, in.flush}
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

// at says in an error which flag or cohort it is about.
func at(kind, name string, err error) error {
	if told, ok := errors.AsType[*management.Error](err); ok {
		again := *told
		again.Message = fmt.Sprintf("%s %q: %s", kind, name, told.Message)
		return &again
	}
	return err
}

// numberNew gives ids to what is not there yet, so that whatever refers to it finds
// it.
func (a *application) numberNew() error {
	var newCohorts, newFlags []string
	for _, c := range a.wanted.cohorts {
		if a.has.storedCohorts[c.name] == nil {
			newCohorts = append(newCohorts, c.name)
		}
	}
	for _, f := range a.wanted.flags {
		switch {
		case a.has.storedFlags[f.name] != nil:
		case a.has.flagIDs[f.name] != 0: // one that is not shown
			return at("flag", f.name, errKeyTaken())
		default:
			newFlags = append(newFlags, f.name)
		}
	}
	for _, list := range []struct {
		kind  DefinitionKind
		names []string
		ids   map[string]int64
	}{{CohortDefinition, newCohorts, a.has.cohortIDs}, {FlagDefinition, newFlags, a.has.flagIDs}} {
		if len(list.names) == 0 {
			continue
		}
		first, err := a.tx.NumberDefinitions(list.kind, len(list.names))
		if err != nil {
			return err
		}
		for i, name := range list.names {
			list.ids[name] = first + int64(i)
		}
	}
	return nil
}

// changed notes what a document changes of a flag or cohort, and reports whether
// that is anything.
func (a *application) changed(kind, scope string, w *named, is entry) (bool, error) {
	var before any // a map of no type would be taken for a thing that is there
	action := "create"
	if is != nil {
		before, action = is, "update"
	}
	list, err := management.Changes(scope, before, w.entry)
	if err != nil {
		return false, err
	}
	if is != nil && len(list) == 0 {
		a.out.Unchanged++
		return false, nil
	}
	a.out.Changes = append(a.out.Changes, documentChange{Kind: kind, Name: w.name, Action: action, Changes: list})
	return true, nil
}

func (a *application) draftCohorts() error {
	for i := range a.wanted.cohorts {
		w := a.wanted.cohorts[i]
		is := a.has.cohorts[w.name]
		if err := a.sameMembers(&w, is); err != nil {
			return err
		}
		if changed, err := a.changed("cohort", cohortScope, &w, is); err != nil || !changed {
			if err != nil {
				return err
			}
			continue
		}
		c, err := a.draftCohort(&w)
		if err != nil {
			return at("cohort", w.name, err)
		}
		a.cohorts = append(a.cohorts, c)
	}
	return nil
}

func (a *application) draftCohort(w *named) (*cohortDraft, error) {
	stored := a.has.storedCohorts[w.name]
	c, thing := &cohortDraft{storedCohort: stored}, management.Thing{Kind: kindCohort}
	if stored != nil {
		thing = stored.thing()
	}
	if err := a.st.Needs(management.Editor, thing); err != nil {
		return nil, err
	}
	switch {
	case stored == nil:
		c.storedCohort = &storedCohort{cohortMeta: cohortMeta{CreatedAt: management.At(a.Desk.Now()), CreatedBy: a.st.User.ID}}
		c.ID = a.has.cohortIDs[w.name]
	case stored.origin != "":
		return nil, management.Clash("It stands in the file %s and can only be changed there.", stored.origin)
	default:
		c.before = stored.plain()
	}
	c.was = *c.storedCohort
	filters, err := a.has.resolved(w.entry["filters"])
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
	return c, c.store(a.tx, a.st)
}

func (a *application) draftFlags() error {
	for i := range a.wanted.flags {
		w := &a.wanted.flags[i]
		if f := a.has.storedFlags[w.name]; f != nil && !a.st.Sees(f.thing()) {
			return at("flag", w.name, a.st.Needs(management.Viewer, f.thing()))
		}
		if changed, err := a.changed("flag", flagScope, w, a.has.flags[w.name]); err != nil || !changed {
			if err != nil {
				return err
			}
			continue
		}
		f, err := a.draftFlag(w)
		if err != nil {
			return at("flag", w.name, err)
		}
		a.flags = append(a.flags, f)
	}
	return nil
}

// draftFlag is a flag as a document has it. What the document does not name is what
// it is by default.
func (a *application) draftFlag(w *named) (*storedFlag, error) {
	f := &storedFlag{ID: a.has.flagIDs[w.name], Key: w.name}
	if a.has.storedFlags[w.name] != nil {
		var err error
		if f, err = a.loadFlag(a.tx, a.st, f.ID); err != nil {
			return nil, err
		}
	} else if err := a.purge(a.tx, a.st, w.name); err != nil {
		return nil, err
	}
	record := maps.Clone(w.entry)
	delete(record, "tags")
	var err error
	if record["filters"], err = a.has.resolved(w.entry["filters"]); err != nil {
		return nil, err
	}
	next, err := decodeFlag(a.st.Project.ID, &Definition{ID: f.ID, Key: f.Key, Record: wire.MustEncode(record), Meta: management.Encode(f.flagMeta), Origin: f.Origin})
	if err != nil {
		return nil, err
	}
	next.Version, next.was, next.Tags = f.Version, f.was, nil
	for _, tag := range anyList(w.entry["tags"]) {
		text, _ := tag.(string)
		next.Tags = append(next.Tags, text)
	}
	return next, a.tx.PutDefinition(FlagDefinition, a.st.Project.ID, next.definition())
}

// draftPruned deletes the flags that a document does not have. Those of files stay.
func (a *application) draftPruned() error {
	keep := map[string]bool{}
	for _, f := range a.wanted.flags {
		keep[f.name] = true
	}
	for _, key := range slices.Sorted(maps.Keys(a.has.flags)) {
		if keep[key] || a.has.storedFlags[key].Origin != "" {
			continue
		}
		f, err := a.loadFlag(a.tx, a.st, a.has.storedFlags[key].ID)
		if err != nil {
			return err
		}
		f.Deleted = true
		if err := a.tx.PutDefinition(FlagDefinition, a.st.Project.ID, f.definition()); err != nil {
			return err
		}
		a.flags = append(a.flags, f)
		a.out.Changes = append(a.out.Changes, documentChange{Kind: "flag", Name: key, Action: "delete", Changes: []management.Change{}})
	}
	return nil
}

// saveCohorts judges the cohorts among all others as they are to be.
func (a *application) saveCohorts() error {
	if len(a.cohorts) == 0 {
		return nil
	}
	around := &cohortsAround{tx: a.tx, st: a.st}
	cohorts := Cohorts(a.Flags)
	for _, c := range a.cohorts {
		if err := c.check(around, &c.was, c.values); err != nil {
			return at("cohort", c.title(), err)
		}
		var before any
		if c.before != nil {
			before = c.before
		}
		if err := cohorts.Desk.Note(a.tx, a.st.Caller, management.ProjectParent(a.st.Project.ID), cohortScope, c.item(), c.title(), before, c.plain()); err != nil {
			return err
		}
	}
	return cohorts.plantCounts(a.tx, a.st.Project.ID, a.cohorts)
}

// saveFlags judges the flags in the same way. A flag that was not there begins with
// version 1.
func (a *application) saveFlags() error {
	for _, f := range a.flags {
		save := a.saveFlag
		f.approved = a.approved
		if f.was == nil {
			save = a.saveNew
		}
		if err := save(a.tx, a.st, f); err != nil {
			return at("flag", f.Key, err)
		}
	}
	return nil
}
