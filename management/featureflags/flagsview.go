package featureflags

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// Flag is a flag as it is shown (§5.1.1).
type Flag struct {
	ID            int64                  `json:"id"`
	Name          string                 `json:"name"`
	Key           string                 `json:"key"`
	Filters       json.RawMessage        `json:"filters"`
	Deleted       bool                   `json:"deleted"`
	Active        bool                   `json:"active"`
	Archived      bool                   `json:"archived"`
	CreatedBy     *management.UserView   `json:"created_by"`
	CreatedAt     management.Stamp       `json:"created_at"`
	UpdatedAt     management.Stamp       `json:"updated_at"`
	Version       int64                  `json:"version"`
	ModifiedBy    *management.UserView   `json:"last_modified_by"`
	Simple        bool                   `json:"is_simple_flag"`
	Rollout       json.RawMessage        `json:"rollout_percentage"`
	Continuity    *bool                  `json:"ensure_experience_continuity"`
	Experiments   []linkID               `json:"experiment_set"`
	Surveys       []flagLink             `json:"surveys"`
	Features      []flagLink             `json:"features"`
	Rollback      json.RawMessage        `json:"rollback_conditions"`
	RolledBack    *bool                  `json:"performed_rollback"`
	CanEdit       bool                   `json:"can_edit"`
	Access        management.AccessLevel `json:"user_access_level"`
	Tags          []string               `json:"tags"`
	EvaluationTag []string               `json:"evaluation_tags"`
	Contexts      []string               `json:"evaluation_contexts"`
	ContextsMatch string                 `json:"evaluation_contexts_match_mode"`
	Dashboard     *int64                 `json:"usage_dashboard"`
	Dashboards    []int64                `json:"analytics_dashboards"`
	Enriched      bool                   `json:"has_enriched_analytics"`
	RemoteConfig  bool                   `json:"is_remote_configuration"`
	Encrypted     bool                   `json:"has_encrypted_payloads"`
	Status        string                 `json:"status"`
	Runtime       string                 `json:"evaluation_runtime"`
	Bucketing     *string                `json:"bucketing_identifier"`
	Hash          *string                `json:"bucketing_hash"`
	LastCalled    management.Stamp       `json:"last_called_at"`
}

// flagRenderer shows flags; what several have in common is looked up once.
type flagRenderer struct {
	*view
	now     time.Time
	cohorts map[string]*string // names by id
}

func (s Flags) newRenderer(v *view) *flagRenderer {
	return &flagRenderer{v, s.Env.Now(), map[string]*string{}}
}

// render is a flag as it is shown.
func (l *flagRenderer) render(f *storedFlag) (*Flag, error) {
	sh := f.shape()
	out := &Flag{
		ID: f.ID, Name: f.Name, Key: f.Key, Deleted: f.Deleted, Active: f.Active, Archived: f.Archived,
		CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, Version: f.Version, Continuity: f.Continuity,
		Experiments: []linkID{}, Features: liveLinks(f.Links.Features),
		Rollback: f.Rollback, RolledBack: f.PerformedRollback, Access: l.AccessTo(f.accessObject()),
		Tags: management.NonNilStrings(f.Tags), EvaluationTag: management.NonNilStrings(f.Contexts), Contexts: management.NonNilStrings(f.Contexts), ContextsMatch: f.ContextsMatch,
		Dashboard: f.UsageDashboard, Dashboards: f.Dashboards, Enriched: f.Enriched, RemoteConfig: f.RemoteConfig, Encrypted: f.Encrypted,
		Status: f.status(l.now).upper(), Runtime: f.runtime(), Bucketing: textOrNil(f.Bucketing), Hash: textOrNil(f.Hash),
		Simple: sh.isSimple(),
	}
	if out.Simple {
		out.Rollout = sh.Groups[0].Rollout
	}
	if out.ContextsMatch == "" {
		out.ContextsMatch = "any"
	}
	if out.Continuity == nil {
		out.Continuity = new(bool)
	}
	if out.Dashboards == nil {
		out.Dashboards = []int64{}
	}
	if f.Origin != "" {
		out.Access = management.Viewer
	}
	out.CanEdit = l.canEdit(f)
	for _, link := range liveLinks(f.Links.Experiments) {
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

// canEdit reports whether the caller may change a flag; nobody changes one of a file.
func (l *flagRenderer) canEdit(f *storedFlag) bool {
	return f.Origin == "" && l.AccessTo(f.accessObject()).Allows(management.Editor)
}

// surveys are those of a flag that the reader may see.
func (l *flagRenderer) surveys(f *storedFlag) ([]flagLink, error) {
	list := liveLinks(f.Links.Surveys)
	if !l.IsRestricted() {
		return list, nil
	}
	visible := []flagLink{}
	for _, link := range list {
		x, err := management.LoadRecord[storedSurvey](l.Tx, kindSurvey, l.Parent(), string(link.ID))
		if err != nil {
			return nil, err
		}
		if x != nil && l.CanSee(x.accessObject()) {
			visible = append(visible, link)
		}
	}
	return visible, nil
}

// lastCalled is when an SDK last told that it had used a flag, zero for never.
func lastCalled(tx Tx, f *storedFlag) (last time.Time, err error) {
	calls, err := tx.FlagCalls(f.Project, f.Key)
	for i := range calls {
		if calls[i].Last.After(last) {
			last = calls[i].Last
		}
	}
	return last, err
}

func liveLinks(list []flagLink) []flagLink {
	out := []flagLink{}
	for _, link := range list {
		if !link.Deleted {
			out = append(out, link)
		}
	}
	return out
}

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// filters are a flag's filters with the names of cohorts in them.
func (l *flagRenderer) filters(f *storedFlag) (json.RawMessage, error) {
	if !bytes.Contains(f.Filters, []byte(`"cohort"`)) {
		return f.Filters, nil
	}
	filters, ok := wire.Value(f.Filters).(map[string]any)
	if !ok {
		return f.Filters, nil
	}
	for _, p := range propertiesOf(filters) {
		if p["type"] != "cohort" {
			continue
		}
		name, err := l.cohort(p["value"])
		if err != nil {
			return nil, err
		}
		p["cohort_name"] = name
	}
	return wire.MustEncode(filters), nil
}

// cohort is the name of a cohort, nil for one that there is none of or that is hidden.
func (l *flagRenderer) cohort(value any) (*string, error) {
	number, ok := value.(json.Number)
	if !ok {
		return nil, nil
	}
	if name, ok := l.cohorts[number.String()]; ok {
		return name, nil
	}
	c, err := findCohort(l.Tx, l.Project.ID, number)
	if err != nil || c == nil || !l.CanSee(c.accessObject) {
		return nil, err
	}
	l.cohorts[number.String()] = &c.Name
	return &c.Name, nil
}
