package featureflags

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// LastCall is the most recent call of a flag for a person, as an SDK reported it with an exposure
// event.
type LastCall struct {
	Value any // true, false or a variant, nil if there is no value
	At    time.Time
	// Calls is the number of all calls of the flag by the person.
	Calls int
	// Version is the version of the flag and SDK the name of the library, 0 and empty if the
	// event contains neither.
	Version int64
	SDK     string
	// DistinctID is the distinct id of the call. PersonChanged is true if the person has been
	// changed since.
	DistinctID    string
	PersonChanged bool
}

// DifferenceReason returns the first reason that explains why value differs from the value of the
// last call (console.md N5): pinned, flag_changed, other_id, person_changed, supplied or unknown.
// It returns nil if the values are equal or one of them is missing.
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

// maxVersionLookback is the number of stored versions that are searched for the version of a
// call.
const maxVersionLookback = 100

// FillVersions sets the Version of calls for which the SDK reported none, to the version that was
// in force at the time of the call. The keys of calls are ids of flags.
func (s Flags) FillVersions(ctx context.Context, scope *management.Scope, calls map[int64]*LastCall) error {
	return s.Env.Store.Read(ctx, func(tx storeTx) error {
		for id, call := range calls {
			if call.Version != 0 {
				continue
			}
			f, err := s.stored.Load(tx, scope, id)
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

// versionAt returns the version of a flag that was in force at a time, or 0 if it is older than
// the stored versions that are searched.
func versionAt(tx storeTx, f *storedflags.Flag, when time.Time) (int64, error) {
	// The current version has been in force since the flag's last change.
	if !when.Before(f.UpdatedAt.Time) {
		return f.Version, nil
	}
	records, _, err := tx.List(management.Query{Kind: storedflags.KindVersion, Parent: storedflags.VersionsParent(f), Descending: true, Limit: maxVersionLookback})
	for i := range records {
		v, err := management.Decode[storedflags.Version](&records[i])
		if err != nil || !when.Before(v.At.Time) {
			return v.Version, err
		}
	}
	return 0, err
}
