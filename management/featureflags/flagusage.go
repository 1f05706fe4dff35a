package featureflags

import (
	"context"

	"github.com/bunting-flags/bunting/management"
)

// watched reports whether a new flag gets a dashboard about its use: not one of an
// experiment, a survey or a feature (clients.md §7.1).
func watched(v management.Values) bool {
	of := v.Text("creation_context")
	return (of == "" || of == "feature_flags") && (!v.Has("_should_create_usage_dashboard") || v.Bool("_should_create_usage_dashboard"))
}

// giveUsage makes the dashboard about a flag's use, where one is wanted.
func (s Flags) giveUsage(v *view, f *storedFlag) error {
	if !f.watched || s.MakeUsage == nil {
		return nil
	}
	id, err := s.MakeUsage(v.Tx, v.Standing, f.Key)
	if err == nil && id != 0 {
		f.UsageDashboard, f.UsageEnriched = &id, false
	}
	return err
}

// hasUsage reports whether the dashboard about a flag's use is still there.
func (s Flags) hasUsage(tx Tx, f *storedFlag) (bool, error) {
	if f.UsageDashboard == nil {
		return false, nil
	}
	return s.HasDashboard(tx, f.Project, *f.UsageDashboard)
}

// MakeUsageDashboard makes the dashboard about a flag's use (clients.md §7.2).
func (s Flags) MakeUsageDashboard(ctx context.Context, st *management.Standing, id int64) (*done, error) {
	return s.changeUsage(ctx, st, id, func(v *view, f *storedFlag, there bool) error {
		if there {
			return PlainError("Usage dashboard already exists")
		}
		f.watched = true
		if err := s.giveUsage(v, f); err != nil {
			return err
		}
		if f.UsageDashboard == f.was.UsageDashboard {
			return management.Denied("You don't have access to dashboards of this project.")
		}
		return nil
	})
}

// EnrichUsageDashboard adds to it who saw and used the feature.
func (s Flags) EnrichUsageDashboard(ctx context.Context, st *management.Standing, id int64) (*done, error) {
	return s.changeUsage(ctx, st, id, func(v *view, f *storedFlag, there bool) error {
		switch {
		case !there:
			return PlainError("Usage dashboard not found. Make one first.")
		case f.UsageEnriched:
			return PlainError("Usage dashboard already has enriched data")
		case !f.Enriched:
			return PlainError("No enriched analytics available for this feature flag")
		}
		f.UsageEnriched = true
		return s.EnrichUsage(v.Tx, v.Standing, *f.UsageDashboard, f.Key)
	})
}

// changeUsage keeps what change makes of a flag's dashboard; the flag stays its version,
// for nothing that it answers changes.
func (s Flags) changeUsage(ctx context.Context, st *management.Standing, id int64, change func(v *view, f *storedFlag, there bool) error) (*done, error) {
	return management.Write(ctx, &s.Desk, func(tx Tx) (*done, error) {
		f, err := s.loadFlag(tx, st, id)
		if err == nil {
			err = st.Needs(management.Editor, f.thing())
		}
		if err == nil && f.Deleted {
			err = PlainError("This feature flag has been deleted. Restore it before changing its dashboard.")
		}
		if err == nil && f.Origin != "" {
			err = errInFile(f)
		}
		if err != nil {
			return nil, err
		}
		there, err := s.hasUsage(tx, f)
		if err == nil {
			err = change(&view{Tx: tx, Standing: st}, f, there)
		}
		if err != nil {
			return nil, err
		}
		return &done{Success: true}, s.putFlag(tx, st, f)
	})
}
