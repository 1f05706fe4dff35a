package featureflags

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// This file applies the member archived of flags in a document. Exported documents contain it only
// for archived flags.

// canonicalSentFlag is canonicalFlag for a flag of a request. The result has a member archived with
// the value that was sent, which may be false.
func canonicalSentFlag(o entry) (entry, error) {
	archived, isBool := o["archived"].(bool)
	if o["archived"] != nil && !isBool {
		return nil, management.Fault("archived", "Must be a valid boolean.")
	}
	out, err := canonicalFlag(o)
	if err != nil || !isBool {
		return out, err
	}
	if archived && out["active"] == true {
		return nil, storedflags.ErrArchivedActive()
	}
	out["archived"] = archived
	return out, nil
}

// completeArchived sets the member archived of a flag in the document to true, or removes it. If the
// document does not contain it, an archived flag stays in the archive, unless the document switches
// the flag on.
func (w *namedEntry) completeArchived(current entry) {
	archived, sent := w.entry["archived"].(bool)
	if !sent {
		archived = current["archived"] == true && w.entry["active"] != true
	}
	w.entry = definitions.Omit(w.entry, "archived")
	if archived {
		w.entry["archived"] = true
	}
}
