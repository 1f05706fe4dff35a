package featureflags

import (
	"bytes"
	"cmp"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Flag is a flag as the API returns it (§5.1.1).
type Flag struct {
	ID int64 `json:"id"`
	// Name is the description of the flag; Key identifies it in SDKs.
	Name string `json:"name"`
	Key  string `json:"key"`
	// Filters has the names of cohorts in addition to their ids.
	Filters json.RawMessage `json:"filters"`
	Deleted bool            `json:"deleted"`
	Active  bool            `json:"active"`
	// Archived flags are not active.
	Archived  bool                 `json:"archived"`
	CreatedBy *management.UserView `json:"created_by"`
	CreatedAt management.Stamp     `json:"created_at"`
	// UpdatedAt is the time of the last change, and ModifiedBy the user who made it.
	UpdatedAt management.Stamp `json:"updated_at"`
	// Version begins with 1 and is incremented by every change, except changes of links, pins and
	// the dashboard.
	Version    int64                `json:"version"`
	ModifiedBy *management.UserView `json:"last_modified_by"`
	// Simple is true if the flag has one condition for persons, without properties; see IsSimple.
	Simple bool `json:"is_simple_flag"`
	// Rollout is the percentage of a simple flag, or else null.
	Rollout json.RawMessage `json:"rollout_percentage"`
	// Continuity is not null: the default is false.
	Continuity *bool `json:"ensure_experience_continuity"`
	// Experiments are the ids of the experiments that use the flag and are not deleted.
	Experiments []storedflags.LinkID `json:"experiment_set"`
	// Surveys are the linked surveys that the caller may see.
	Surveys []storedflags.FlagLink `json:"surveys"`
	// Features are the early access features.
	Features []storedflags.FlagLink `json:"features"`
	// Rollback and RolledBack are stored and returned unchanged, except that switching the flag on
	// resets RolledBack.
	Rollback   json.RawMessage `json:"rollback_conditions"`
	RolledBack *bool           `json:"performed_rollback"`
	// CanEdit is false for flags of definitions files.
	CanEdit bool `json:"can_edit"`
	// File is the definitions file that contains the flag; it is absent if the API created the flag.
	File string `json:"definitions_file,omitempty"`
	// Access is viewer for flags of definitions files, since the API cannot change them.
	Access management.AccessLevel `json:"user_access_level"`
	Tags   []string               `json:"tags"`
	// EvaluationTag is the same list as Contexts.
	EvaluationTag []string `json:"evaluation_tags"`
	Contexts      []string `json:"evaluation_contexts"`
	// ContextsMatch is any or all.
	ContextsMatch string `json:"evaluation_contexts_match_mode"`
	// Dashboard is the id of the dashboard about the use of the flag.
	Dashboard *int64 `json:"usage_dashboard"`
	// Dashboards are ids of dashboards that users have connected with the flag.
	Dashboards []int64 `json:"analytics_dashboards"`
	Enriched   bool    `json:"has_enriched_analytics"`
	// RemoteConfig is true if the flag only delivers a payload.
	RemoteConfig bool `json:"is_remote_configuration"`
	// Encrypted is always false for flags of this server.
	Encrypted bool `json:"has_encrypted_payloads"`
	// Status is in upper case, for example STALE.
	Status string `json:"status"`
	// Runtime is server, client or all.
	Runtime string `json:"evaluation_runtime"`
	// Bucketing is null if unset, which means distinct_id; Hash is null for the project's hash.
	Bucketing *string `json:"bucketing_identifier"`
	Hash      *string `json:"bucketing_hash"`
	// LastCalled is the time of the last exposure; null if there is none.
	LastCalled management.Stamp `json:"last_called_at"`
}

// flagRenderer converts stored flags for responses. It caches the names of cohorts for the flags of
// one response.
type flagRenderer struct {
	*view
	// now is the time for the status of all flags.
	now     time.Time
	cohorts map[string]*string // names by id; nil if the cohort has no name
	// surveyObject is Config.AccessObject.
	surveyObject func(tx storeTx, scope *management.Scope, id string) (*management.AccessObject, error)
}

// newRenderer returns a renderer for one transaction and one caller.
func (s Flags) newRenderer(v *view) *flagRenderer {
	return &flagRenderer{v, s.Env.Now(), map[string]*string{}, s.SurveyObject}
}

// render returns a flag as the API returns it.
func (l *flagRenderer) render(f *storedflags.Flag) (*Flag, error) {
	sh := f.Shape()
	out := &Flag{
		ID: f.ID, Name: f.Name, Key: f.Key, Deleted: f.Deleted, Active: f.Active, Archived: f.Archived,
		CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, Version: f.Version, Continuity: f.Continuity,
		Experiments: []storedflags.LinkID{}, Features: storedflags.LiveLinks(f.Links.Features),
		Rollback: f.Rollback, RolledBack: f.PerformedRollback, Access: l.AccessTo(f.AccessObject()),
		Tags: management.NonNilStrings(f.Tags), EvaluationTag: management.NonNilStrings(f.Contexts), Contexts: management.NonNilStrings(f.Contexts), ContextsMatch: cmp.Or(f.ContextsMatch, "any"),
		Dashboard: f.UsageDashboard, Dashboards: f.Dashboards, Enriched: f.Enriched, RemoteConfig: f.RemoteConfig, Encrypted: f.Encrypted,
		Status: statusOfFlag(f, l.now).upper(), Runtime: f.EffectiveRuntime(), Bucketing: textOrNil(f.Bucketing), Hash: textOrNil(f.Hash),
		Simple: sh.IsSimple(),
	}
	if out.Simple {
		out.Rollout = sh.Groups[0].Rollout
	}
	// Clients expect lists and defaults instead of null.
	if out.Continuity == nil {
		out.Continuity = new(bool)
	}
	if out.Dashboards == nil {
		out.Dashboards = []int64{}
	}
	// A flag of a definitions file is read-only whatever the access rules allow.
	if f.Origin != "" {
		out.Access = management.Viewer
	}
	out.CanEdit, out.File = l.canEdit(f), f.Origin
	for _, link := range storedflags.LiveLinks(f.Links.Experiments) {
		out.Experiments = append(out.Experiments, link.ID)
	}
	var err error
	if out.Surveys, err = l.surveys(f); err != nil {
		return nil, err
	}
	if out.CreatedBy, err = l.Author(f.CreatedBy); err != nil {
		return nil, err
	}
	if out.ModifiedBy, err = l.Author(f.ModifiedBy); err != nil {
		return nil, err
	}
	if out.Filters, err = l.filters(f); err != nil {
		return nil, err
	}
	called, err := lastCalled(l.Tx, f)
	out.LastCalled = management.NewStamp(called)
	return out, err
}

// canEdit reports whether the caller may change a flag. Flags of definitions files cannot be
// changed.
func (l *flagRenderer) canEdit(f *storedflags.Flag) bool {
	return f.Origin == "" && l.AccessTo(f.AccessObject()).Allows(management.Editor)
}

// surveys returns the surveys of a flag that the caller may see.
func (l *flagRenderer) surveys(f *storedflags.Flag) ([]storedflags.FlagLink, error) {
	list := storedflags.LiveLinks(f.Links.Surveys)
	// Without access rules for the caller there is no need to load the surveys.
	if !l.IsRestricted() {
		return list, nil
	}
	visible := []storedflags.FlagLink{}
	for _, link := range list {
		object, err := l.surveyObject(l.Tx, l.Scope, string(link.ID))
		if err != nil {
			return nil, err
		}
		if object != nil && l.CanSee(*object) {
			visible = append(visible, link)
		}
	}
	return visible, nil
}

// lastCalled returns the time of the last exposure of a flag, or the zero time if there is none.
func lastCalled(tx storeTx, f *storedflags.Flag) (last time.Time, err error) {
	calls, err := tx.FlagCalls(f.Project, f.Key)
	for i := range calls {
		if calls[i].Last.After(last) {
			last = calls[i].Last
		}
	}
	return last, err
}

// textOrNil returns nil for the empty string, which JSON represents as null.
func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// filters returns the filters of a flag with the names of the cohorts to which they refer.
func (l *flagRenderer) filters(f *storedflags.Flag) (json.RawMessage, error) {
	// Most flags refer to no cohort: avoid decoding their filters.
	if !bytes.Contains(f.Filters, []byte(`"cohort"`)) {
		return f.Filters, nil
	}
	filters, ok := wire.Value(f.Filters).(map[string]any)
	if !ok {
		return f.Filters, nil
	}
	for _, p := range storedflags.PropertiesOf(filters) {
		if p["type"] != "cohort" {
			continue
		}
		// Only a number is the id of a cohort; any other value has no name.
		name, err := l.cohort(p["value"])
		if err != nil {
			return nil, err
		}
		p["cohort_name"] = name
	}
	return wire.MustEncode(filters), nil
}

// cohort returns the name of a cohort, or nil if there is no such cohort or the caller may not see
// it.
func (l *flagRenderer) cohort(value any) (*string, error) {
	number, ok := value.(json.Number)
	if !ok {
		return nil, nil
	}
	if name, ok := l.cohorts[number.String()]; ok {
		return name, nil
	}
	c, err := storedflags.FindCohort(l.Tx, l.Project.ID, number)
	if err != nil || c == nil || !l.CanSee(c.AccessObject) {
		return nil, err
	}
	l.cohorts[number.String()] = &c.Name
	return &c.Name, nil
}
