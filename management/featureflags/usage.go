package featureflags

import (
	"context"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// wantsUsageDashboard reports whether a new flag gets a dashboard about its use. Flags of
// experiments, surveys and early access features get none by default (clients.md §7.1).
func wantsUsageDashboard(v management.Values) bool {
	creationContext := v.Text("creation_context")
	return (creationContext == "" || creationContext == "feature_flags") && (!v.Has("_should_create_usage_dashboard") || v.Bool("_should_create_usage_dashboard"))
}

// createUsageDashboard creates the dashboard about a flag's use if the flag is to have one.
func (s Flags) createUsageDashboard(v *view, f *storedflags.Flag) error {
	if !f.WantsDashboard || s.MakeUsage == nil {
		return nil
	}
	id, err := s.MakeUsage(v.Tx, v.Scope, f.Key)
	if err == nil && id != 0 {
		f.UsageDashboard, f.UsageEnriched = &id, false
	}
	return err
}

// hasUsage reports whether the dashboard about a flag's use exists and was not deleted.
func (s Flags) hasUsage(tx storeTx, f *storedflags.Flag) (bool, error) {
	if f.UsageDashboard == nil {
		return false, nil
	}
	return s.HasDashboard(tx, f.Project, *f.UsageDashboard)
}

// MakeUsageDashboard creates the dashboard about a flag's use (clients.md §7.2). It returns a
// PlainError if the dashboard exists.
func (s Flags) MakeUsageDashboard(ctx context.Context, scope *management.Scope, id int64) (*definitions.SuccessResult, error) {
	return s.changeUsage(ctx, scope, id, func(v *view, f *storedflags.Flag, exists bool) error {
		if exists {
			return PlainError("Usage dashboard already exists")
		}
		f.WantsDashboard, f.UsageDashboard = true, nil // the dashboard that it names was deleted
		if err := s.createUsageDashboard(v, f); err != nil {
			return err
		}
		// MakeUsage has returned no dashboard: the caller may not create one.
		if f.UsageDashboard == nil {
			return management.Denied("You don't have access to dashboards of this project.")
		}
		return nil
	})
}

// EnrichUsageDashboard adds charts of the persons who saw and used the feature to the dashboard
// about a flag's use. It returns a PlainError if there is no dashboard, it has these charts
// already, or the flag has no enriched analytics.
func (s Flags) EnrichUsageDashboard(ctx context.Context, scope *management.Scope, id int64) (*definitions.SuccessResult, error) {
	return s.changeUsage(ctx, scope, id, func(v *view, f *storedflags.Flag, exists bool) error {
		switch {
		case !exists:
			return PlainError("Usage dashboard not found. Create one first.")
		case f.UsageEnriched:
			return PlainError("Usage dashboard already has enriched data")
		case !f.Enriched:
			return PlainError("No enriched analytics available for this feature flag")
		}
		f.UsageEnriched = true
		return s.EnrichUsage(v.Tx, v.Scope, *f.UsageDashboard, f.Key)
	})
}

// changeUsage calls change and stores the flag. The version of the flag does not change, because
// its values do not depend on the dashboard.
func (s Flags) changeUsage(ctx context.Context, scope *management.Scope, id int64, change func(v *view, f *storedflags.Flag, exists bool) error) (*definitions.SuccessResult, error) {
	return management.Write(ctx, &s.Env, func(tx storeTx) (*definitions.SuccessResult, error) {
		f, err := s.stored.Load(tx, scope, id)
		if err == nil {
			err = scope.RequireAccess(management.Editor, f.AccessObject())
		}
		if err == nil && f.Deleted {
			err = PlainError("This feature flag has been deleted. Restore it before changing its dashboard.")
		}
		if err == nil && f.Origin != "" {
			err = storedflags.ErrInFile(f)
		}
		if err != nil {
			return nil, err
		}
		exists, err := s.hasUsage(tx, f)
		if err == nil {
			err = change(&view{Tx: tx, Scope: scope}, f, exists)
		}
		if err != nil {
			return nil, err
		}
		return &definitions.SuccessResult{Success: true}, s.stored.Put(tx, scope, f)
	})
}
