package featureflags

import (
	"context"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Enable switches a flag on or off. Switching a flag on also takes it out of the archive. If the
// flag already has the state, no new version is created (spec/clients.md §7.2).
func (s Flags) Enable(ctx context.Context, scope *management.Scope, id int64, enabled bool) (*Flag, error) {
	return s.changeState(ctx, scope, id, func(f *storedflags.Flag) { f.Active = enabled })
}

// Archive moves a flag into or out of the archive. Archiving switches the flag off; moving it out
// does not switch it on.
func (s Flags) Archive(ctx context.Context, scope *management.Scope, id int64, archived bool) (*Flag, error) {
	return s.changeState(ctx, scope, id, func(f *storedflags.Flag) { f.Archived, f.Active = archived, f.Active && !archived })
}

// changeState applies change to a flag, and stores the flag if active or archived has changed.
func (s Flags) changeState(ctx context.Context, scope *management.Scope, id int64, change func(*storedflags.Flag)) (*Flag, error) {
	return management.Write(ctx, &s.Env, func(tx storeTx) (*Flag, error) {
		f, err := s.stored.Load(tx, scope, id)
		if err == nil {
			err = scope.RequireAccess(management.Editor, f.AccessObject())
		}
		if err == nil && f.Deleted {
			err = PlainError("This feature flag has been deleted. Restore it before changing whether it is on or archived.")
		}
		if err != nil {
			return nil, err
		}
		if change(f); f.Active != f.Before.Active || f.Archived != f.Before.Archived {
			if f.Active && f.PerformedRollback != nil { // as an update of active does
				f.PerformedRollback = new(bool)
			}
			err = s.stored.Save(tx, scope, f)
		}
		if err != nil {
			return nil, err
		}
		return s.newRenderer(&view{Tx: tx, Scope: scope}).render(f)
	})
}
