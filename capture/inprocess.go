package capture

import (
	"context"
	"fmt"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Capture takes an event of the own process in, as a request to /capture that says the
// same is: by the same rules, and durable when it returns. Properties are what
// encoding/json makes of them; $set, $set_once and $groups stand among them. There is no
// address to locate. Errors are those of Accept, and *[Dropped] for an event that is not
// stored.
func (i *Intake) Capture(ctx context.Context, apiKey, distinctID, event string, properties map[string]any) error {
	body, err := wire.Encode(map[string]any{"api_key": apiKey, "distinct_id": distinctID, "event": event, "properties": properties})
	if err != nil {
		return fmt.Errorf("capture: the properties have no form in JSON: %w", err)
	}
	submission, err := Decode(string(body), DecodeOptions{})
	if err != nil {
		return err
	}
	receipt, err := i.Accept(ctx, submission, Origin{})
	if err != nil {
		return err
	}
	for _, reason := range receipt.Results {
		if reason != NotDropped {
			return &DropError{reason}
		}
	}
	return nil
}

// DropError says why an event of Capture is not stored.
type DropError struct{ Reason DropReason }

func (d *DropError) Error() string { return "capture: the event is not stored: " + string(d.Reason) }

// StaticKeys knows these projects by their APIKey: for services with projects of their
// own, examples and tests.
func StaticKeys(projects ...Project) Keys {
	keys := make(staticKeys, len(projects))
	for _, p := range projects {
		keys[p.APIKey] = p
	}
	return keys
}

type staticKeys map[string]Project

func (k staticKeys) Project(_ context.Context, token string) (Project, error) {
	if p, ok := k[token]; ok {
		return p, nil
	}
	return Project{}, ErrUnknownKey
}

// AppenderFunc is a function as an Appender: a sink of one's own.
type AppenderFunc func(ctx context.Context, b *Batch) error

// Append implements Appender. A nil function is ErrUnavailable.
func (f AppenderFunc) Append(ctx context.Context, b *Batch) error {
	if f == nil {
		return ErrUnavailable
	}
	return f(ctx, b)
}
