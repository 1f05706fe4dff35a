package management

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// This file applies a document of flags and cohorts to a project (decision 27).

// Apply makes the project's flags and cohorts those of a document, all or none.
// What the document does not have stays, unless prune says that flags of it are
// deleted.
func (s FeatureFlags) Apply(ctx context.Context, st *Standing, b Body, prune bool) (*DocumentResult, error) {
	wanted, err := readDocument(b)
	if err != nil {
		return nil, err
	}
	return write(ctx, s.core, func(tx Tx) (*DocumentResult, error) { return s.applyDocument(tx, st, wanted, prune) })
}

// wantedDocument is a document as it was sent.
type wantedDocument struct{ cohorts, flags []named }

type named struct {
	name  string
	entry entry
}

func readDocument(b Body) (*wantedDocument, error) {
	v, err := DocumentFields.Create(b)
	if err != nil {
		return nil, err
	}
	out := &wantedDocument{}
	for _, list := range []struct {
		field, name string
		to          *[]named
	}{{"cohorts", "name", &out.cohorts}, {"flags", "key", &out.flags}} {
		seen := map[string]bool{}
		for i, raw := range v.Objects(list.field) {
			o, _ := decodeAny(raw).(entry)
			name, _ := o[list.name].(string)
			if name == "" || seen[name] {
				return nil, Fault(fmt.Sprintf("%s__%d__%s", list.field, i, list.name), "It needs a %s of its own.", list.name)
			}
			seen[name] = true
			for _, own := range notInDocuments {
				delete(o, own)
			}
			*list.to = append(*list.to, named{name, o})
		}
	}
	return out, nil
}

// applyDocument works in three rounds: new cohorts and flags are made empty first,
// so that whatever refers to them finds them.
func (s FeatureFlags) applyDocument(tx Tx, st *Standing, wanted *wantedDocument, prune bool) (*DocumentResult, error) {
	has, err := s.document(tx, st)
	if err != nil {
		return nil, err
	}
	out := &DocumentResult{Changes: []DocumentChange{}}
	for _, round := range []func(Tx, *Standing, *wantedDocument, *document, *DocumentResult) error{
		s.makeMissing, s.applyCohorts, s.applyFlags,
	} {
		if err := round(tx, st, wanted, has, out); err != nil {
			return nil, err
		}
	}
	if prune {
		if err := s.prune(tx, st, wanted, has, out); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out.Changes, func(a, b DocumentChange) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

func (s FeatureFlags) makeMissing(tx Tx, st *Standing, wanted *wantedDocument, has *document, _ *DocumentResult) error {
	for _, c := range wanted.cohorts {
		if has.storedCohorts[c.name] != nil {
			continue
		}
		static, _ := c.entry["is_static"].(bool)
		made := &storedCohort{cohortMeta: cohortMeta{CreatedAt: At(s.now()), CreatedBy: st.User.ID}}
		made.Name, made.Static = &c.name, static
		if err := made.put(tx, st); err != nil {
			return err
		}
		has.cohortIDs[c.name], has.storedCohorts[c.name] = made.ID, made
	}
	for _, f := range wanted.flags {
		if has.storedFlags[f.name] != nil {
			continue
		}
		made, err := s.makeFlag(tx, st, FlagDraft{Key: f.name, Filters: json.RawMessage(`{"groups":[{"properties":[],"rollout_percentage":0}]}`)})
		if err != nil {
			return at("flag", f.name, err)
		}
		has.flagIDs[f.name], has.storedFlags[f.name] = made.ID, made
	}
	return nil
}

// at says in an error which flag or cohort it is about.
func at(kind, name string, err error) error {
	if told, ok := err.(*Error); ok {
		again := *told
		again.Message = fmt.Sprintf("%s %q: %s", kind, name, told.Message)
		return &again
	}
	return err
}

func (s FeatureFlags) applyCohorts(tx Tx, st *Standing, wanted *wantedDocument, has *document, out *DocumentResult) error {
	for _, c := range wanted.cohorts {
		is := has.cohorts[c.name]
		list, err := changes(cohortScope, nilIfNone(is), c.entry)
		if err != nil {
			return err
		}
		if is != nil && len(list) == 0 {
			out.Unchanged++
			continue
		}
		out.add("cohort", c.name, is != nil, list)
		stored := has.storedCohorts[c.name]
		if stored.origin != "" {
			return Clash("The cohort %q stands in the file %s and can only be changed there.", c.name, stored.origin)
		}
		entry := c.entry
		if err := eachReference(entry["filters"], has.byID("cohorts", c.name)); err != nil {
			return err
		}
		body := Body{Members: map[string]json.RawMessage{}}
		for name, value := range entry {
			body.Members[name] = encode(value)
		}
		v, err := CohortFields.Change(body)
		if err != nil {
			return at("cohort", c.name, err)
		}
		cohorts := Cohorts(s)
		before, err := cohorts.show(tx, st, stored)
		if err != nil {
			return err
		}
		if err := cohorts.save(tx, st, stored, v, nil, before); err != nil {
			return at("cohort", c.name, err)
		}
	}
	return nil
}

// nilIfNone keeps a map of no type from being taken for a thing that is there.
func nilIfNone(o entry) any {
	if o == nil {
		return nil
	}
	return o
}

func (r *DocumentResult) add(kind, name string, there bool, list []Change) {
	action := "create"
	if there {
		action = "update"
	}
	r.Changes = append(r.Changes, DocumentChange{Kind: kind, Name: name, Action: action, Changes: list})
}

func (s FeatureFlags) applyFlags(tx Tx, st *Standing, wanted *wantedDocument, has *document, out *DocumentResult) error {
	for _, w := range wanted.flags {
		is := has.flags[w.name]
		list, err := changes(flagScope, nilIfNone(is), w.entry)
		if err != nil {
			return err
		}
		if is != nil && len(list) == 0 {
			out.Unchanged++
			continue
		}
		out.add("flag", w.name, is != nil, list)
		if err := s.applyFlag(tx, st, w, has); err != nil {
			return at("flag", w.name, err)
		}
	}
	return nil
}

// applyFlag saves a flag as a document has it. What the document does not name
// becomes what it is by default.
func (s FeatureFlags) applyFlag(tx Tx, st *Standing, w named, has *document) error {
	f, err := s.loadFlag(tx, st, has.storedFlags[w.name].ID)
	if err != nil {
		return err
	}
	if err := eachReference(w.entry["filters"], has.byID("flags", w.name)); err != nil {
		return err
	}
	var tags []string
	if raw, ok := w.entry["tags"]; ok {
		if err := json.Unmarshal(encode(raw), &tags); err != nil {
			return Fault("tags", "Expected a list of texts.")
		}
	}
	record := maps.Clone(w.entry)
	delete(record, "tags")
	if _, ok := record["filters"].(entry); !ok {
		return Coded(CodeRequired, "filters", "This field is required.")
	}
	next, err := decodeFlag(st.Project.ID, &Definition{ID: f.ID, Key: f.Key, Record: encode(record), Meta: encode(f.flagMeta), Origin: f.Origin})
	if err != nil {
		return err
	}
	next.Version, next.was, next.Tags = f.Version, f.was, tags
	return s.saveFlag(tx, st, next)
}

// prune deletes the flags that a document does not have. Those of files stay.
func (s FeatureFlags) prune(tx Tx, st *Standing, wanted *wantedDocument, has *document, out *DocumentResult) error {
	keep := map[string]bool{}
	for _, f := range wanted.flags {
		keep[f.name] = true
	}
	for _, key := range slices.Sorted(maps.Keys(has.flags)) {
		if keep[key] || has.storedFlags[key].Origin != "" {
			continue
		}
		f, err := s.loadFlag(tx, st, has.storedFlags[key].ID)
		if err != nil {
			return err
		}
		f.Deleted = true
		if err := s.saveFlag(tx, st, f); err != nil {
			return at("flag", key, err)
		}
		out.Changes = append(out.Changes, DocumentChange{Kind: "flag", Name: key, Action: "delete", Changes: []Change{}})
	}
	return nil
}
