package featureflags

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// flagActivityScope is the scope of changes of flags in the log.
const flagActivityScope = "FeatureFlag"

// flagDraft is the input for a new flag that another resource creates, such as an experiment.
type flagDraft struct {
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

// storedFlag is a flag as stored. The fields before flagMeta are written to Definition.Record, the
// document that /flags reads (spec/flags.md §1.1); flagMeta is written to Definition.Meta. The JSON
// names are the names in FlagFields. The unexported fields are not stored: they describe the change
// that is being made.
type storedFlag struct {
	ID, Project   int64
	Key           string `json:"key"`
	Name          string `json:"name"`
	Filters       json.RawMessage
	Active        bool `json:"active"`
	Deleted       bool `json:"deleted"`
	Version       int64
	Continuity    *bool    `json:"ensure_experience_continuity"`
	Runtime       string   `json:"evaluation_runtime"` // server, client or all; empty means all
	Contexts      []string `json:"evaluation_contexts"`
	ContextsMatch string   `json:"evaluation_contexts_match_mode"` // any or all; empty means any
	Bucketing     string   `json:"bucketing_identifier"`           // distinct_id or device_id; empty means distinct_id
	Hash          string   `json:"bucketing_hash"`                 // sha1 or murmur3; empty means the project's setting
	RemoteConfig  bool     `json:"is_remote_configuration"`
	Encrypted     bool
	// Extra has the other members of the record, unchanged.
	Extra  map[string]json.RawMessage
	Origin string // the definitions file that contains the flag; empty if the flag was created through the API
	flagMeta

	// before is the flag as loaded, or nil for a new flag. activity is the name of the change in
	// the log; empty means created, updated or deleted. note is the reason for the change,
	// optional.
	before         *storedFlag
	activity, note string
	// wantsDashboard requests a dashboard about the use of the flag.
	wantsDashboard bool
	// approved is the approval of the change, or nil if there is no approval. approvalExempt is set
	// if the change needed no approval because it only switches the flag off.
	approved       *approval
	approvalExempt bool
	// named is the number of dependents that an error about a deletion names; 0 means 5.
	named int
	// job is the background job that makes the change, as the trigger in the log. It is nil if a
	// user makes the change. Access and approvals were checked when the job was started.
	job json.RawMessage
}

// accessObject returns the flag as access rules refer to it.
func (f *storedFlag) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindFlag, ID: f.itemID(), Author: f.CreatedBy}
}

// flagMeta is the part of a flag that only this package reads: history, tags, links and pins.
type flagMeta struct {
	CreatedAt  management.Stamp `json:"created_at,omitzero"`
	CreatedBy  int64            `json:"created_by,omitempty"`
	UpdatedAt  management.Stamp `json:"updated_at,omitzero"`
	ModifiedBy int64            `json:"last_modified_by,omitempty"`
	// Context is the creation_context; empty means feature_flags.
	Context  string    `json:"creation_context,omitempty"`
	Hidden   bool      `json:"hidden,omitempty"`
	Archived bool      `json:"archived,omitempty"`
	Tags     []string  `json:"tags,omitempty"`
	Links    flagLinks `json:"links,omitzero"`
	// Rollback is stored as sent.
	Rollback          json.RawMessage `json:"rollback_conditions,omitempty"`
	PerformedRollback *bool           `json:"performed_rollback,omitempty"`
	// UsageDashboard is the id of the dashboard about the use of the flag.
	UsageDashboard *int64 `json:"usage_dashboard,omitempty"`
	// UsageEnriched is true if that dashboard has charts of the persons who saw and used the
	// feature.
	UsageEnriched bool        `json:"usage_enriched,omitempty"`
	Dashboards    []int64     `json:"analytics_dashboards,omitempty"`
	Enriched      bool        `json:"has_enriched_analytics,omitempty"`
	Pins          []storedPin `json:"pins,omitempty"` // newest first
}

// decodeFlag decodes a flag from the store. Records of definitions files may have any shape, so
// members that cannot be decoded are ignored. The error is not nil only if a record that was
// written by this package is damaged.
func decodeFlag(project int64, d *Definition) (*storedFlag, error) {
	f := &storedFlag{ID: d.ID, Project: project, Key: d.Key, Deleted: d.Deleted, Origin: d.Origin}
	if err := json.Unmarshal(d.Record, &f.Extra); err != nil && d.Origin == "" {
		return nil, fmt.Errorf("the stored flag %d is invalid: %w", d.ID, err)
	}
	if len(d.Meta) > 0 {
		if err := json.Unmarshal(d.Meta, &f.flagMeta); err != nil {
			return nil, fmt.Errorf("the stored flag %d is invalid: %w", d.ID, err)
		}
	}
	// take decodes a member and removes it from Extra.
	take := func(name string, to any) bool {
		raw, ok := f.Extra[name]
		delete(f.Extra, name)
		return ok && json.Unmarshal(raw, to) == nil
	}
	for _, name := range []string{"id", "team_id", "key", "deleted", "has_experiment"} { // these are derived from other fields
		delete(f.Extra, name)
	}
	if d.Origin == "" {
		delete(f.Extra, "pins")     // derived from flagMeta.Pins
		delete(f.Extra, "archived") // flagMeta.Archived
	}
	take("name", &f.Name)
	take("active", &f.Active)
	take("version", &f.Version)
	take("ensure_experience_continuity", &f.Continuity)
	take("evaluation_runtime", &f.Runtime)
	if !take("evaluation_contexts", &f.Contexts) || f.Contexts == nil {
		take("evaluation_tags", &f.Contexts)
	}
	take("evaluation_contexts_match_mode", &f.ContextsMatch)
	take("bucketing_identifier", &f.Bucketing)
	take("bucketing_hash", &f.Hash)
	take("is_remote_configuration", &f.RemoteConfig)
	take("has_encrypted_payloads", &f.Encrypted)
	var filters map[string]json.RawMessage
	if raw := f.Extra["filters"]; json.Unmarshal(raw, &filters) == nil && filters != nil {
		f.Filters = raw
	} else {
		f.Filters = json.RawMessage(`{"groups":[]}`)
	}
	delete(f.Extra, "filters")
	return f, nil
}

// record returns the document of the flag that /flags reads.
func (f *storedFlag) record() json.RawMessage {
	out := map[string]any{}
	// Keep the members that this package does not decode, and overwrite the rest.
	for name, raw := range f.Extra {
		out[name] = raw
	}
	maps.Copy(out, map[string]any{
		"id": f.ID, "team_id": f.Project, "key": f.Key, "name": f.Name, "filters": f.Filters, "active": f.Active, "deleted": f.Deleted,
		"version": f.Version, "ensure_experience_continuity": f.Continuity != nil && *f.Continuity, "evaluation_runtime": f.runtime(),
		"has_encrypted_payloads": f.Encrypted, "has_experiment": liveCount(f.Links.Experiments) > 0, "is_remote_configuration": f.RemoteConfig,
	})
	if len(f.Pins) > 0 {
		out["pins"] = pinRecords(f.Pins)
	}
	if len(f.Contexts) > 0 {
		out["evaluation_contexts"] = f.Contexts
	}
	for name, text := range map[string]string{
		// Members with their default are omitted.
		"evaluation_contexts_match_mode": f.ContextsMatch, "bucketing_identifier": f.Bucketing, "bucketing_hash": f.Hash,
	} {
		if text != "" {
			out[name] = text
		}
	}
	return management.Encode(out)
}

// runtime returns the evaluation runtime, with the default.
func (f *storedFlag) runtime() string {
	if f.Runtime == "" {
		return "all"
	}
	return f.Runtime
}

// definition returns the flag in the form of the store.
func (f *storedFlag) definition() *Definition {
	return &Definition{ID: f.ID, Key: f.Key, Record: f.record(), Meta: management.Encode(f.flagMeta), Origin: f.Origin, Deleted: f.Deleted}
}

// itemID returns the id of the flag in the log.
func (f *storedFlag) itemID() string { return strconv.FormatInt(f.ID, 10) }

// minimalFlag is the short form of a flag in responses about other objects (§5.1.3).
type minimalFlag struct {
	ID         int64           `json:"id"`
	Team       int64           `json:"team_id"`
	Name       string          `json:"name"`
	Key        string          `json:"key"`
	Filters    json.RawMessage `json:"filters"`
	Deleted    bool            `json:"deleted"`
	Active     bool            `json:"active"`
	Continuity *bool           `json:"ensure_experience_continuity"`
	Encrypted  bool            `json:"has_encrypted_payloads"`
	Version    int64           `json:"version"`
	Runtime    string          `json:"evaluation_runtime"`
	Tags       []string        `json:"evaluation_tags"`
}

// encodeMinimalFlag returns a flag in its short form.
func encodeMinimalFlag(f *storedFlag) json.RawMessage {
	return management.Encode(minimalFlag{
		f.ID, f.Project, f.Name, f.Key, f.Filters, f.Deleted, f.Active, f.Continuity, f.Encrypted, f.Version, f.runtime(), management.NonNilStrings(f.Contexts),
	})
}

// loadFlag returns a flag of the caller's project, deleted or not. It returns ErrNotFound if there
// is no such flag. It does not check access.
func (s Flags) loadFlag(tx Tx, scope *management.Scope, id int64) (*storedFlag, error) {
	if id <= 0 {
		return nil, management.ErrNotFound()
	}
	d, err := tx.Definition(FlagDefinition, scope.Project.ID, id)
	if err == nil && d == nil {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	f, err := decodeFlag(scope.Project.ID, d)
	if err != nil {
		return nil, err
	}
	f.before, err = decodeFlag(scope.Project.ID, d) // decoded twice: changes of f must not be visible in f.before
	return f, err
}

// makeFlag creates a flag from a draft. Deleted flags with the same key are removed permanently.
func (s Flags) makeFlag(tx Tx, scope *management.Scope, d flagDraft) (*storedFlag, error) {
	f := &storedFlag{Key: d.Key, Name: d.Name, Filters: d.Filters, Active: d.Active}
	f.Tags, f.Context, f.Hidden = d.Tags, d.Context, d.Hidden
	return f, s.addFlag(tx, scope, f)
}

// addFlag checks and stores a new flag and sets its id.
func (s Flags) addFlag(tx Tx, scope *management.Scope, f *storedFlag) error {
	f.initialize(s.core, scope)
	if f.Filters == nil {
		f.Filters = json.RawMessage(`{"groups":[{"properties":[],"rollout_percentage":null}]}`)
	}
	if err := s.check(tx, scope, f); err != nil {
		return err
	}
	if err := s.purge(tx, scope, f.Key); err != nil {
		return err
	}
	d := f.definition()
	if err := putDefinition(tx, FlagDefinition, scope.Project.ID, d); err != nil { // sets d.ID, which the record contains
		return err
	}
	f.ID = d.ID
	return s.putFlag(tx, scope, f)
}

// initialize sets the fields of a new flag that do not depend on the request.
func (f *storedFlag) initialize(s *core, scope *management.Scope) {
	f.Project, f.Version = scope.Project.ID, 1
	f.CreatedAt, f.UpdatedAt = management.NewStamp(s.Env.Now()), management.NewStamp(s.Env.Now())
	f.CreatedBy, f.ModifiedBy = scope.User.ID, scope.User.ID
}

// saveNew checks and stores a new flag that already has an id.
func (s Flags) saveNew(tx Tx, scope *management.Scope, f *storedFlag) error {
	f.initialize(s.core, scope)
	if err := s.check(tx, scope, f); err != nil {
		return err
	}
	return s.putFlag(tx, scope, f)
}

// saveFlag checks and stores a changed flag as its next version. f must be the result of loadFlag.
func (s Flags) saveFlag(tx Tx, scope *management.Scope, f *storedFlag) error {
	if f.Origin != "" {
		return errInFile(f)
	}
	if err := s.check(tx, scope, f); err != nil {
		return err
	}
	f.Version++
	f.UpdatedAt, f.ModifiedBy = management.NewStamp(s.Env.Now()), scope.User.ID
	return s.putFlag(tx, scope, f)
}

// checkWriteAccess returns an error if the caller may not create or change the flag. Hidden flags
// belong to their surveys, and changes that create no version, such as links, need no access.
func (f *storedFlag) checkWriteAccess(scope *management.Scope) error {
	switch {
	case f.Hidden, f.job != nil:
		return nil
	case f.before == nil:
		return scope.RequireAccess(management.Editor, management.AccessObject{Kind: kindFlag})
	case f.Version == f.before.Version:
		return nil
	}
	return scope.RequireAccess(management.Editor, f.before.accessObject())
}

// putFlag stores a checked flag with its version, and logs the change. Every write but that of pins
// ends here, so access and approvals are checked here.
func (s Flags) putFlag(tx Tx, scope *management.Scope, f *storedFlag) error {
	if err := f.checkWriteAccess(scope); err != nil {
		return err
	}
	if err := f.checkApproval(scope); err != nil {
		return err
	}
	if err := putDefinition(tx, FlagDefinition, scope.Project.ID, f.definition()); err != nil {
		return err
	}
	if err := saveVersion(tx, f); err != nil {
		return err
	}
	return s.logFlag(tx, scope, f)
}

// logFlag writes the change of a flag to the log. It writes no entry for an update without changes
// and without a note.
func (s Flags) logFlag(tx Tx, scope *management.Scope, f *storedFlag) error {
	var before any
	activity := f.activity
	switch {
	case f.before == nil:
		activity = "created"
	case activity != "":
	case f.Deleted && !f.before.Deleted:
		activity = "deleted"
	default:
		activity = "updated"
	}
	if f.before != nil {
		before = f.before.loggedMembers()
	}
	list, err := management.Changes(flagActivityScope, before, f.loggedMembers())
	if err != nil || len(list) == 0 && activity == "updated" && f.note == "" {
		return err
	}
	detail := management.ActivityDetail{Name: f.Key, Changes: list, Note: f.note, Version: f.Version, Trigger: f.job, System: f.job != nil}
	f.logApproval(&detail)
	return s.Env.LogActivityAs(tx, scope.Caller, management.ProjectParent(scope.Project.ID), activity, flagActivityScope, f.itemID(), detail)
}

// loggedMembers returns the members whose changes are logged.
func (f *storedFlag) loggedMembers() map[string]json.RawMessage {
	out, _ := management.JSONMembers(f.flagMeta) // both are JSON objects, so there is no error
	record, _ := management.JSONMembers(f.record())
	maps.Copy(out, record)
	delete(out, "has_experiment")
	return out
}

// purge permanently removes the deleted flags with a key, with their versions and pins. It fails if
// an experiment still uses one of them.
func (s Flags) purge(tx Tx, scope *management.Scope, key string) error {
	list, _, err := tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: scope.Project.ID, Deleted: true, Match: func(d *Definition) bool { return d.Key == key }})
	if err != nil {
		return err
	}
	for i := range list {
		f, err := decodeFlag(scope.Project.ID, &list[i])
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
		if err := s.retainPins(tx, f, func(*storedPin) (bool, error) { return false, nil }); err != nil {
			return err
		}
		if err := tx.DeleteDefinition(FlagDefinition, scope.Project.ID, f.ID); err != nil {
			return err
		}
	}
	return nil
}
