package dashboards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/notices"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// The timing of checks.
const (
	// alertTimeout bounds one query. Other servers do not check a claimed alert for alertClaim:
	// after that time the check has ended, or its server has crashed. The clocks of servers may
	// differ by alertClaim minus alertTimeout.
	alertTimeout = time.Minute
	alertClaim   = 4 * time.Minute
	// A check that fails because the server is busy or the store unavailable is repeated after
	// alertPause. After alertTries attempts it is stored as an error.
	alertPause = time.Minute
	alertTries = 5
)

// claimedAlert is an alert that this server checks now, with the query to run.
type claimedAlert struct {
	task     alertTask
	question *alertQuestion
	project  *management.ProjectRecord
}

// CheckDue checks alerts that are due, one after the other, and reports whether more may be due.
//
// Several servers with one store may call it at the same time: an alert is checked by one of them
// at a time. The result and the mails about it are stored in one transaction, so a server that
// crashes neither loses nor repeats a mail. The error is about the store, or about queries that
// could not be run; those alerts are checked later. It returns at once if Config.RunQuery is nil.
func (s Alerts) CheckDue(ctx context.Context) (more bool, err error) {
	if s.RunQuery == nil {
		return false, nil
	}
	return records.RunDue(ctx, "alert", s.claim, s.check, func(c *claimedAlert) string { return c.task.Alert })
}

// claim reserves the alert that has been due for the longest time. If c is nil, there is no alert
// to check; retry then reports that this task was handled without a check, and another one may be
// due.
func (s Alerts) claim(ctx context.Context) (c *claimedAlert, retry bool, err error) {
	err = s.Env.Store.Write(ctx, func(tx management.Tx) (err error) {
		c, retry = nil, false
		now := s.Env.Now()
		t, err := records.NextDue[alertTask](tx, management.Query{Kind: kindAlertTask}, now)
		// No task is due, unless one was planned with a wrong clock.
		if err == nil && t == nil {
			t, err = management.First[alertTask](tx, management.Query{Kind: kindAlertTask, From: storage.SortTime(now.Add(maxPlannedWait))})
		}
		if err != nil || t == nil {
			return err
		}
		retry = true
		c, err = s.begin(tx, t, now)
		return err
	})
	return c, retry, err
}

// begin prepares the check of an alert, and reserves the alert for alertClaim. It returns nil if
// the alert must not be checked now: it then deletes or postpones the task.
func (s Alerts) begin(tx management.Tx, t *alertTask, now time.Time) (*claimedAlert, error) {
	p, a, err := s.alertOfTask(tx, t)
	if err != nil {
		return nil, err
	}
	// The alert was deleted or disabled.
	if a == nil || !a.Enabled {
		return nil, tx.Delete(kindAlertTask, "", t.Alert)
	}
	if a.isSnoozed(now) {
		return nil, t.put(tx, a.due(now))
	}
	// The snoozing has ended.
	if !a.Snoozed.IsZero() {
		if a.Snoozed = (management.Stamp{}); a.State == alertSnoozed {
			a.State = alertQuiet
		}
		if err := putAlert(tx, p.ID, a); err != nil {
			return nil, err
		}
	}
	// The alert may skip weekends only since the check was planned.
	if monday := a.afterWeekend(now.In(p.Zone())); monday.After(now) {
		a.Next = management.NewStamp(monday)
		return nil, errors.Join(putAlert(tx, p.ID, a), t.put(tx, monday))
	}
	i, err := insightOf(tx, p.ID, a.Insight)
	if err != nil {
		return nil, err
	}
	// The insight may be restored later, so the alert remains.
	if i == nil || i.Deleted {
		return nil, t.put(tx, now.Add(deletedPause))
	}
	// The query may have changed so that the alert no longer fits it.
	question, err := a.buildQuestion(i.Query)
	if err != nil {
		return nil, s.disable(tx, p.ID, a, err)
	}
	t.Run, t.Tries = s.Env.NewID(), t.Tries+1
	return &claimedAlert{*t, question, p}, t.put(tx, now.Add(alertClaim))
}

// alertOfTask returns the alert of a task and its project. The alert is nil if either of them no
// longer exists.
func (s *core) alertOfTask(tx management.Tx, t *alertTask) (*management.ProjectRecord, *storedAlert, error) {
	p, err := tx.Project(t.Project)
	if err != nil || p == nil {
		return nil, nil, err
	}
	a, err := resource.LoadRecord[storedAlert](tx, kindAlert, management.ProjectParent(p.ID), t.Alert)
	return p, a, err
}

// putAlert stores an alert without logging the change.
func putAlert(tx management.Tx, project int64, a *storedAlert) error {
	return tx.Put(&management.Record{
		Kind: kindAlert, Parent: management.ProjectParent(project), ID: a.ID, Other: alertsOf(project, a.Insight), Sort: storage.SortTime(a.Created.Time), Data: storage.Encode(a),
	})
}

// disable disables an alert that cannot be checked any more, and adds a check with the reason.
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

// check runs the query of an alert and stores the result. If the query could not be run, it
// postpones the check instead.
func (s Alerts) check(ctx context.Context, c *claimedAlert) error {
	// Whether the attempt ran out of time is read before cancel ends its context too.
	attempt, cancel := context.WithTimeout(ctx, alertTimeout)
	results, failure := s.RunQuery(attempt, c.project, c.question.query)
	late := attempt.Err() != nil
	cancel()
	storeCtx := context.WithoutCancel(ctx) // the result is stored even if the server is shutting down
	var apiErr *management.Error
	switch {
	case failure == nil:
	case ctx.Err() != nil: // the server is shutting down: another one may check at once, and the attempt does not count
		return s.postpone(storeCtx, c, 0, c.task.Tries-1)
	case late:
		failure = management.Fault("", "The query took longer than %g s.", alertTimeout.Seconds())
	// The query may succeed later.
	case (!errors.As(failure, &apiErr) || apiErr.Kind == management.Unavailable) && c.task.Tries < alertTries:
		return errors.Join(failure, s.postpone(storeCtx, c, alertPause, c.task.Tries))
	// The details of an internal error are returned to the operator, and not stored for users.
	case apiErr == nil:
		return errors.Join(failure, s.storeResult(storeCtx, c, nil, management.Fault("", "The query could not be run.")))
	}
	return s.storeResult(storeCtx, c, results, failure)
}

// withClaim runs work in a transaction if the alert is still reserved for this check. Otherwise the
// alert was changed or deleted, or another server has taken over, and it does nothing.
func (s Alerts) withClaim(ctx context.Context, c *claimedAlert, work func(tx management.Tx) error) error {
	return s.Env.Store.Write(ctx, func(tx management.Tx) error {
		t, err := management.Found[alertTask](tx.Get(kindAlertTask, "", c.task.Alert))
		if err != nil || t == nil || t.Run != c.task.Run {
			return err
		}
		return work(tx)
	})
}

// postpone releases an alert without a result. The next check is due after pause.
func (s Alerts) postpone(ctx context.Context, c *claimedAlert, pause time.Duration, tries int) error {
	return s.withClaim(ctx, c, func(tx management.Tx) error {
		return (&alertTask{Project: c.task.Project, Alert: c.task.Alert, Tries: tries}).put(tx, s.Env.Now().Add(pause))
	})
}

// storeResult stores the result of a check, or its failure, sends the mails about it in the same
// transaction, and plans the next check.
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
		// The state is reset before the result is applied: an alert that no longer fires becomes
		// quiet.
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
			if !math.IsInf(found.value, 0) { // JSON cannot represent infinity
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

// notify sends a mail about a firing alert to its subscribers (§9.4). It reports whether a mail was
// queued.
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
	return s.Notify(tx, notices.Notice{
		Project: p.ID, Users: users, Subject: "Alert " + a.Name + " is firing", Lines: []string{breach},
		Links: []notices.Link{{Label: "Open the insight", Path: path}, {Label: "Open the alert", Path: path + "?alert_id=" + a.ID}},
	})
}

// filterByAccess returns the users who may still view an object. Users who have left the project
// are omitted.
func filterByAccess(tx management.Tx, p *management.ProjectRecord, users []int64, o management.AccessObject) (out []int64, err error) {
	for _, id := range users {
		userScope, err := records.NewUserScope(tx, id, p)
		if err != nil {
			return nil, err
		}
		if userScope != nil && userScope.CanSee(o) {
			out = append(out, id)
		}
	}
	return out, nil
}
