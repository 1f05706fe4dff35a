package featureflags

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// LastCall is what somebody was really given last of a flag, as the SDK has told it with
// an exposure.
type LastCall struct {
	Value any // true, false, a variant; nil for none
	At    time.Time
	// Calls are all of the flag by that person.
	Calls int
	// Version of the flag and the SDK's name, 0 and empty where the event has none.
	Version int64
	SDK     string
	// DistinctID is that of the call. PersonChanged: the person is not any more what it
	// was then.
	DistinctID    string
	PersonChanged bool
}

// DifferenceReason is the first reason for which a value is not that of the last call
// (console.md N5): pinned, flag_changed, other_id, person_changed, supplied, unknown; nil where
// it is.
func (q *Question) DifferenceReason(value any, last *LastCall) *string {
	if last == nil || value == nil || value == last.Value {
		return nil
	}
	reason := "unknown"
	switch {
	case q.Pinned:
		reason = "pinned"
	case q.BringsRules || last.Version != q.Flag.Version:
		reason = "flag_changed"
	case last.DistinctID != q.Subject.DistinctID:
		reason = "other_id"
	case last.PersonChanged:
		reason = "person_changed"
	case q.Supplied:
		reason = "supplied"
	}
	return &reason
}

// maxVersionLookback is how many versions back the one of a call is looked for.
const maxVersionLookback = 100

// FillVersions says of calls, by the id of the flag, which version was in force, where
// the SDK has not told.
func (s Flags) FillVersions(ctx context.Context, scope *management.Scope, calls map[int64]*LastCall) error {
	return s.Env.Store.Read(ctx, func(tx Tx) error {
		for id, call := range calls {
			if call.Version != 0 {
				continue
			}
			f, err := s.loadFlag(tx, scope, id)
			if err != nil {
				return err
			}
			if call.Version, err = versionAt(tx, f, call.At); err != nil {
				return err
			}
		}
		return nil
	})
}

// versionAt is the version of a flag that was in force at a time, 0 where that is too
// long ago to be known.
func versionAt(tx Tx, f *storedFlag, when time.Time) (int64, error) {
	if !when.Before(f.UpdatedAt.Time) {
		return f.Version, nil
	}
	records, _, err := tx.List(management.Query{Kind: kindFlagVersion, Parent: versionsParent(f), Descending: true, Limit: maxVersionLookback})
	for i := range records {
		v, err := management.Decode[storedVersion](&records[i])
		if err != nil || !when.Before(v.At.Time) {
			return v.Version, err
		}
	}
	return 0, err
}
