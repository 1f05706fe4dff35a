package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/metrics"
	"github.com/bunting-flags/bunting/adapters/internal/throttle"
)

// rolloutsEvery is the maximum delay of the evaluation of a guarded rollout.
const rolloutsEvery = 5 * time.Second

// evaluateRollouts evaluates the guarded rollouts that are due, until the context ends. It begins at
// once, since a rollback may have been due for as long as the server was down.
func (p *parts) evaluateRollouts(ctx context.Context) {
	work := p.repeated(ctx, jobRollouts, "guarded rollouts could not be evaluated", p.rooms.Rollouts.EvaluateDue)
	work()
	every(ctx, rolloutsEvery, work)
}

// logSlowRollout logs that a rollout is evaluated less often, because its evaluation takes long.
func (p *parts) logSlowRollout(project, rollout int64, took, next time.Duration) {
	p.log.Warn("the evaluation of a guarded rollout takes more than a tenth of its interval, which is doubled", "project", project, "rollout", rollout, "took", took.Round(time.Millisecond), "interval", next)
}

const (
	// webhookTimeout limits the connection to the receiver of a webhook, and the time without data.
	webhookTimeout = 10 * time.Second
	// webhookPoll is the maximum delay of the first attempt to send a webhook.
	webhookPoll = 5 * time.Second
	// webhookSenders is the number of webhooks that are sent at the same time, so that a receiver
	// that does not answer delays the others little.
	webhookSenders = 4
)

// sendWebhooks sends the webhooks of the outbox until the context ends.
func (p *parts) sendWebhooks(ctx context.Context) {
	say := throttle.Every(time.Minute, func(err error, unsaid int) {
		p.log.Warn("a webhook could not be sent; it will be tried again", "error", err, "unsaid", unsaid)
	})
	var senders sync.WaitGroup
	for range webhookSenders {
		senders.Go(func() {
			p.deliver(ctx, jobWebhooks, webhookPoll, nil, p.manager.Organizations.DeliverWebhooks, func(err error) {
				if err != nil {
					say(err)
				}
			})
		})
	}
	senders.Wait()
}

// deliver calls send, and again when it is due, when a signal comes, and after poll, until the
// context ends.
func (p *parts) deliver(ctx context.Context, job string, poll time.Duration, queued <-chan struct{}, send func(context.Context) (time.Time, error), report func(error)) {
	for ctx.Err() == nil {
		next, err := send(ctx)
		if ctx.Err() == nil {
			p.jobs.count(job, err)
			report(err)
		}
		wait := poll
		if !next.IsZero() {
			wait = min(wait, time.Until(next))
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-queued:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// lateRollout is the age of a due evaluation, and lateWebhook that of a webhook, from which the
// health check warns.
const (
	lateRollout = 5 * time.Minute
	lateWebhook = 15 * time.Minute
)

// rolloutsHealth checks for guarded rollouts that cannot be evaluated, or not in time.
func rolloutsHealth(ctx context.Context, v *healthView) finding {
	w, err := v.rooms.Rollouts.Watched(ctx)
	if err != nil {
		return storeProblem(err)
	}
	live := 0
	for _, n := range w.Live {
		live += n
	}
	switch {
	case v.queries == nil:
		return finding{"", "This server does not evaluate rollouts.", ""}
	case w.FailingCount > 0:
		list := make([]string, len(w.Failing))
		for i, f := range w.Failing {
			list[i] = fmt.Sprintf("rollout %d of project %d since %s: %s", f.ID, f.Project, f.Since.UTC().Format(time.DateTime), f.Reason)
		}
		return finding{healthWarn, fmt.Sprintf("%d rollouts cannot be evaluated: %s", w.FailingCount, strings.Join(list, "; ")), "Their metrics are not watched. See the log for the reason, and pause them or roll them back."}
	case w.Lag > lateRollout:
		return finding{healthWarn, fmt.Sprintf("Rollouts are evaluated late, by %s", w.Lag.Round(time.Second)), "Their metrics are not watched in time. See the log, and whether queries take long."}
	}
	return finding{"", fmt.Sprintf("%d rollouts are watched", live), ""}
}

// webhooksHealth checks how long webhooks wait.
func webhooksHealth(ctx context.Context, v *healthView) finding {
	waiting, oldest, err := v.rooms.Organizations.WebhookBacklog(ctx)
	switch {
	case err != nil:
		return storeProblem(err)
	case waiting > 0 && time.Since(oldest) > lateWebhook:
		return finding{healthWarn, fmt.Sprintf("%d webhooks wait, one since %s", waiting, oldest.UTC().Format(time.DateTime)), "Their receiver does not accept them: see the log for its response."}
	}
	return finding{"", fmt.Sprintf("%d webhooks wait", waiting), ""}
}

// rolloutMetrics returns a function that reads the state of guarded rollouts. It reads the store at
// most once in storageMaxAge.
func (p *parts) rolloutMetrics() func() metrics.Rollouts {
	var mu sync.Mutex
	var at time.Time
	var last *metrics.WatchedRollouts
	return func() metrics.Rollouts {
		s := p.rooms.Rollouts.Stats()
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); at.IsZero() || now.Sub(at) >= storageMaxAge {
			last, at = p.watchedRollouts(), now
		}
		return metrics.Rollouts{Evaluations: s.Evaluations, Steps: s.Steps, Seconds: s.Seconds, Within: s.Within, Blind: s.Blind, Watched: last}
	}
}

// watchedRollouts returns the state of the rollouts in the store, or nil if it does not respond.
func (p *parts) watchedRollouts() *metrics.WatchedRollouts {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	w, err := p.rooms.Rollouts.Watched(ctx)
	if err != nil {
		return nil
	}
	out := &metrics.WatchedRollouts{Live: w.Live, Lag: w.Lag, Failing: w.FailingCount}
	for _, backlog := range []func(context.Context) (int, time.Time, error){p.rooms.Organizations.MailBacklog, p.rooms.Organizations.WebhookBacklog} {
		n, _, err := backlog(ctx)
		if err != nil {
			return nil
		}
		out.Notices += n
	}
	return out
}
