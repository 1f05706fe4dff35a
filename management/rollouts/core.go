package rollouts

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/notices"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Config is the configuration of a Service. Env is required, and every other field is optional.
type Config struct {
	// Env has the store, the clock and the log of changes.
	Env management.Env[storeTx]
	// Measure runs a query about a step of a guarded rollout. The query is a GuardedRolloutQuery of
	// capture/insights, and the result is the evidence of that query. An error that is no
	// *management.Error, or one of the kind Unavailable, is temporary: the query is retried later.
	// If nil, rollouts are not evaluated.
	Measure func(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error)
	// Lag returns the age of the oldest accepted event that queries cannot read yet. If nil,
	// queries read every accepted event.
	Lag func(ctx context.Context) (time.Duration, error)
	// Interval is the time between two evaluations of a rollout. The default is one minute. It
	// doubles for a rollout whose evaluation takes more than a tenth of it.
	Interval time.Duration
	// Slowed is called when the interval of a rollout has doubled to next, because an evaluation
	// took long. It may be nil.
	Slowed func(project, rollout int64, took, next time.Duration)
	// Notify sends a notice to users, within a transaction, and reports whether at least one of
	// them could be reached. If nil, users are not notified.
	Notify func(tx management.Tx, n notices.Notice) (bool, error)
	// Webhook queues a webhook, within a transaction, and reports whether it was queued.
	// CheckWebhook returns an error if no webhook can be sent to an address. If they are nil,
	// rollouts have no webhooks.
	Webhook      func(tx management.Tx, w notices.Webhook) (bool, error)
	CheckWebhook func(address string) error
}

// Service manages guarded rollouts (experiments.md §4): a rollout raises the share of a flag in
// steps and compares the metrics of treatment and control before each step.
type Service struct {
	*Config
	resource.Resource[storeTx, storedRollout, Rollout]
	stored     storedflags.Store
	simulating chan struct{} // semaphore: its capacity is the number of simulations that may run at a time
	counts     *counts
}

// storeTx is a transaction of the store.
type storeTx = definitions.Tx

// view is a transaction with the scope of the caller.
type view = resource.View[storeTx]

// maxRollouts limits the live rollouts of a project (experiments.md §4.15).
const maxRollouts = 200

func (s Service) interval() time.Duration { return cmp.Or(s.Interval, time.Minute) }

// Find returns the flag of a rollout. It returns an error if the flag was deleted.
func (s Service) findFlag(v *view, x *storedRollout) (*storedflags.Flag, error) {
	f, err := s.stored.Find(v.Tx, v.Scope, x.Flag)
	if err == nil && f == nil {
		err = management.CodedFault(management.CodeDoesNotExist, "feature_flag", "The project has no feature flag %d.", x.Flag)
	}
	return f, err
}
