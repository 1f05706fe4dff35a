package server

import (
	"context"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/adapters/internal/throttle"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// retain deletes events that are older than Options.RetainDays, in batches.
func (p *parts) retain(ctx context.Context) {
	const pause, piece = time.Minute, 5000
	for deleted := int64(0); ; {
		before := time.Now().AddDate(0, 0, -p.RetainDays)
		n, err := p.store.DeleteEventsBefore(ctx, before, piece)
		deleted += n
		wait := pause
		switch {
		case err != nil && ctx.Err() == nil:
			p.jobs.count(jobDeletions, err)
			p.log.Error("old events could not be deleted", "error", err)
		case n == piece:
			wait = 100 * time.Millisecond
		case err == nil:
			p.jobs.countDeletions(deleted, before)
			deleted = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// scheduleEvery is the maximum delay of a scheduled change or an iteration of a survey.
const scheduleEvery = time.Second

// schedule makes scheduled changes of flags and starts iterations of surveys when they are due,
// until the context ends. Of consecutive failures it logs the first.
func (p *parts) schedule(ctx context.Context) {
	var failures throttle.Streak
	every(ctx, scheduleEvery, func() {
		_, changes := p.rooms.Changes.Scheduled.RunDue(ctx)
		_, surveys := p.rooms.Surveys.StartDueIterations(ctx)
		err := errors.Join(changes, surveys)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.jobs.count(jobSchedules, err)
		}
		if failures.Begins(err) {
			p.log.Error("scheduled changes of flags or iterations of surveys could not be applied; it will be tried again", "error", err)
		}
	})
}

// alertsEvery is the maximum delay of an alert (spec/clients.md §9.3).
const alertsEvery = 2 * time.Minute

// checkAlerts checks the alerts that are due, until the context ends.
func (p *parts) checkAlerts(ctx context.Context) {
	p.repeat(ctx, alertsEvery, jobAlerts, "alerts could not be checked", p.rooms.Dashboards.Alerts.CheckDue)
}

// cohortsEvery is the interval of checks for old counts of cohorts, see
// cohorts.Service.CountDue.
const cohortsEvery = time.Minute

// countCohorts updates old counts of dynamic cohorts, until the context ends.
func (p *parts) countCohorts(ctx context.Context) {
	p.repeat(ctx, cohortsEvery, "", "cohorts could not be calculated", p.rooms.Cohorts.CountDue)
}

// repeat calls step at each interval until it has no more work, until the context ends. It counts
// the results as those of a job, unless that is empty, and logs failures at most once a minute.
func (p *parts) repeat(ctx context.Context, pause time.Duration, job, failure string, step func(context.Context) (more bool, err error)) {
	every(ctx, pause, p.repeated(ctx, job, failure, step))
}

// repeated returns a function that calls step until it has no more work, as repeat does.
func (p *parts) repeated(ctx context.Context, job, failure string, step func(context.Context) (more bool, err error)) func() {
	say := throttle.Every(time.Minute, func(err error, unsaid int) {
		p.log.Error(failure+"; it will be tried again", "error", err, "unsaid", unsaid)
	})
	return func() {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = step(ctx); ctx.Err() != nil {
				return
			}
			if job != "" {
				p.jobs.count(job, err)
			}
			if err != nil {
				say(err)
			}
		}
	}
}

// followPause is the wait after all events have been read.
const followPause = time.Second

// followExceptions creates issues of the exceptions among the events, until the context ends. Of consecutive
// failures it logs the first; it continues at the same position.
func (p *parts) followExceptions(ctx context.Context) {
	var failures throttle.Streak
	for ctx.Err() == nil {
		more, err := p.rooms.ErrorTracking.Follow(ctx)
		if ctx.Err() == nil {
			p.jobs.count(jobIssues, err)
		}
		if ctx.Err() == nil && failures.Begins(err) {
			p.log.Error("exceptions could not be grouped into issues; it will be tried again", "error", err)
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(followPause):
		}
	}
}

// usageInterval is the maximum delay of the usage report. If the process is killed, up to that much
// of it is lost; quotas are counted separately.
const usageInterval = 10 * time.Second

// reportUsage stores the usage, until the context ends.
func (p *parts) reportUsage(ctx context.Context) {
	store := func() { p.storeUsage(context.WithoutCancel(ctx)) }
	every(ctx, usageInterval, store)
	store() // the last seconds
}

func (p *parts) storeUsage(ctx context.Context) {
	list := p.handler.TakeUsage()
	if len(list) == 0 {
		return
	}
	out := make([]sqlstore.Spending, len(list))
	for i, x := range list {
		out[i] = sqlstore.Spending(x)
	}
	if err := p.store.AddSpending(ctx, time.Now(), out); err != nil {
		p.log.Warn("the usage report lost some seconds", "error", err)
	}
}

// evaluationsInterval is the maximum delay of the counts of evaluated values. If the process is killed, up
// to that much of them is lost.
const evaluationsInterval = time.Minute

// countEvaluations stores the counts of evaluated values, and deletes old counts, until the context
// ends.
func (p *parts) countEvaluations(ctx context.Context) {
	store := func() {
		list := p.handler.TakeEvaluationCounts()
		out := make([]sqlstore.Evaluation, len(list))
		for i, x := range list {
			out[i] = sqlstore.Evaluation(x)
		}
		if err := p.store.AddEvaluations(context.WithoutCancel(ctx), time.Now(), out); err != nil {
			p.log.Warn("some counts of flag evaluations were lost", "error", err)
		}
	}
	every(ctx, evaluationsInterval, func() {
		store()
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = p.store.DeleteFlagHours(ctx, time.Now().Add(-featureflags.HourRetention-24*time.Hour)); err != nil && ctx.Err() == nil {
				p.log.Warn("old counts of flags could not be deleted; it will be tried again", "error", err)
			}
		}
	})
	store() // the last minute
}

// mergesInterval is how often rejected merges are logged.
const mergesInterval = time.Minute

// reportMerges logs how many merges of people were rejected, if there were any.
func (p *parts) reportMerges(ctx context.Context) {
	logged := uint64(0)
	every(ctx, mergesInterval, func() {
		if now := p.recorder.Stats().MergesRejected; now > logged {
			p.log.Info("merges of persons were refused; see …/ingestion_warnings", "merges", now-logged, "within", mergesInterval)
			logged = now
		}
	})
}

// every calls do at each interval, until the context ends.
func every(ctx context.Context, pause time.Duration, do func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}
