package dashboards

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
)

// rules validates an alert and derives its state and the next check from the change. A change of
// the insight, the threshold, the condition or the configuration resets the state and plans a check
// at once.
func (s Alerts) rules(e *alertEdit) error {
	a, before := e.After, &e.Before
	for _, read := range []func(*alertEdit) error{s.readAlertParts, s.readSubscribers, s.readSnooze} {
		if err := read(e); err != nil {
			return err
		}
	}
	if d := e.Values.Raw("detector_config"); management.JSONKind(d) != "NoneType" {
		return management.Fault("detector_config", "'detector_config' is not supported: there is no anomaly detection.")
	}
	i, err := s.alertInsight(e)
	if err != nil {
		return err
	}
	if _, err := a.buildQuestion(i.Query); err != nil {
		return err
	}
	// The alert is stored, since a mail server may be configured later.
	if e.Body != nil && e.Body.Warn != nil && s.Notify == nil && len(a.Subscribers) > 0 {
		e.Body.Warn("no notifications will be sent: this server has no mail server")
	}
	changed := e.IsNew || a.Insight != before.Insight || !bytes.Equal(a.Threshold.Configuration, before.Threshold.Configuration) ||
		!bytes.Equal(a.Condition, before.Condition) || !bytes.Equal(a.Config, before.Config)
	if changed {
		a.State = alertQuiet
	}
	// A zero time means that the alert is due now.
	if changed || a.Interval != before.Interval || a.Enabled && !before.Enabled {
		a.Next = management.Stamp{}
	}
	isSnoozed := a.isSnoozed(s.Env.Now())
	switch {
	case !a.Enabled:
		a.State = alertQuiet
	case isSnoozed:
		a.State = alertSnoozed
	case a.State == alertSnoozed:
		a.State = alertQuiet
	}
	a.justSnoozed = a.State == alertSnoozed && !a.Snoozed.Equal(before.Snoozed.Time)
	a.rescheduled = changed || a.Next != before.Next || a.Enabled != before.Enabled || !a.Snoozed.Equal(before.Snoozed.Time)
	return nil
}

// isSnoozed reports whether the alert is snoozed.
func (a *storedAlert) isSnoozed(now time.Time) bool { return a.Snoozed.After(now) }

// plan stores or deletes the task of an alert after a change, and records that it was snoozed.
func (s Alerts) plan(e *alertEdit) error {
	a := e.After
	if a.justSnoozed {
		if err := s.addCheck(e.Tx, a, alertCheck{Value: a.LastValue}); err != nil {
			return err
		}
	}
	switch {
	case !a.rescheduled:
		return nil
	case !a.Enabled:
		return e.Tx.Delete(kindAlertTask, "", a.ID)
	}
	return (&alertTask{Project: e.Project.ID, Alert: a.ID}).put(e.Tx, a.due(s.Env.Now()))
}

// alertInsight returns the insight of an alert, which the body may change. An insight that the
// caller may not view is reported like one of another project.
func (s Alerts) alertInsight(e *alertEdit) (*insightRecord, error) {
	if !e.Values.Has("insight") {
		i, err := insightOf(e.Tx, e.Project.ID, e.After.Insight)
		if err == nil && i == nil {
			err = management.ErrNoObject("insight", e.After.Insight)
		}
		return i, err
	}
	i, err := insightOfBody(e.Tx, e.Project.ID, "insight", e.Values.Raw("insight"))
	var apiErr *management.Error
	switch {
	case err == nil && i == nil:
		return nil, management.CodedFault(management.CodeNull, "insight", "This field may not be null.")
	// Both cases have the same message, so that a hidden insight is not disclosed.
	case errors.As(err, &apiErr) && apiErr.Code == management.CodeDoesNotExist, err == nil && !e.CanSee(i.accessObject()):
		return nil, management.Fault("insight", "This insight does not belong to your team.")
	case err == nil:
		e.After.Insight = i.id()
	}
	return i, err
}

// readAlertParts copies threshold, condition and config from the body to the alert.
func (s Alerts) readAlertParts(e *alertEdit) error {
	a := e.After
	for name, to := range map[string]*json.RawMessage{"threshold": nil, "condition": &a.Condition, "config": &a.Config} {
		raw := e.Values.Raw(name)
		switch {
		case raw == nil:
			continue
		case len(raw) > maxAlertJSON:
			return overBytes(name, maxAlertJSON)
		case to == nil:
			to = &a.Threshold.Configuration
			if raw = management.JSONObject(raw)["configuration"]; raw == nil {
				return management.CodedFault(management.CodeRequired, "threshold__configuration", "This field is required.")
			}
		}
		var compact bytes.Buffer // the store compacts JSON, and rules compares with the stored bytes
		if err := json.Compact(&compact, raw); err != nil {
			return management.Fault(name, "Not a valid object.")
		}
		*to = compact.Bytes()
	}
	return nil
}

// readSubscribers reads the numbers of the subscribers. They must be members of the organization.
func (s Alerts) readSubscribers(e *alertEdit) error {
	if !e.Values.Has("subscribed_users") {
		return nil
	}
	list := e.Values.Ints("subscribed_users")
	if len(list) > maxSubscribers {
		return management.CodedFault(management.CodeMaxLength, "subscribed_users", "Ensure this field has no more than %d elements.", maxSubscribers)
	}
	out := []int64{}
	for _, id := range list {
		u, err := management.UserByNumber(e.Tx, id)
		if err != nil {
			return err
		}
		var member *management.Membership
		if u != nil {
			if member, err = management.MembershipOf(e.Tx, e.Organization.ID, u.UUID); err != nil {
				return err
			}
		}
		if member == nil {
			return management.Fault("subscribed_users", "User does not belong to the same organization as the alert's team.")
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	e.After.Subscribers = out
	return nil
}

// snoozeFor matches a duration of snoozing, such as 2h, 1d or 1w.
var snoozeFor = regexp.MustCompile(`^([0-9]{1,3})([hdw])$`)

// readSnooze reads the end of snoozing: a duration from now on, a time, or null.
func (s Alerts) readSnooze(e *alertEdit) error {
	if !e.Values.Has("snoozed_until") {
		return nil
	}
	text := e.Values.Text("snoozed_until")
	if e.Values.IsNull("snoozed_until") {
		e.After.Snoozed = management.Stamp{}
		return nil
	}
	if parts := snoozeFor.FindStringSubmatch(text); parts != nil {
		n, _ := strconv.Atoi(parts[1]) // at most three digits
		unit := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[parts[2]]
		e.After.Snoozed = management.NewStamp(s.Env.Now().Add(time.Duration(n) * unit))
		return nil
	}
	at, ok := plain.ParseTime(text)
	if !ok {
		return management.Fault("snoozed_until", "Must be 2h, 1d, 1w, a time in ISO 8601, or null.")
	}
	e.After.Snoozed = management.NewStamp(at)
	return nil
}
