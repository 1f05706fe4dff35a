package server

import (
	"context"
	"sync"
	"time"

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
			p.deliver(ctx, jobWebhooks, webhookPoll, nil, p.manager.Organizations.Webhooks.Deliver, func(err error) {
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
