package dashboards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// alertTask says which alert is due, and who checks it.
type alertTask struct {
	Project int64  `json:"project"`
	Alert   string `json:"alert"`
	// Run is the check that goes on, empty for none: what is found by another one has
	// come too late. Tries are how often it was begun without an end.
	Run   string `json:"run,omitempty"`
	Tries int    `json:"tries,omitempty"`
}

const (
	// alertBatch is how many alerts one call of CheckDue looks at.
	alertBatch = 100
	// alertTimeout bounds one query. A claimed alert is left alone for alertClaim: by then
	// the check has ended, or its server has. The clocks of servers may differ by what
	// lies between the two.
	alertTimeout = time.Minute
	alertClaim   = 4 * time.Minute
	// A check that finds the server busy or the store away is tried again after
	// alertPause, and is an error after alertTries.
	alertPause = time.Minute
	alertTries = 5
	// maxTaskWait is the longest that a task waits at once, but for the interval of its
	// alert; deletedPause how long one of a deleted insight does.
	maxTaskWait  = 24 * time.Hour
	deletedPause = time.Hour
	// maxPlannedWait is later than any check can be due: the clock had gone wrong when it was
	// planned.
	maxPlannedWait = 40 * 24 * time.Hour
)

func (t *alertTask) put(tx management.Tx, due time.Time) error {
	return tx.Put(&management.Record{Kind: kindAlertTask, ID: t.Alert, Sort: management.SortTime(due), Data: management.Encode(t)})
}

// due is when an alert is to be looked at.
func (a *storedAlert) due(now time.Time) time.Time {
	due := now
	if a.Next.After(now) {
		due = a.Next.Time
	}
	if a.Snoozed.After(due) {
		due = a.Snoozed.Time
		if latest := now.Add(maxTaskWait); due.After(latest) {
			due = latest
		}
	}
	return due
}

// claimedAlert is an alert that this server checks now.
type claimedAlert struct {
	task     alertTask
	question *alertQuestion
	project  *management.ProjectRecord
}

// CheckDue checks alerts that are due, one after the other; more: others may be.
// Several servers with one store share the work: an alert is checked by one of them
// at a time, and what it finds is stored together with the mails that tell of it, so
// that a server that is killed neither loses nor repeats one. The error is about the
// store, or about queries that could not be run at all; those alerts are tried again.
func (s Alerts) CheckDue(ctx context.Context) (more bool, err error) {
	if s.RunQuery == nil {
		return false, nil
	}
	var failed []error
	for range alertBatch {
		c, retry, err := s.claim(ctx)
		switch {
		case err != nil:
			return false, errors.Join(append(failed, fmt.Errorf("looking for alerts that are due: %w", err))...)
		case c == nil && !retry:
			return false, errors.Join(failed...)
		case c == nil:
			continue
		}
		if err := s.check(ctx, c); err != nil {
			failed = append(failed, fmt.Errorf("alert %s: %w", c.task.Alert, err))
		}
		if ctx.Err() != nil {
			return false, errors.Join(failed...)
		}
	}
	return true, errors.Join(failed...)
}

// claim takes the alert that has been due for longest. Nil and again: it was not to be
// checked, another may be.
func (s Alerts) claim(ctx context.Context) (c *claimedAlert, retry bool, err error) {
	err = s.Env.Store.Write(ctx, func(tx management.Tx) (err error) {
		c, retry = nil, false
		now := s.Env.Now()
		list, _, err := tx.List(management.Query{Kind: kindAlertTask, To: management.SortTime(now.Add(time.Microsecond)), Limit: 1})
		if err == nil && len(list) == 0 {
			list, _, err = tx.List(management.Query{Kind: kindAlertTask, From: management.SortTime(now.Add(maxPlannedWait)), Limit: 1})
		}
		if err != nil || len(list) == 0 {
			return err
		}
		retry = true
		t, err := management.Decode[alertTask](&list[0])
		if err != nil {
			return err
		}
		c, err = s.begin(tx, t, now)
		return err
	})
	return c, retry, err
}

// begin looks whether an alert is to be checked now, and puts it off where it is not.
func (s Alerts) begin(tx management.Tx, t *alertTask, now time.Time) (*claimedAlert, error) {
	p, a, err := s.alertOfTask(tx, t)
	if err != nil {
		return nil, err
	}
	if a == nil || !a.Enabled {
		return nil, tx.Delete(kindAlertTask, "", t.Alert)
	}
	if a.isSnoozed(now) {
		return nil, t.put(tx, a.due(now))
	}
	if !a.Snoozed.IsZero() {
		if a.Snoozed = (management.Stamp{}); a.State == alertSnoozed {
			a.State = alertQuiet
		}
		if err := putAlert(tx, p.ID, a); err != nil {
			return nil, err
		}
	}
	if monday := a.afterWeekend(now.In(p.Zone())); monday.After(now) {
		a.Next = management.NewStamp(monday)
		return nil, errors.Join(putAlert(tx, p.ID, a), t.put(tx, monday))
	}
	i, err := insightOf(tx, p.ID, a.Insight)
	if err != nil {
		return nil, err
	}
	if i == nil || i.Deleted {
		return nil, t.put(tx, now.Add(deletedPause))
	}
	question, err := a.buildQuestion(i.Query)
	if err != nil {
		return nil, s.disable(tx, p.ID, a, err)
	}
	t.Run, t.Tries = s.Env.NewID(), t.Tries+1
	return &claimedAlert{*t, question, p}, t.put(tx, now.Add(alertClaim))
}

// alertOfTask is the alert of a task and its project, nil where one of them is gone.
func (s *core) alertOfTask(tx management.Tx, t *alertTask) (*management.ProjectRecord, *storedAlert, error) {
	p, err := tx.Project(t.Project)
	if err != nil || p == nil {
		return nil, nil, err
	}
	a, err := management.LoadRecord[storedAlert](tx, kindAlert, management.ProjectParent(p.ID), t.Alert)
	return p, a, err
}

func putAlert(tx management.Tx, project int64, a *storedAlert) error {
	return tx.Put(&management.Record{
		Kind: kindAlert, Parent: management.ProjectParent(project), ID: a.ID, Other: alertsOf(project, a.Insight), Sort: management.SortTime(a.Created.Time), Data: management.Encode(a),
	})
}

// disable switches an alert off that cannot be checked any more, and says why.
func (s Alerts) disable(tx management.Tx, project int64, a *storedAlert, why error) error {
	text := why.Error()
	a.State, a.Enabled, a.Next = alertErrored, false, management.Stamp{}
	if err := s.addCheck(tx, a, alertCheck{Error: &text}); err != nil {
		return err
	}
	a.State = alertQuiet
	if err := putAlert(tx, project, a); err != nil {
		return err
	}
	return tx.Delete(kindAlertTask, "", a.ID)
}

// check asks an alert's question, and stores what it finds.
func (s Alerts) check(ctx context.Context, c *claimedAlert) error {
	attempt, cancel := context.WithTimeout(ctx, alertTimeout)
	results, failure := s.RunQuery(attempt, c.project, c.question.query)
	late := attempt.Err() != nil
	cancel()
	storeCtx := context.WithoutCancel(ctx) // what was found is stored even when the end has come
	var apiErr *management.Error
	switch {
	case failure == nil:
	case ctx.Err() != nil: // the server ends: the next one checks at once
		return s.postpone(storeCtx, c, 0, c.task.Tries-1)
	case late:
		failure = management.Fault("", "The query took longer than %g s.", alertTimeout.Seconds())
	case (!errors.As(failure, &apiErr) || apiErr.Kind == management.Unavailable) && c.task.Tries < alertTries:
		return errors.Join(failure, s.postpone(storeCtx, c, alertPause, c.task.Tries))
	case apiErr == nil:
		return errors.Join(failure, s.storeResult(storeCtx, c, nil, management.Fault("", "The query could not be run.")))
	}
	return s.storeResult(storeCtx, c, results, failure)
}

// withClaim runs work if the check still is this server's.
func (s Alerts) withClaim(ctx context.Context, c *claimedAlert, work func(tx management.Tx) error) error {
	return s.Env.Store.Write(ctx, func(tx management.Tx) error {
		r, err := tx.Get(kindAlertTask, "", c.task.Alert)
		if err != nil || r == nil {
			return err
		}
		t, err := management.Decode[alertTask](r)
		if err != nil || t.Run != c.task.Run {
			return err
		}
		return work(tx)
	})
}

// postpone puts a check off that has found nothing.
func (s Alerts) postpone(ctx context.Context, c *claimedAlert, pause time.Duration, tries int) error {
	return s.withClaim(ctx, c, func(tx management.Tx) error {
		return (&alertTask{Project: c.task.Project, Alert: c.task.Alert, Tries: tries}).put(tx, s.Env.Now().Add(pause))
	})
}

// storeResult stores what a check has found, with the mails that tell of it.
func (s Alerts) storeResult(ctx context.Context, c *claimedAlert, results json.RawMessage, failure error) error {
	notified := false
	err := s.withClaim(ctx, c, func(tx management.Tx) error {
		notified = false
		p, a, err := s.alertOfTask(tx, &c.task)
		if err != nil {
			return err
		}
		if a == nil {
			return tx.Delete(kindAlertTask, "", c.task.Alert)
		}
		zone, now := p.Zone(), s.Env.Now()
		found, failed := (*alertFinding)(nil), failure
		if failed == nil {
			found, failed = c.question.find(results, now.In(zone))
		}
		check := alertCheck{}
		a.Checked, a.Next, a.State = management.NewStamp(now), management.NewStamp(a.nextCheck(now, zone)), alertQuiet
		switch {
		case failed != nil:
			text := failed.Error()
			a.State, check.Error = alertErrored, &text
		case found.breach != "":
			a.State = alertFiring
			if check.Notified, err = s.notify(tx, p, a, found.breach); err != nil {
				return err
			}
		}
		if found != nil {
			a.LastValue = nil
			if !math.IsInf(found.value, 0) { // JSON has no form for it
				a.LastValue = &found.value
			}
			check.Value = a.LastValue
		}
		if notified = check.Notified; notified {
			a.Notified = management.NewStamp(now)
		}
		if err := s.addCheck(tx, a, check); err != nil {
			return err
		}
		if err := putAlert(tx, p.ID, a); err != nil {
			return err
		}
		return (&alertTask{Project: p.ID, Alert: a.ID}).put(tx, a.Next.Time)
	})
	if err == nil && notified && s.MailQueued != nil {
		s.MailQueued()
	}
	return err
}

// notify writes to the subscribers of an alert that fires (§9.4).
func (s Alerts) notify(tx management.Tx, p *management.ProjectRecord, a *storedAlert, breach string) (bool, error) {
	if s.Notify == nil || len(a.Subscribers) == 0 {
		return false, nil
	}
	i, err := insightOf(tx, p.ID, a.Insight)
	if err != nil || i == nil {
		return false, err
	}
	users, err := filterByAccess(tx, p, a.Subscribers, i.accessObject())
	if err != nil {
		return false, err
	}
	path := fmt.Sprintf("/project/%d/insights/%s", p.ID, i.short())
	return s.Notify(tx, management.Notice{
		Project: p.ID, Users: users, Subject: "Alert " + a.Name + " is firing", Lines: []string{breach},
		Links: []management.Link{{Label: "Open the insight", Path: path}, {Label: "Open the alert", Path: path + "?alert_id=" + a.ID}},
	})
}

// filterByAccess are those of some users to whom access rules do not hide a thing.
func filterByAccess(tx management.Tx, p *management.ProjectRecord, users []int64, o management.AccessObject) (out []int64, err error) {
	for _, id := range users {
		userScope, err := management.NewUserScope(tx, id, p)
		if err != nil {
			return nil, err
		}
		if userScope != nil && userScope.CanSee(o) {
			out = append(out, id)
		}
	}
	return out, nil
}
