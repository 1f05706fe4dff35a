package rollouts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/management"
)

// holdNoticeInterval is the minimum interval of notices about holds.
const holdNoticeInterval = time.Hour

// hold keeps the current share. Users are notified once of each new set of reasons, at most once an
// hour, and when the hold exceeds its limit.
func (s Service) hold(v *view, x *storedRollout, e *guarded.Evaluation, now time.Time) error {
	if x.HeldSince.IsZero() {
		x.HeldSince = management.NewStamp(now)
	}
	limit := time.Duration(x.HoldLimit) * time.Second
	over := now.Sub(x.HeldSince.Time) >= limit
	if over && x.OnHoldLimit == "rollback" && !slices.Contains(e.Reasons, "flag_changed") {
		return s.rollBackFor(v, x, e, fmt.Sprintf("held longer than %s: %s", limit, strings.Join(e.Reasons, ", ")))
	}
	x.Status, x.Reasons = rolloutHolding, e.Reasons
	// Compare with the reasons of the last notice: later evaluations may have had other reasons
	// without a notice.
	isNew := !slices.Equal(x.NotifiedReasons, e.Reasons)
	isOverdue := over && x.NotifiedAt.Before(x.HeldSince.Add(limit))
	if now.Sub(x.NotifiedAt.Time) < holdNoticeInterval || !isNew && !isOverdue {
		return nil
	}
	x.NotifiedAt, x.NotifiedReasons = management.NewStamp(now), e.Reasons
	x.tell("hold", "Reasons: "+strings.Join(e.Reasons, ", ")+".")
	return nil
}

// endHold ends a hold. The time of the next step does not change. Users are notified if they were
// notified of the hold.
func (x *storedRollout) endHold() {
	if x.Status != rolloutHolding {
		return
	}
	next, wasNotified := x.Next, x.NotifiedReasons != nil
	x.setStatus(rolloutRunning)
	x.Next = next
	if wasNotified {
		x.tell("hold_end", "")
	}
}
