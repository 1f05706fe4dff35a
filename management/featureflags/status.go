package featureflags

import (
	"context"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// staleAfter is the age from which a flag may be stale, and the time without calls after which a
// flag counts as not called.
const staleAfter = 30 * 24 * time.Hour

// Values of FlagStatus.Status.
const (
	statusActive   = "active"
	statusStale    = "stale"
	statusInactive = "inactive"
	statusDeleted  = "deleted"
	statusUnknown  = "unknown"
)

// FlagStatus is the status of a flag, with the reasons for it. The first of Reasons determines the
// status; further reasons are additional information.
type FlagStatus struct {
	Status string `json:"status"`
	// Reason is a sentence for people.
	Reason  string       `json:"reason"`
	Reasons []flagReason `json:"reasons"`
	// LastCalled is the time of the last exposure; null if there is none.
	LastCalled management.Stamp `json:"last_called_at"`
}

// flagReason is a reason in a form for programs. Type is one of
//
//	deleted, not_found, disabled
//	partially_rolled_out  subjects may receive different values
//	recently_created      all receive Value, but the flag is younger than 30 days
//	always_the_same       all receive Value
//	not_called            SDKs have called the flag, but not in the last 30 days
type flagReason struct {
	Type  string `json:"type"`
	Value any    `json:"value,omitempty"`
}

// upper returns the status in the form of a flag's record.
func (s FlagStatus) upper() string { return strings.ToUpper(s.Status) }

// statusOfFlag returns the status of a flag (§5.1.3). It does not consider the calls of the flag.
func statusOfFlag(f *storedflags.Flag, now time.Time) FlagStatus {
	newStatus := func(status, text, kind string) FlagStatus {
		return FlagStatus{Status: status, Reason: text, Reasons: []flagReason{{Type: kind}}}
	}
	const open = "Flag is not fully rolled out and may still be active"
	if f.Deleted {
		return newStatus(statusDeleted, "Flag has been deleted", "deleted")
	}
	if !f.Active {
		return newStatus(statusInactive, "Flag is disabled", "disabled")
	}
	value, text := constantValue(f.Shape())
	switch {
	case text == "":
		return newStatus(statusActive, open, "partially_rolled_out")
	case now.Sub(f.CreatedAt.Time) <= staleAfter:
		out := newStatus(statusActive, open, "recently_created")
		out.Reasons[0].Value = value
		return out
	}
	return FlagStatus{Status: statusStale, Reason: text, Reasons: []flagReason{{Type: "always_the_same", Value: value}}}
}

// statusArchived is a status in queries of lists. Records have a member archived instead.
const statusArchived = "archived"

// listStatuses are the values of status in queries of lists.
var listStatuses = []string{statusActive, statusInactive, statusStale, statusArchived}

// listStatus returns the status of a flag in queries of lists: archived, or its own status.
func listStatus(f *storedflags.Flag, now time.Time) string {
	if f.Archived {
		return statusArchived
	}
	return statusOfFlag(f, now).Status
}

// constantValue returns the value that every subject receives, with a sentence that describes it. If
// subjects may receive different values, the text is empty.
func constantValue(s *storedflags.Shape) (value any, text string) {
	const boolean, variant = "This boolean flag will always evaluate to ", `This flag will always use the variant "`
	if s.Enrollment || !management.EmptyJSON(s.SuperGroups) || !management.EmptyJSON(s.Holdout) || !management.EmptyJSON(s.HoldoutOld) {
		return nil, "" // these are evaluated before the conditions
	}
	if len(s.Groups) == 0 {
		return false, boolean + `"false"`
	}
	variants := s.Variants()
	for i := range s.Groups {
		g := &s.Groups[i]
		// A full condition determines the value of all subjects that no earlier condition matches.
		// Earlier conditions with another variant are ignored here.
		switch {
		case !g.IsFull():
			continue
		case len(variants) == 0:
			return true, boolean + `"true"`
		case g.Variant != "":
			return g.Variant, variant + g.Variant + `"`
		}
		for _, v := range variants {
			if v.Rollout == 100 {
				return v.Key, variant + v.Key + `"`
			}
		}
	}
	return nil, ""
}

// Status returns the status of a flag. If there is no such flag, the status is unknown and the
// error is nil: the API responds with 404 and a body of the same form.
func (s Flags) Status(ctx context.Context, scope *management.Scope, id int64) (FlagStatus, error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (FlagStatus, error) {
		d, err := tx.Definition(management.FlagDefinition, scope.Project.ID, id)
		if err != nil {
			return FlagStatus{}, err
		}
		if d == nil {
			return FlagStatus{Status: statusUnknown, Reason: "Flag could not be found", Reasons: []flagReason{{Type: "not_found"}}}, nil
		}
		f, err := storedflags.Decode(scope.Project.ID, d)
		if err != nil {
			return FlagStatus{}, err
		}
		out := statusOfFlag(f, s.Env.Now())
		called, err := lastCalled(tx, f)
		out.LastCalled = management.NewStamp(called)
		if !called.IsZero() && s.Env.Now().Sub(called) > staleAfter {
			out.Reasons = append(out.Reasons, flagReason{Type: "not_called"})
		}
		return out, err
	})
}

// Exists reports whether the flag exists.
func (s FlagStatus) Exists() bool { return s.Status != statusUnknown }
