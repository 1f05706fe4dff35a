package storedflags

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// ActivityScope is the scope of changes of flags in the log.
const ActivityScope = "FeatureFlag"

// Draft is the input for a new flag that another resource creates, such as an experiment.
type Draft struct {
	Key, Name string
	// Filters are the conditions, variants and payloads. If nil, one condition matches everybody.
	Filters json.RawMessage
	Active  bool
	Tags    []string
	// Context is the purpose of the flag: creation_context. Empty means feature_flags.
	Context string
	// Hidden flags are omitted from lists. Surveys create such flags for their own use.
	Hidden bool
}

// Load returns a flag of the caller's project, deleted or not. It returns ErrNotFound if there
// is no such flag. It does not check access.
func (s Store) Load(tx definitions.Tx, scope *management.Scope, id int64) (*Flag, error) {
	if id <= 0 {
		return nil, management.ErrNotFound()
	}
	d, err := tx.Definition(management.FlagDefinition, scope.Project.ID, id)
	if err == nil && d == nil {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	f, err := Decode(scope.Project.ID, d)
	if err != nil {
		return nil, err
	}
	f.Before, err = Decode(scope.Project.ID, d) // decoded twice: changes of f must not be visible in f.before
	return f, err
}

// Find returns a flag, or nil if it does not exist or is deleted.
func (s Store) Find(tx definitions.Tx, scope *management.Scope, id int64) (*Flag, error) {
	d, err := tx.Definition(management.FlagDefinition, scope.Project.ID, id)
	if err != nil || d == nil || d.Deleted {
		return nil, err
	}
	return s.Load(tx, scope, id)
}

// LoadLinked loads the flag that a request refers to in field. It returns an error for that field
// if the flag does not exist or is deleted.
func (s Store) LoadLinked(tx definitions.Tx, scope *management.Scope, id int64, field string) (*Flag, error) {
	d, err := tx.Definition(management.FlagDefinition, scope.Project.ID, id)
	if err != nil {
		return nil, err
	}
	if d == nil || d.Deleted {
		return nil, management.Fault(field, "Feature Flag with this ID does not exist")
	}
	return s.Load(tx, scope, id)
}

// HiddenIDs returns the ids of the flags that access rules hide from the caller. It is nil if no
// rule restricts the caller.
func (s Store) HiddenIDs(ctx context.Context, scope *management.Scope) (map[string]bool, error) {
	if !scope.IsRestricted() {
		return nil, nil
	}
	return management.Read(ctx, s.Env, func(tx definitions.Tx) (map[string]bool, error) {
		list, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: scope.Project.ID})
		out := map[string]bool{}
		for i := range list {
			f, err := Decode(scope.Project.ID, &list[i])
			if err != nil {
				return nil, err
			}
			if !scope.CanSee(f.AccessObject()) {
				out[f.ItemID()] = true
			}
		}
		return out, err
	})
}

// Make creates a flag from a draft. Deleted flags with the same key are removed permanently.
func (s Store) Make(tx definitions.Tx, scope *management.Scope, d Draft) (*Flag, error) {
	f := &Flag{Key: d.Key, Name: d.Name, Filters: d.Filters, Active: d.Active}
	f.Tags, f.Context, f.Hidden = d.Tags, d.Context, d.Hidden
	return f, s.Add(tx, scope, f)
}

// MakeLinked creates a flag for another resource, and loads it again so that the caller can add
// its link and save it.
func (s Store) MakeLinked(tx definitions.Tx, scope *management.Scope, d Draft) (*Flag, error) {
	flag, err := s.Make(tx, scope, d)
	if err != nil {
		return nil, err
	}
	return s.Load(tx, scope, flag.ID)
}

// Add checks and stores a new flag and sets its id.
func (s Store) Add(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	f.initialize(s, scope)
	if f.Filters == nil {
		f.Filters = json.RawMessage(`{"groups":[{"properties":[],"rollout_percentage":null}]}`)
	}
	if err := s.Check(tx, scope, f); err != nil {
		return err
	}
	if err := s.Purge(tx, scope, f.Key); err != nil {
		return err
	}
	d := f.Definition()
	if err := definitions.Put(tx, management.FlagDefinition, scope.Project.ID, d); err != nil { // sets d.ID, which the record contains
		return err
	}
	f.ID = d.ID
	return s.Put(tx, scope, f)
}

// initialize sets the fields of a new flag that do not depend on the request.
func (f *Flag) initialize(s Store, scope *management.Scope) {
	f.Project, f.Version = scope.Project.ID, 1
	f.CreatedAt, f.UpdatedAt = management.NewStamp(s.Env.Now()), management.NewStamp(s.Env.Now())
	f.CreatedBy, f.ModifiedBy = scope.User.ID, scope.User.ID
}

// SaveNew checks and stores a new flag that already has an id.
func (s Store) SaveNew(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	f.initialize(s, scope)
	if err := s.Check(tx, scope, f); err != nil {
		return err
	}
	return s.Put(tx, scope, f)
}

// Save checks and stores a changed flag as its next version. f must be the result of Load.
func (s Store) Save(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	if f.Origin != "" {
		return ErrInFile(f)
	}
	if err := s.Check(tx, scope, f); err != nil {
		return err
	}
	f.Version++
	f.UpdatedAt, f.ModifiedBy = management.NewStamp(s.Env.Now()), scope.User.ID
	return s.Put(tx, scope, f)
}

// SaveLinked stores a flag after a change of its links. It validates the flag and increments its
// version only if the flag's own settings were changed as well.
func (s Store) SaveLinked(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	if f.Origin != "" || !bytes.Equal(f.Filters, f.Before.Filters) || f.Active != f.Before.Active || f.Deleted != f.Before.Deleted {
		return s.Save(tx, scope, f)
	}
	return s.Put(tx, scope, f)
}

// ErrInFile returns the error for a change of a flag that is defined in a file.
func ErrInFile(f *Flag) error {
	return management.Clash("The feature flag %q is defined in the file %s and can only be changed there.", f.Key, f.Origin)
}

// Put stores a checked flag with its version, and logs the change. Every write but that of pins
// ends here, so access and approvals are checked here.
func (s Store) Put(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	if err := f.checkWriteAccess(scope); err != nil {
		return err
	}
	if err := f.CheckApproval(scope); err != nil {
		return err
	}
	if err := definitions.Put(tx, management.FlagDefinition, scope.Project.ID, f.Definition()); err != nil {
		return err
	}
	if err := saveVersion(tx, f); err != nil {
		return err
	}
	return s.Log(tx, scope, f)
}

// checkWriteAccess returns an error if the caller may not create or change the flag. Hidden flags
// belong to their surveys, and changes that create no version, such as links, need no access.
func (f *Flag) checkWriteAccess(scope *management.Scope) error {
	switch {
	case f.Hidden, f.Job != nil:
		return nil
	case f.Before == nil:
		return scope.RequireAccess(management.Editor, management.AccessObject{Kind: Kind})
	case f.Version == f.Before.Version:
		return nil
	}
	return scope.RequireAccess(management.Editor, f.Before.AccessObject())
}

// CheckApproval returns an error with the code approval_required if the change of the flag can
// alter an evaluation, the project requires approval, and the change has not been approved
// (spec/console.md N12). Every write of a flag passes through it (Put). New flags, changes by
// jobs, and changes of names, notes and links need no approval.
func (f *Flag) CheckApproval(scope *management.Scope) error {
	if f.Before == nil || f.Approved != nil || f.Job != nil {
		return nil
	}
	settings, err := ApprovalSettings(scope)
	if err != nil || !f.Before.NeedsApproval(&settings) {
		return err
	}
	changed := f.changedRules()
	if !f.NeedsApproval(&settings) { // removing a protecting tag would let the next change pass without approval
		changed = append(changed, "tags")
	}
	switch {
	case len(changed) == 0:
		return nil
	case settings.SwitchOffFree && !f.Active && slices.Equal(changed, []string{"active"}):
		f.approvalExempt = true
		return nil
	}
	needed := "an approval"
	if settings.Needed > 1 {
		needed = fmt.Sprintf("%d approvals", settings.Needed)
	}
	return ErrApprovalRequired("This change to the feature flag %q requires %s: send it as the patch of POST /change_requests/.", f.Before.Key, needed)
}

// Log writes the change of a flag to the log. It writes no entry for an update without changes
// and without a note.
func (s Store) Log(tx definitions.Tx, scope *management.Scope, f *Flag) error {
	var before any
	activity := f.Activity
	switch {
	case f.Before == nil:
		activity = "created"
	case activity != "":
	case f.Deleted && !f.Before.Deleted:
		activity = "deleted"
	default:
		activity = "updated"
	}
	if f.Before != nil {
		before = f.Before.loggedMembers()
	}
	list, err := management.Changes(ActivityScope, before, f.loggedMembers())
	if err != nil || len(list) == 0 && activity == "updated" && f.Note == "" {
		return err
	}
	detail := management.ActivityDetail{Name: f.Key, Changes: list, Note: f.Note, Version: f.Version, Trigger: f.Job, System: f.Job != nil}
	f.logApproval(&detail)
	return s.Env.LogActivityAs(tx, scope.Caller, management.ProjectParent(scope.Project.ID), activity, ActivityScope, f.ItemID(), detail)
}

// logApproval adds to an entry of the activity log how the change was authorized: the approvers
// and their request, or the type "without approval" if SwitchOffFree exempted the change.
func (f *Flag) logApproval(d *management.ActivityDetail) {
	switch {
	case f.approvalExempt:
		text := "without approval"
		d.Type = &text
	case f.Approved != nil:
		d.ApprovedBy, d.ChangeRequest = f.Approved.Approvers, f.Approved.Request
	}
}

// loggedMembers returns the members whose changes are logged.
func (f *Flag) loggedMembers() map[string]json.RawMessage {
	out, _ := management.JSONMembers(f.Meta) // both are JSON objects, so there is no error
	record, _ := management.JSONMembers(f.Record())
	maps.Copy(out, record)
	delete(out, "has_experiment")
	return out
}

// Purge permanently removes the deleted flags with a key, with their versions and pins. It fails if
// an experiment still uses one of them.
func (s Store) Purge(tx definitions.Tx, scope *management.Scope, key string) error {
	list, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: scope.Project.ID, Deleted: true, Match: func(d *management.Definition) bool { return d.Key == key }})
	if err != nil {
		return err
	}
	for i := range list {
		f, err := Decode(scope.Project.ID, &list[i])
		if err != nil {
			return err
		}
		// The key stays in use while a deleted experiment links to the flag.
		if len(f.Links.Experiments) > 0 {
			return management.Fault("", "Feature flag with this key already exists and is used in an experiment. Please delete the experiment before deleting the flag.")
		}
		if err := deleteVersions(tx, f); err != nil {
			return err
		}
		if err := s.RetainPins(tx, f, func(*Pin) (bool, error) { return false, nil }); err != nil {
			return err
		}
		if err := tx.DeleteDefinition(management.FlagDefinition, scope.Project.ID, f.ID); err != nil {
			return err
		}
	}
	return nil
}
