package featureflags

import (
	"context"
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// flagRow is a flag as a row of a list (spec/console.md N10). Instead of the filters, it has a
// summary of them: rollout, numbers of conditions and variants, and kind.
type flagRow struct {
	ID   int64  `json:"id"`
	Key  string `json:"key"`
	Name string `json:"name"`
	// Active and Archived are the state of the flag: on or off, and in the archive or not.
	Active   bool `json:"active"`
	Archived bool `json:"archived"`
	Deleted  bool `json:"deleted"`
	// Status is in upper case, as in Flag, and StatusReason is a sentence for people.
	Status       string   `json:"status"`
	StatusReason string   `json:"status_reason"`
	Tags         []string `json:"tags"`
	// Version is incremented by every change of the flag.
	Version    int64                `json:"version"`
	UpdatedAt  management.Stamp     `json:"updated_at"`
	ModifiedBy *management.UserView `json:"last_modified_by"`
	CreatedBy  *management.UserView `json:"created_by"`
	// Rollout is the rollout percentage if all conditions have the same; null if they differ or
	// there are no conditions.
	Rollout json.RawMessage `json:"rollout_percentage"`
	// Conditions and Variants are the numbers of conditions and of variants.
	Conditions int `json:"conditions"`
	Variants   int `json:"variants"`
	// Everybody reports whether there is one condition, without filters.
	Everybody bool   `json:"everybody"`
	Kind      string `json:"kind"` // boolean, multivariate, remote_config
	// LastCalled is the time of the last exposure; null if there is none.
	LastCalled management.Stamp `json:"last_called_at"`
	// CanEdit reports whether the caller may change the flag.
	CanEdit bool `json:"can_edit"`
	// File is the definitions file that contains the flag; it is absent if the API created the flag.
	File   string `json:"definitions_file,omitempty"`
	Pinned int    `json:"pinned"` // number of pinned values that have not expired
}

// Rows returns a page of the flags that match q, as flagRow values. Deleted flags are not included.
func (s Flags) Rows(ctx context.Context, scope *management.Scope, q FlagQuery) (management.List[flagRow], error) {
	// Select first and render only one page: rendering loads users.
	return management.Read(ctx, &s.Env, func(tx storeTx) (management.List[flagRow], error) {
		all, err := s.selectMatching(tx, scope, &q)
		if err != nil {
			return management.List[flagRow]{}, err
		}
		calls, err := tx.LastCalls(scope.Project.ID)
		if err != nil {
			return management.List[flagRow]{}, err
		}
		page, count := lists.PageOf(all, q.Page)
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

// renderRow returns the row of a flag. It does not set LastCalled.
func (l *flagRenderer) renderRow(f *storedflags.Flag) (*flagRow, error) {
	shape, status := f.Shape(), statusOfFlag(f, l.now)
	// The status and the number of pins depend on the time of the renderer.
	out := &flagRow{
		ID: f.ID, Key: f.Key, Name: f.Name, Active: f.Active, Archived: f.Archived, Deleted: f.Deleted,
		Status: status.upper(), StatusReason: status.Reason, Tags: management.NonNilStrings(f.Tags), Version: f.Version, UpdatedAt: f.UpdatedAt,
		Rollout: shape.Rollout(), Conditions: len(shape.Groups), Variants: len(shape.Variants()), Kind: "boolean", CanEdit: l.canEdit(f), File: f.Origin,
		Pinned: len(f.LivePins(l.now)),
	}
	out.Everybody = len(shape.Groups) == 1 && len(shape.Groups[0].Properties) == 0
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
