package storedflags

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Kind is the kind of flags in access rules.
const Kind = "feature_flag"

// MaxKey limits the key of a flag or variant, in characters.
const MaxKey = 400

// MaxNote limits the note of a change, in characters.
const MaxNote = 500

// NoteField is the field for the reason of a change. It is stored with the version and in the log
// (spec/console.md N22).
var NoteField = management.Field{Name: "change_note", Type: management.Text, Null: true, Blank: true, MaxLength: MaxNote, Custom: true, Help: "reason for the change, stored with the version and in the activity log"}

// Flag is a flag as stored. The fields before Meta are written to Definition.Record, the
// document that /flags reads (spec/flags.md §1.1); Meta is written to Definition.Meta. The JSON
// names are those of the fields of the API. The fields after Meta are not stored: they describe the
// change that is being made.
type Flag struct {
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
	Meta

	// Before is the flag as loaded, or nil for a new flag. Activity is the name of the change in
	// the log; empty means created, updated or deleted. Note is the reason for the change,
	// optional.
	Before         *Flag
	Activity, Note string
	// WantsDashboard requests a dashboard about the use of the flag.
	WantsDashboard bool
	// Approved is the approval of the change, or nil if there is no approval. approvalExempt is set
	// if the change needed no approval because it only switches the flag off.
	Approved       *Approval
	approvalExempt bool
	// Named is the number of dependents that an error about a deletion names; 0 means 5.
	Named int
	// Job is the background job that makes the change, as the trigger in the log. It is nil if a
	// user makes the change. Access and approvals were checked when the job was started.
	Job json.RawMessage
}

// Meta is the part of a flag that /flags does not read: history, tags, links and pins.
type Meta struct {
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
	UsageEnriched bool    `json:"usage_enriched,omitempty"`
	Dashboards    []int64 `json:"analytics_dashboards,omitempty"`
	Enriched      bool    `json:"has_enriched_analytics,omitempty"`
	Pins          []Pin   `json:"pins,omitempty"` // newest first
}

// Approval records that a change of a protected flag has been approved. It is set on a flag while
// an approved change request is applied to it.
type Approval struct {
	// Request is the id of the change request.
	Request int64
	// Approvers are the e-mail addresses of the users who approved it.
	Approvers []string
}

// AccessObject returns the flag as access rules refer to it.
func (f *Flag) AccessObject() management.AccessObject {
	return management.AccessObject{Kind: Kind, ID: f.ItemID(), Author: f.CreatedBy, Title: f.Key}
}

// Decode decodes a flag from the store. Records of definitions files may have any shape, so
// members that cannot be decoded are ignored. The error is not nil only if a record that was
// written by this package is damaged.
func Decode(project int64, d *management.Definition) (*Flag, error) {
	f := &Flag{ID: d.ID, Project: project, Key: d.Key, Deleted: d.Deleted, Origin: d.Origin}
	if err := json.Unmarshal(d.Record, &f.Extra); err != nil && d.Origin == "" {
		return nil, &storage.UnreadableError{What: fmt.Sprintf("flag %d", d.ID), Err: err}
	}
	if len(d.Meta) > 0 {
		if err := json.Unmarshal(d.Meta, &f.Meta); err != nil {
			return nil, &storage.UnreadableError{What: fmt.Sprintf("flag %d", d.ID), Err: err}
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
		delete(f.Extra, "pins")     // derived from Meta.Pins
		delete(f.Extra, "archived") // Meta.Archived
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

// Record returns the document of the flag that /flags reads.
func (f *Flag) Record() json.RawMessage {
	out := map[string]any{}
	// Keep the members that this package does not decode, and overwrite the rest.
	for name, raw := range f.Extra {
		out[name] = raw
	}
	maps.Copy(out, map[string]any{
		"id": f.ID, "team_id": f.Project, "key": f.Key, "name": f.Name, "filters": f.Filters, "active": f.Active, "deleted": f.Deleted,
		"version": f.Version, "ensure_experience_continuity": f.Continuity != nil && *f.Continuity, "evaluation_runtime": f.EffectiveRuntime(),
		"has_encrypted_payloads": f.Encrypted, "has_experiment": LiveCount(f.Links.Experiments) > 0, "is_remote_configuration": f.RemoteConfig,
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
	return storage.Encode(out)
}

// EffectiveRuntime returns the evaluation runtime, with the default.
func (f *Flag) EffectiveRuntime() string {
	if f.Runtime == "" {
		return "all"
	}
	return f.Runtime
}

// Definition returns the flag in the form of the store.
func (f *Flag) Definition() *management.Definition {
	return &management.Definition{ID: f.ID, Key: f.Key, Record: f.Record(), Meta: storage.Encode(f.Meta), Origin: f.Origin, Deleted: f.Deleted}
}

// ItemID returns the id of the flag in the log.
func (f *Flag) ItemID() string { return strconv.FormatInt(f.ID, 10) }

// Store reads, checks and writes the flags of a store.
type Store struct {
	// Env has the store and the clock.
	Env *management.Env[definitions.Tx]
}
