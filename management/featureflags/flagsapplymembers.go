package featureflags

import (
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// This file applies what a document says of the members of static cohorts. Without
// a list it says nothing of them.

// sameMembers writes into a wanted cohort all distinct ids of the persons that it
// lists, which is what the project's own list has.
func (a *application) sameMembers(w *named, is entry) error {
	list, said := w.entry["members"].([]any)
	switch {
	case w.entry["members"] == nil:
		w.entry = without(w.entry, "members")
		if is != nil && is["members"] != nil { // not a change
			w.entry["members"] = is["members"]
		}
		return nil
	case !said:
		return at("cohort", w.name, management.Fault("members", "Expected a list of distinct ids."))
	}
	ids := make([]string, len(list))
	size := 0
	for i, v := range list {
		var ok bool
		if ids[i], ok = v.(string); !ok || ids[i] == "" {
			return at("cohort", w.name, management.Fault("members", "Expected a list of distinct ids."))
		}
		size += len(ids[i])
	}
	if len(ids) > maxDocumentMembers.IDs || size > maxDocumentMembers.Bytes {
		return at("cohort", w.name, management.Fault("members", "Ensure this field has no more than %d elements of %d bytes together.", maxDocumentMembers.IDs, maxDocumentMembers.Bytes))
	}
	all, err := a.tx.SamePersons(a.st.Project.ID, ids)
	if err != nil {
		return err
	}
	w.entry = without(w.entry, "members")
	w.entry["members"] = anyTexts(all)
	return nil
}

// without is a copy of an object that lacks a member.
func without[V any](o map[string]V, name string) map[string]V {
	out := make(map[string]V, len(o))
	for other, v := range o {
		if other != name {
			out[other] = v
		}
	}
	return out
}

// draftMembers makes the members of a static cohort those that are wanted, where a
// document says so, and counts them.
func (c *cohortDraft) draftMembers(a *application, w *named) error {
	list, said := w.entry["members"].([]any)
	if !said || !c.Static {
		return nil
	}
	has := a.has.members[c.ID]
	come := make([]string, len(list))
	for i := range list {
		come[i], _ = list[i].(string)
	}
	gone := []string{}
	for _, id := range has {
		if _, kept := slices.BinarySearch(come, id); !kept {
			gone = append(gone, id)
		}
	}
	come = slices.DeleteFunc(come, func(id string) bool { _, there := slices.BinarySearch(has, id); return there })
	project := a.st.Project.ID
	if len(gone) > 0 {
		if err := a.tx.RemoveMembers(project, c.ID, gone); err != nil {
			return err
		}
	}
	if len(come) > 0 {
		if err := a.tx.AddMembers(project, c.ID, come); err != nil {
			return err
		}
	}
	n, err := a.tx.CountMembers(project, c.ID)
	if c.Count == nil || *c.Count != n {
		c.Count, c.LastCalculation = &n, management.At(a.Desk.Now())
	}
	return err
}
