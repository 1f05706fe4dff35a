package featureflags

import (
	"context"

	"github.com/bunting-flags/bunting/management"
)

// Enable switches a flag on or off. Switching a flag on also takes it out of the archive. If the
// flag already has the state, no new version is created (spec/clients.md §7.2).
func (s Flags) Enable(ctx context.Context, scope *management.Scope, id int64, enabled bool) (*Flag, error) {
	return s.changeState(ctx, scope, id, func(f *storedFlag) { f.Active = enabled })
}

// Archive moves a flag into or out of the archive. Archiving switches the flag off; moving it out
// does not switch it on.
func (s Flags) Archive(ctx context.Context, scope *management.Scope, id int64, archived bool) (*Flag, error) {
	return s.changeState(ctx, scope, id, func(f *storedFlag) { f.Archived, f.Active = archived, f.Active && !archived })
}

// changeState applies change to a flag, and stores the flag if active or archived has changed.
func (s Flags) changeState(ctx context.Context, scope *management.Scope, id int64, change func(*storedFlag)) (*Flag, error) {
	return management.Write(ctx, &s.Env, func(tx Tx) (*Flag, error) {
		f, err := s.loadFlag(tx, scope, id)
		if err == nil {
			err = scope.RequireAccess(management.Editor, f.accessObject())
		}
		if err == nil && f.Deleted {
			err = PlainError("This feature flag has been deleted. Restore it before changing whether it is on or archived.")
		}
		if err != nil {
			return nil, err
		}
		if change(f); f.Active != f.before.Active || f.Archived != f.before.Archived {
			if f.Active && f.PerformedRollback != nil { // as an update of active does
				f.PerformedRollback = new(bool)
			}
			err = s.saveFlag(tx, scope, f)
		}
		if err != nil {
			return nil, err
		}
		return s.newRenderer(&view{Tx: tx, Scope: scope}).render(f)
	})
}
