package featureflags

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// flagActivityScope is what changes of flags are noted under.
const flagActivityScope = "FeatureFlag"

// flagDraft is what a flag is made of.
type flagDraft struct {
	Key, Name string
	// Filters of nil are one condition for everybody.
	Filters json.RawMessage
	Active  bool
	Tags    []string
	// Context is what it is made for: creation_context, empty for feature_flags.
	Context string
	// Hidden flags are left out of lists: those that surveys make for themselves.
	Hidden bool
}

// storedFlag is a flag as it is kept. What stands before flagMeta goes into
// Definition.Record, which is what /flags reads (spec/flags.md §1.1); flagMeta is
// Definition.Meta. The names are those of FlagFields.
type storedFlag struct {
	ID, Project   int64
	Key           string `json:"key"`
	Name          string `json:"name"`
	Filters       json.RawMessage
	Active        bool `json:"active"`
	Deleted       bool `json:"deleted"`
	Version       int64
	Continuity    *bool    `json:"ensure_experience_continuity"`
	Runtime       string   `json:"evaluation_runtime"` // server, client, all; empty is all
	Contexts      []string `json:"evaluation_contexts"`
	ContextsMatch string   `json:"evaluation_contexts_match_mode"` // any, all; empty is any
	Bucketing     string   `json:"bucketing_identifier"`           // distinct_id, device_id; empty is distinct_id
	Hash          string   `json:"bucketing_hash"`                 // sha1, murmur3; empty is the project's
	RemoteConfig  bool     `json:"is_remote_configuration"`
	Encrypted     bool
	// Extra are the other members of the record, as they came.
	Extra  map[string]json.RawMessage
	Origin string // the file that it stands in, empty for none
	flagMeta

	// before is the flag as it was loaded, nil for a new one. activity is the word for
	// what is done to it, empty for the usual ones. note is why it is done, if it was said.
	before         *storedFlag
	activity, note string
	// wantsDashboard: it gets a dashboard about its use.
	wantsDashboard bool
	// approved is why it may be another one now that nobody may change alone, nil for
	// nothing; free: it was switched off without an approval.
	approved       *approval
	approvalExempt bool
	// job is what changes it for somebody who was allowed to begin it (a trigger of the log),
	// nil for people.
	job json.RawMessage
}

func (f *storedFlag) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindFlag, ID: f.itemID(), Author: f.CreatedBy}
}

// flagMeta is what this room keeps of a flag.
type flagMeta struct {
	CreatedAt  management.Stamp `json:"created_at,omitzero"`
	CreatedBy  int64            `json:"created_by,omitempty"`
	UpdatedAt  management.Stamp `json:"updated_at,omitzero"`
	ModifiedBy int64            `json:"last_modified_by,omitempty"`
	Context    string           `json:"creation_context,omitempty"`
	Hidden     bool             `json:"hidden,omitempty"`
	Archived   bool             `json:"archived,omitempty"`
	Tags       []string         `json:"tags,omitempty"`
	Links      flagLinks        `json:"links,omitzero"`
	// Rollback is kept as it was sent.
	Rollback          json.RawMessage `json:"rollback_conditions,omitempty"`
	PerformedRollback *bool           `json:"performed_rollback,omitempty"`
	UsageDashboard    *int64          `json:"usage_dashboard,omitempty"`
	// UsageEnriched: it has charts of who saw and used the feature.
	UsageEnriched bool        `json:"usage_enriched,omitempty"`
	Dashboards    []int64     `json:"analytics_dashboards,omitempty"`
	Enriched      bool        `json:"has_enriched_analytics,omitempty"`
	Pins          []storedPin `json:"pins,omitempty"` // the newest first
}

// decodeFlag reads a flag as it is stored. Records of files may be of any shape:
// of those what cannot be read is left out.
func decodeFlag(project int64, d *Definition) (*storedFlag, error) {
	f := &storedFlag{ID: d.ID, Project: project, Key: d.Key, Deleted: d.Deleted, Origin: d.Origin}
	if err := json.Unmarshal(d.Record, &f.Extra); err != nil && d.Origin == "" {
		return nil, fmt.Errorf("the flag %d is not stored as it should be: %w", d.ID, err)
	}
	if len(d.Meta) > 0 {
		if err := json.Unmarshal(d.Meta, &f.flagMeta); err != nil {
			return nil, fmt.Errorf("the flag %d is not stored as it should be: %w", d.ID, err)
		}
	}
	take := func(name string, to any) bool {
		raw, ok := f.Extra[name]
		delete(f.Extra, name)
		return ok && json.Unmarshal(raw, to) == nil
	}
	for _, name := range []string{"id", "team_id", "key", "deleted", "has_experiment"} { // they follow from the rest
		delete(f.Extra, name)
	}
	if d.Origin == "" {
		delete(f.Extra, "pins") // they follow from flagMeta
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

// record is what /flags reads of the flag.
func (f *storedFlag) record() json.RawMessage {
	out := map[string]any{}
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
		"evaluation_contexts_match_mode": f.ContextsMatch, "bucketing_identifier": f.Bucketing, "bucketing_hash": f.Hash,
	} {
		if text != "" {
			out[name] = text
		}
	}
	return management.Encode(out)
}

func (f *storedFlag) runtime() string {
	if f.Runtime == "" {
		return "all"
	}
	return f.Runtime
}

func (f *storedFlag) definition() *Definition {
	return &Definition{ID: f.ID, Key: f.Key, Record: f.record(), Meta: management.Encode(f.flagMeta), Origin: f.Origin, Deleted: f.Deleted}
}

// itemID is how the log names the flag.
func (f *storedFlag) itemID() string { return strconv.FormatInt(f.ID, 10) }

// minimalFlag is a flag inside of another answer (§5.1.3).
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

// encodeMinimalFlag is a flag inside of another answer.
func encodeMinimalFlag(f *storedFlag) json.RawMessage {
	return management.Encode(minimalFlag{
		f.ID, f.Project, f.Name, f.Key, f.Filters, f.Deleted, f.Active, f.Continuity, f.Encrypted, f.Version, f.runtime(), management.NonNilStrings(f.Contexts),
	})
}

// loadFlag finds a flag, also one that is deleted.
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
	f.before, err = decodeFlag(scope.Project.ID, d) // of its own: the other one is going to change
	return f, err
}

// makeFlag makes a flag. Deleted ones of the same key are gone for good then.
func (s Flags) makeFlag(tx Tx, scope *management.Scope, d flagDraft) (*storedFlag, error) {
	f := &storedFlag{Key: d.Key, Name: d.Name, Filters: d.Filters, Active: d.Active}
	f.Tags, f.Context, f.Hidden = d.Tags, d.Context, d.Hidden
	return f, s.addFlag(tx, scope, f)
}

// addFlag stores a flag that is new.
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
	if err := putDefinition(tx, FlagDefinition, scope.Project.ID, d); err != nil { // gives it an id, which the record needs
		return err
	}
	f.ID = d.ID
	return s.putFlag(tx, scope, f)
}

// initialize makes a flag a new one.
func (f *storedFlag) initialize(s *core, scope *management.Scope) {
	f.Project, f.Version = scope.Project.ID, 1
	f.CreatedAt, f.UpdatedAt = management.NewStamp(s.Env.Now()), management.NewStamp(s.Env.Now())
	f.CreatedBy, f.ModifiedBy = scope.User.ID, scope.User.ID
}

// saveNew stores a flag that is new and has its id.
func (s Flags) saveNew(tx Tx, scope *management.Scope, f *storedFlag) error {
	f.initialize(s.core, scope)
	if err := s.check(tx, scope, f); err != nil {
		return err
	}
	return s.putFlag(tx, scope, f)
}

// saveFlag stores a flag that was loaded and changed, as its next version.
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

// checkWriteAccess refuses who may not make or change a flag. Those that surveys make for
// themselves are theirs, and what links to a flag does not change it.
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

// putFlag stores a flag that was checked, keeps the version and notes the change.
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

// logFlag writes into the log what has become of a flag.
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

// loggedMembers are the members whose changes are noted.
func (f *storedFlag) loggedMembers() map[string]json.RawMessage {
	out, _ := management.JSONMembers(f.flagMeta) // both are objects
	record, _ := management.JSONMembers(f.record())
	maps.Copy(out, record)
	delete(out, "has_experiment")
	return out
}

// purge takes the deleted flags of a key away for good.
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
