package featureflags

import (
	"context"

	"github.com/bunting-flags/bunting/management"
)

// Enable switches a flag on or off; one that is switched on comes out of the archive. What
// is as it should be stays its version (spec/clients.md §7.2).
func (s Flags) Enable(ctx context.Context, st *management.Standing, id int64, on bool) (*Flag, error) {
	return s.turn(ctx, st, id, func(f *storedFlag) { f.Active = on })
}

// Archive puts a flag into the archive, which switches it off, or takes it out, which
// does not switch it on.
func (s Flags) Archive(ctx context.Context, st *management.Standing, id int64, away bool) (*Flag, error) {
	return s.turn(ctx, st, id, func(f *storedFlag) { f.Archived, f.Active = away, f.Active && !away })
}

// turn changes whether a flag is on or in the archive.
func (s Flags) turn(ctx context.Context, st *management.Standing, id int64, change func(*storedFlag)) (*Flag, error) {
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Flag, error) {
		f, err := s.loadFlag(tx, st, id)
		if err == nil {
			err = st.Needs(management.Editor, f.thing())
		}
		if err == nil && f.Deleted {
			err = PlainError("This feature flag has been deleted. Restore it before changing whether it is on or archived.")
		}
		if err != nil {
			return nil, err
		}
		if change(f); f.Active != f.was.Active || f.Archived != f.was.Archived {
			if f.Active && f.PerformedRollback != nil { // as a change of active does
				f.PerformedRollback = new(bool)
			}
			err = s.saveFlag(tx, st, f)
		}
		if err != nil {
			return nil, err
		}
		return s.look(&view{Tx: tx, Standing: st}).flag(f)
	})
}
