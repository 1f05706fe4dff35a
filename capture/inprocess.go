package capture

import (
	"context"
	"fmt"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Capture records an event of this process, by the same rules as a request to /capture with
// the same content. It returns when the event is durable. Properties are encoded by
// encoding/json; they may include $set, $set_once and $groups. The event is not located,
// because there is no client address. The error is a *[DropError] if the event is dropped,
// and otherwise one that Accept returns.
func (i *Intake) Capture(ctx context.Context, apiKey, distinctID, event string, properties map[string]any) error {
	body, err := wire.Encode(map[string]any{"api_key": apiKey, "distinct_id": distinctID, "event": event, "properties": properties})
	if err != nil {
		return fmt.Errorf("capture: the properties cannot be encoded as JSON: %w", err)
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

// DropError is returned by Capture if the event is not stored.
type DropError struct{ Reason DropReason }

func (d *DropError) Error() string { return "capture: the event is not stored: " + string(d.Reason) }

// StaticKeys returns Keys for a fixed set of projects, identified by their APIKey. It is for
// services that manage projects themselves, for examples and for tests.
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

// AppenderFunc is an adapter that allows the use of a function as an Appender, for example to
// send batches to another destination.
type AppenderFunc func(ctx context.Context, b *Batch) error

// Append calls f. It returns ErrUnavailable if f is nil.
func (f AppenderFunc) Append(ctx context.Context, b *Batch) error {
	if f == nil {
		return ErrUnavailable
	}
	return f(ctx, b)
}
