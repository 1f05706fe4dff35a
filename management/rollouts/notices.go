package rollouts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/notices"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// rolloutEvent is an event of a rollout that users are notified of.
type rolloutEvent struct {
	name string // a key of rolloutSubjects
	why  string // may be empty
}

// rolloutSubjects are the ends of the subjects of mails, by event.
var rolloutSubjects = map[string]string{
	"start": "has started", "advance": "advanced to the next step", "rollback": "was rolled back", "abort": "was aborted", "hold": "is on hold",
	"hold_end": "continues", "complete": "is complete", "fail": "has failed", "evaluation_failed": "cannot be evaluated",
}

// rolloutWebhook is the member webhook of notify (experiments.md §4.11). Responses do not have the
// secret.
type rolloutWebhook struct {
	URL    string `json:"url"`
	Secret string `json:"secret,omitempty"`
}

// webhook returns the webhook in notify, or nil.
func (x *storedRollout) webhook() *rolloutWebhook { return webhookIn(x.Notify) }

func webhookIn(notify json.RawMessage) *rolloutWebhook {
	raw, out := management.JSONObject(notify)["webhook"], &rolloutWebhook{}
	if management.EmptyJSON(raw) || json.Unmarshal(raw, out) != nil {
		return nil
	}
	return out
}

// show returns the form of a rollout in responses.
func (x *storedRollout) show(v *view) (*Rollout, error) {
	creator, err := v.Author(x.CreatedBy)
	out := &Rollout{x.ID, x.rolloutDefinition, x.rolloutState, creator, v.AccessTo(x.accessObject())}
	if w := x.webhook(); w != nil {
		notify := management.JSONObject(x.Notify)
		notify["webhook"] = storage.Encode(rolloutWebhook{URL: w.URL})
		out.Notify = storage.Encode(notify)
	}
	return out, err
}

// announce queues the mails and the webhooks about the events of a rollout in this transaction
// (§4.11). It must be called after all other changes of x, since webhooks contain the rollout.
// evaluation is the evaluation that has caused the events, or nil.
func (s Service) announce(v *view, x *storedRollout, evaluation json.RawMessage) error {
	if len(x.events) == 0 || s.Notify == nil && s.Webhook == nil {
		return nil
	}
	// The flag may be deleted, or deleted permanently.
	flag := noticeFlag{ID: x.Flag, Key: strconv.FormatInt(x.Flag, 10)}
	f, err := s.stored.Load(v.Tx, v.Scope, x.Flag)
	var fault *management.Error
	switch {
	case err == nil:
		flag.Key, flag.Version = f.Key, &f.Version
	case !errors.As(err, &fault):
		return err
	}
	for _, t := range x.events {
		if err := errors.Join(s.mail(v, x, flag.Key, t), s.callWebhook(v, x, &flag, t, evaluation)); err != nil {
			return err
		}
	}
	x.events = nil
	return nil
}

// addressees returns the users who get mails: the addresses in notify, by default the user who has
// started the rollout and the followers of its flag. A user who has lost access gets no mail, and must
// not keep the rollout from going back.
func (s Service) addressees(v *view, x *storedRollout) ([]int64, error) {
	if emails := x.emails(); emails != nil {
		users, _, err := s.members(v, emails)
		return users, err
	}
	users := []int64{x.StartedBy}
	followers, err := storedflags.Followers(v.Tx, v.Project.ID, x.Flag)
	if err != nil {
		return nil, err
	}
	for _, id := range followers {
		scope, err := records.NewUserScope(v.Tx, id, v.Project)
		if err != nil {
			return nil, err
		}
		if id != x.StartedBy && scope != nil && scope.RequireAccess(management.Viewer, x.accessObject()) == nil {
			users = append(users, id)
		}
	}
	return users, nil
}

// mail queues the mails about an event.
func (s Service) mail(v *view, x *storedRollout, key string, t rolloutEvent) error {
	if s.Notify == nil {
		return nil
	}
	users, err := s.addressees(v, x)
	if err != nil {
		return err
	}
	lines := []string{fmt.Sprintf("The treatment has %s %% now.", share(x.LastPercent))}
	if t.why != "" {
		lines = append(lines, t.why)
	}
	_, err = s.Notify(v.Tx, notices.Notice{
		Project: v.Project.ID, Users: users, Subject: fmt.Sprintf("The rollout of %s %s", key, rolloutSubjects[t.name]), Lines: lines,
		Links: []notices.Link{{Label: "Open the flag", Path: fmt.Sprintf("/project/%d/flags/%d", v.Project.ID, x.Flag)}},
	})
	return err
}

// noticeFlag is the flag in a webhook. Version is null if the flag was deleted permanently.
type noticeFlag struct {
	ID      int64  `json:"id"`
	Key     string `json:"key"`
	Version *int64 `json:"version"`
}

// callWebhook queues the webhook about an event.
func (s Service) callWebhook(v *view, x *storedRollout, f *noticeFlag, t rolloutEvent, evaluation json.RawMessage) error {
	w := x.webhook()
	if w == nil || s.Webhook == nil {
		return nil
	}
	response, err := x.show(v)
	if err != nil {
		return err
	}
	// The receiver is not a user, so it has no access level.
	record := management.JSONObject(storage.Encode(response))
	delete(record, "notify")
	delete(record, "user_access_level")
	now, err := s.Env.StoreNow(v.Tx)
	if err != nil {
		return err
	}
	id := s.Env.NewID()
	_, err = s.Webhook(v.Tx, notices.Webhook{Project: v.Project.ID, ID: id, URL: w.URL, Secret: w.Secret, Body: storage.Encode(map[string]any{
		"id": id, "at": management.NewStamp(now), "event": t.name, "reason": t.why, "project_id": v.Project.ID,
		"feature_flag": f, "guarded_rollout": record, "evaluation": evaluation,
	})})
	return err
}

const (
	// maxNotified limits the addresses in notify.
	maxNotified = 20
	// minSecret and maxSecret limit the secret of a webhook, in characters.
	minSecret, maxSecret = 16, 400
)

// tidyNotify checks notify: every address must belong to a user with access to the project. before
// is notify as it was stored; its secret stays if the webhook has the same address.
func (s Service) tidyNotify(v *view, x *storedRollout, before json.RawMessage) error {
	notify := management.JSONObject(x.Notify)
	if raw := notify["webhook"]; !management.EmptyJSON(raw) {
		w := &rolloutWebhook{}
		if json.Unmarshal(raw, w) != nil {
			return management.Fault("notify.webhook", "Give an object with url and secret.")
		}
		if err := s.checkWebhook(w, webhookIn(before)); err != nil {
			return err
		}
		notify["webhook"] = storage.Encode(w)
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
			return management.CodedFault(management.CodeDoesNotExist, fmt.Sprintf("notify.emails.%d", missing), "No member of this project has the address %s.", plain.ShortText(emails[missing]))
		}
	}
	x.Notify = storage.Encode(notify)
	return nil
}

// checkWebhook checks a webhook. before is the stored one, or nil.
func (s Service) checkWebhook(w, before *rolloutWebhook) error {
	if s.CheckWebhook == nil {
		return management.CodedFault("not_supported", "notify.webhook", "This server does not send webhooks.")
	}
	if before != nil && w.URL == before.URL && w.Secret == "" {
		w.Secret = before.Secret
		return nil
	}
	if err := s.CheckWebhook(w.URL); err != nil {
		return management.Fault("notify.webhook.url", "This address cannot be used: %s.", err)
	}
	switch n := utf8.RuneCountInString(w.Secret); {
	case n == 0 && before != nil:
		return management.CodedFault(management.CodeRequired, "notify.webhook.secret", "Another url needs the secret again: a stored secret is not used for another address.")
	case n == 0:
		return management.CodedFault(management.CodeRequired, "notify.webhook.secret", "This field is required.")
	case n < minSecret || n > maxSecret:
		return management.Fault("notify.webhook.secret", "Give %d to %d characters.", minSecret, maxSecret)
	}
	return nil
}

// members returns the ids of the users with access to the project who have one of the addresses,
// and the index of the first address that no such user has, or -1.
func (s Service) members(v *view, emails []string) (users []int64, missing int, err error) {
	missing = -1
	for i, email := range emails {
		u, err := management.UserByEmail(v.Tx, email)
		if err != nil {
			return nil, 0, err
		}
		var member *management.Scope
		if u != nil {
			if member, err = records.NewUserScope(v.Tx, u.ID, v.Project); err != nil {
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
