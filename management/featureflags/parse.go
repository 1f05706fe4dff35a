package featureflags

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// namedEntry is a flag or cohort of a document, with its key or name.
type namedEntry struct {
	name  string
	entry entry
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
	v, err := documentFields.Create(b)
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
		{"cohorts", "name", "cohort", flags.CohortPart, &out.cohorts, func(o entry) (entry, error) { storedcohorts.Canonical(o); return o, nil }},
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
			err := storedflags.CheckUnknownKeys(list.part, raw, func(text string) { out.warn(fmt.Sprintf("%s %q: %s", list.kind, name, text)) })
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
	flags   []*storedflags.Flag
	// approved is Flag.Approved of all flags.
	approved *storedflags.Approval
}

// cohortDraft is a cohort that a document creates or changes.
type cohortDraft struct {
	*storedcohorts.Cohort
	original storedcohorts.Cohort
	values   management.Values
	before   *cohorts.Cohort // nil for a new cohort
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

// compareSettings checks that flags evaluate alike in the project and where the document was
// exported. Group types with the same index must have the same name; other different settings only
// cause a warning, and the project's settings apply.
func (a *documentApplier) compareSettings() error {
	for index, name := range a.parsed.groupTypes {
		if own, ok := a.current.groupTypes[index]; ok && own != name {
			return management.Fault("group_type_mapping", "The group type %d is %q in the document and %q in the project.", index, name, own)
		}
	}
	for _, name := range documentSettings {
		value := a.parsed.settings[name]
		if !management.EmptyJSON(value) && !storedflags.EqualJSON(value, definitions.JSONOr(a.scope.Project.Settings[name], defaultSettings[name])) {
			a.out.Warnings = append(a.out.Warnings, fmt.Sprintf("%s is %s in the document; the project's value does not change", name, storedflags.PlainText(wire.Value(value))))
		}
	}
	return nil
}
