package errortracking

import (
	"context"
	"encoding/json"
	"time"
)

// EventLog reads events in the order in which they were recorded. Its errors are faults of the
// store.
type EventLog interface {
	// EventsAfter returns events with a name, of all projects, at positions above after, in
	// ascending order of positions. It returns at most limit events, and fewer if they are large.
	// last is the position up to which it has searched, at least after: all events up to it are
	// returned, and none can be recorded at or below it later.
	EventsAfter(ctx context.Context, name string, after int64, limit int) (events []LoggedEvent, last int64, err error)
}

// LoggedEvent is a recorded event.
type LoggedEvent struct {
	Position  int64 // in the log
	Project   int64
	Timestamp time.Time
	// Properties is a JSON object, and PersonProperties that of the person after the event.
	Properties, PersonProperties string
}

// loggedObject parses a JSON object. It returns nil if text is not an object.
func loggedObject(text string) (out map[string]json.RawMessage) {
	_ = json.Unmarshal([]byte(text), &out)
	return out
}
