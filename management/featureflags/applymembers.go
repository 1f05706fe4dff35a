package featureflags

import (
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// This file applies the members of static cohorts in a document. If a cohort of the document has no
// list, its members stay as they are.

// expandMembers replaces the members of a cohort in the document by all distinct ids of these
// persons. The current list of the project has the same form, so the two can be compared.
func (a *documentApplier) expandMembers(w *namedEntry, current entry) error {
	list, isList := w.entry["members"].([]any)
	switch {
	case w.entry["members"] == nil:
		w.entry = definitions.Omit(w.entry, "members")
		if current != nil && current["members"] != nil { // without a list there is no change
			w.entry["members"] = current["members"]
		}
		return nil
	case !isList:
		return wrapFault("cohort", w.name, management.Fault("members", "Expected a list of distinct ids."))
	}
	// All ids are checked before the persons are looked up.
	ids := make([]string, len(list))
	size := 0
	for i, v := range list {
		var ok bool
		if ids[i], ok = v.(string); !ok || ids[i] == "" {
			return wrapFault("cohort", w.name, management.Fault("members", "Expected a list of distinct ids."))
		}
		size += len(ids[i])
	}
	if len(ids) > maxDocumentMembers.IDs || size > maxDocumentMembers.Bytes {
		return wrapFault("cohort", w.name, management.Fault("members", "Ensure this field has no more than %d elements of %d bytes together.", maxDocumentMembers.IDs, maxDocumentMembers.Bytes))
	}
	all, err := a.tx.SamePersons(a.scope.Project.ID, ids)
	if err != nil {
		return err
	}
	w.entry = definitions.Omit(w.entry, "members")
	w.entry["members"] = anyTexts(all)
	return nil
}

// draftMembers changes the members of a static cohort to the list in the document, and sets the
// number of its persons. It does nothing if the document has no list. Both the list and the current
// members are sorted, as SamePersons and MembersOf return them.
func (c *cohortDraft) draftMembers(a *documentApplier, w *namedEntry) error {
	list, isList := w.entry["members"].([]any)
	if !isList || !c.Static {
		return nil
	}
	current := a.current.members[c.ID]
	added := make([]string, len(list))
	for i := range list {
		added[i], _ = list[i].(string)
	}
	removed := []string{}
	for _, id := range current {
		if _, ok := slices.BinarySearch(added, id); !ok {
			removed = append(removed, id)
		}
	}
	added = slices.DeleteFunc(added, func(id string) bool { _, found := slices.BinarySearch(current, id); return found })
	project := a.scope.Project.ID
	if len(removed) > 0 {
		if err := a.tx.RemoveMembers(project, c.ID, removed); err != nil {
			return err
		}
	}
	if len(added) > 0 {
		if err := a.tx.AddMembers(project, c.ID, added); err != nil {
			return err
		}
	}
	// The number changes too if persons were merged, so it is counted even if no member was added.
	n, err := a.tx.CountMembers(project, c.ID)
	if c.Count == nil || *c.Count != n {
		c.Count, c.LastCalculation = &n, management.NewStamp(a.Env.Now())
	}
	return err
}
