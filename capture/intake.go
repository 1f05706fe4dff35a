package capture

import (
	"context"
	"time"
)

// IntakeConfig says what an Intake stands on. Keys and Into are required.
type IntakeConfig struct {
	Keys Keys
	Into Appender
	// Locator: nil means that addresses are not located.
	Locator Locator
	// Usage: nil means that no counts are known from before the start.
	Usage UsageReader
	// Now is the clock, time.Now when nil.
	Now func() time.Time
}

// Intake judges what comes in: it finds the project, makes events of items,
// counts what is dropped, and has the rest recorded.
type Intake struct{ config IntakeConfig }

// NewIntake makes an Intake.
func NewIntake(c IntakeConfig) *Intake { return &Intake{c} }

// Receipt is the answer to an accepted submission.
type Receipt struct {
	// Accepted events are durable.
	Accepted int
	// Results are those of the items, in their order: None for what is stored.
	Results []DropReason
	// QuotaLimited are the resources that dropped events.
	QuotaLimited []Resource
}

// Accept takes a submission in. It returns when its events are durable, or with
// a *Refusal, ErrUnknownKey, or ErrUnavailable, when none of them was accepted.
func (i *Intake) Accept(ctx context.Context, s *Submission, from Origin) (Receipt, error) {
	return Receipt{}, ErrUnavailable
}
