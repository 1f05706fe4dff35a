package featureflags

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/management"
)

// holdNoticeInterval is the minimum interval of notices about holds.
const holdNoticeInterval = time.Hour

// hold keeps the current share. Users are notified once of each new set of reasons, at most once an
// hour, and when the hold exceeds its limit.
func (s Rollouts) hold(v *view, x *storedRollout, e *experiments.Evaluation, now time.Time) error {
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
	return s.notify(v, x, "hold", "Reasons: "+strings.Join(e.Reasons, ", ")+".")
}

// endHold ends a hold. The time of the next step does not change. Users are notified if they were
// notified of the hold.
func (s Rollouts) endHold(v *view, x *storedRollout) error {
	if x.Status != rolloutHolding {
		return nil
	}
	next, wasNotified := x.Next, x.NotifiedReasons != nil
	x.setStatus(rolloutRunning)
	x.Next = next
	if !wasNotified {
		return nil
	}
	return s.notify(v, x, "go on", "")
}

// rolloutSubjects are the ends of the subjects of mails, by event.
var rolloutSubjects = map[string]string{
	"start": "has started", "advance": "advanced to the next step", "rollback": "was rolled back", "abort": "was aborted", "hold": "is on hold",
	"go on": "continues", "complete": "is complete", "fail": "has failed",
}

// notify queues the mails about an event of a rollout, in its transaction (§4.11). The mails are
// sent to the addresses in notify, by default to the user who has started the rollout.
func (s Rollouts) notify(v *view, x *storedRollout, event, why string) error {
	if s.Notify == nil {
		return nil
	}
	users := []int64{x.StartedBy}
	if emails := x.emails(); emails != nil {
		var err error
		// A user who has lost access gets no mail, and must not keep the rollout from going back.
		if users, _, err = s.members(v, emails); err != nil {
			return err
		}
	}
	// The flag may be deleted, or deleted permanently.
	key := strconv.FormatInt(x.Flag, 10)
	f, err := s.flags.loadFlag(v.Tx, v.Scope, x.Flag)
	var fault *management.Error
	switch {
	case err == nil:
		key = f.Key
	case !errors.As(err, &fault):
		return err
	}
	lines := []string{fmt.Sprintf("The treatment has %s %% now.", share(x.LastPercent))}
	if why != "" {
		lines = append(lines, why)
	}
	_, err = s.Notify(v.Tx, management.Notice{
		Project: v.Project.ID, Users: users, Subject: fmt.Sprintf("The rollout of %s %s", key, rolloutSubjects[event]), Lines: lines,
		Links: []management.Link{{Label: "Open the flag", Path: fmt.Sprintf("/project/%d/flags/%d", v.Project.ID, x.Flag)}},
	})
	return err
}

// emails returns the addresses in notify, or nil if it has no addresses.
func (x *storedRollout) emails() (out []string) {
	_ = json.Unmarshal(management.JSONObject(x.Notify)["emails"], &out) // was checked when it was stored
	return out
}

// maxNotified limits the addresses in notify.
const maxNotified = 20

// tidyNotify checks notify: every address must belong to a user with access to the project.
func (s Rollouts) tidyNotify(v *view, x *storedRollout) error {
	notify := management.JSONObject(x.Notify)
	if !management.EmptyJSON(notify["webhook"]) {
		return management.Fault("notify.webhook", "Rollouts do not support webhooks: they send emails.")
	}
	if raw := notify["emails"]; !management.EmptyJSON(raw) {
		var emails []string
		if json.Unmarshal(raw, &emails) != nil {
			return management.Fault("notify.emails", "Give a list of addresses.")
		}
		if len(emails) > maxNotified {
			return management.CodedFault(management.CodeMaxLength, "notify.emails", "At most %d.", maxNotified)
		}
		_, missing, err := s.members(v, emails)
		if err != nil {
			return err
		}
		if missing >= 0 {
			return management.CodedFault(management.CodeDoesNotExist, fmt.Sprintf("notify.emails.%d", missing), "No member of this project has the address %s.", management.ShortText(emails[missing]))
		}
	}
	x.Notify = management.Encode(notify)
	return nil
}

// members returns the ids of the users with access to the project who have one of the addresses,
// and the index of the first address that no such user has, or -1.
func (s Rollouts) members(v *view, emails []string) (users []int64, missing int, err error) {
	missing = -1
	for i, email := range emails {
		u, err := management.UserByEmail(v.Tx, email)
		if err != nil {
			return nil, 0, err
		}
		var member *management.Scope
		if u != nil {
			if member, err = management.NewUserScope(v.Tx, u.ID, v.Project); err != nil {
				return nil, 0, err
			}
		}
		switch {
		case member != nil && !slices.Contains(users, u.ID):
			users = append(users, u.ID)
		case member != nil: // twice in the list
		case missing < 0:
			missing = i
		}
	}
	return users, missing, nil
}
