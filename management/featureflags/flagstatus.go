package featureflags

import (
	"context"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// staleAfter is how old a flag is that may be stale, and how long nobody has
// asked for one that is no longer called.
const staleAfter = 30 * 24 * time.Hour

// The words for what has become of a flag.
const (
	statusActive   = "active"
	statusStale    = "stale"
	statusInactive = "inactive"
	statusDeleted  = "deleted"
	statusUnknown  = "unknown"
)

// FlagStatus is what has become of a flag, and why. The first of Reasons decides.
type FlagStatus struct {
	Status     string           `json:"status"`
	Reason     string           `json:"reason"`
	Reasons    []flagReason     `json:"reasons"`
	LastCalled management.Stamp `json:"last_called_at"`
}

// flagReason is a reason for programs. Type is one of
//
//	deleted, not_found, disabled
//	partially_rolled_out  its answer is not the same for everybody
//	recently_created      it is, but the flag is younger than 30 days
//	always_the_same       Value is the answer that everybody gets
//	not_called            SDKs used it once, but not for 30 days
type flagReason struct {
	Type  string `json:"type"`
	Value any    `json:"value,omitempty"`
}

// upper is the word that stands in a flag's record.
func (s FlagStatus) upper() string { return strings.ToUpper(s.Status) }

// status says what has become of a flag, without its calls (§5.1.3).
func (f *storedFlag) status(now time.Time) FlagStatus {
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
	value, text := f.shape().constant()
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

// statusArchived is asked for by lists; a record says it by its archived.
const statusArchived = "archived"

// listStatuses are the words by which lists find flags.
var listStatuses = []string{statusActive, statusInactive, statusStale, statusArchived}

// listStatus is the word by which lists find a flag: its status, or that it is archived.
func (f *storedFlag) listStatus(now time.Time) string {
	if f.Archived {
		return statusArchived
	}
	return f.status(now).Status
}

// constant is the answer that everybody gets, with the reason for people; the text
// is empty when not everybody gets the same.
func (s *filterShape) constant() (value any, text string) {
	const boolean, variant = "This boolean flag will always evaluate to ", `This flag will always use the variant "`
	if s.Enrollment || isSet(s.SuperGroups) || isSet(s.Holdout) || isSet(s.HoldoutOld) {
		return nil, "" // these decide before the conditions do
	}
	if len(s.Groups) == 0 {
		return false, boolean + `"false"`
	}
	variants := s.variants()
	for i := range s.Groups {
		g := &s.Groups[i]
		switch {
		case !g.isFull():
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

// isSet reports whether a member of filters is there and not empty.
func isSet(raw []byte) bool { return !management.EmptyJSON(raw) }

// Status says what has become of a flag. One that there is not is unknown, with
// a 404 of the same form.
func (s Flags) Status(ctx context.Context, scope *management.Scope, id int64) (FlagStatus, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (FlagStatus, error) {
		d, err := tx.Definition(FlagDefinition, scope.Project.ID, id)
		if err != nil {
			return FlagStatus{}, err
		}
		if d == nil {
			return FlagStatus{Status: statusUnknown, Reason: "Flag could not be found", Reasons: []flagReason{{Type: "not_found"}}}, nil
		}
		f, err := decodeFlag(scope.Project.ID, d)
		if err != nil {
			return FlagStatus{}, err
		}
		out := f.status(s.Env.Now())
		called, err := lastCalled(tx, f)
		out.LastCalled = management.NewStamp(called)
		if !called.IsZero() && s.Env.Now().Sub(called) > staleAfter {
			out.Reasons = append(out.Reasons, flagReason{Type: "not_called"})
		}
		return out, err
	})
}

// Exists reports whether there is such a flag.
func (s FlagStatus) Exists() bool { return s.Status != statusUnknown }
