package featureflags

import (
	"context"
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
)

// flagRow is a flag as a list of many shows it (spec/console.md N10): what its filters
// amount to in place of them.
type flagRow struct {
	ID           int64                `json:"id"`
	Key          string               `json:"key"`
	Name         string               `json:"name"`
	Active       bool                 `json:"active"`
	Archived     bool                 `json:"archived"`
	Deleted      bool                 `json:"deleted"`
	Status       string               `json:"status"`
	StatusReason string               `json:"status_reason"`
	Tags         []string             `json:"tags"`
	Version      int64                `json:"version"`
	UpdatedAt    management.Stamp     `json:"updated_at"`
	ModifiedBy   *management.UserView `json:"last_modified_by"`
	CreatedBy    *management.UserView `json:"created_by"`
	// Rollout is the share that all conditions have; null where there are none, or they
	// differ.
	Rollout    json.RawMessage  `json:"rollout_percentage"`
	Conditions int              `json:"conditions"`
	Variants   int              `json:"variants"`
	Kind       string           `json:"kind"` // boolean, multivariate, remote_config
	LastCalled management.Stamp `json:"last_called_at"`
	CanEdit    bool             `json:"can_edit"`
	Pinned     int              `json:"pinned"` // how many values are pinned for somebody
}

// Rows returns a page of flags that are not deleted, as short rows.
func (s Flags) Rows(ctx context.Context, scope *management.Scope, q FlagQuery) (management.List[flagRow], error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (management.List[flagRow], error) {
		all, err := s.selectMatching(tx, scope, &q)
		if err != nil {
			return management.List[flagRow]{}, err
		}
		calls, err := tx.LastCalls(scope.Project.ID)
		if err != nil {
			return management.List[flagRow]{}, err
		}
		page, count := management.PageOf(all, q.Page)
		out := management.List[flagRow]{Count: count}
		renderer := s.newRenderer(&view{Tx: tx, Scope: scope})
		for _, f := range page {
			row, err := renderer.renderRow(f)
			if err != nil {
				return management.List[flagRow]{}, err
			}
			row.LastCalled = management.NewStamp(calls[f.Key])
			out.Results = append(out.Results, *row)
		}
		return out, nil
	})
}

// renderRow is a flag as a short row, without its calls.
func (l *flagRenderer) renderRow(f *storedFlag) (*flagRow, error) {
	shape, status := f.shape(), f.status(l.now)
	out := &flagRow{
		ID: f.ID, Key: f.Key, Name: f.Name, Active: f.Active, Archived: f.Archived, Deleted: f.Deleted,
		Status: status.upper(), StatusReason: status.Reason, Tags: management.NonNilStrings(f.Tags), Version: f.Version, UpdatedAt: f.UpdatedAt,
		Rollout: shape.rollout(), Conditions: len(shape.Groups), Variants: len(shape.variants()), Kind: "boolean", CanEdit: l.canEdit(f),
		Pinned: len(f.livePins(l.now)),
	}
	switch {
	case f.RemoteConfig:
		out.Kind = "remote_config"
	case out.Variants > 0:
		out.Kind = "multivariate"
	}
	var err error
	if out.CreatedBy, err = l.Author(f.CreatedBy); err == nil {
		out.ModifiedBy, err = l.Author(f.ModifiedBy)
	}
	return out, err
}
