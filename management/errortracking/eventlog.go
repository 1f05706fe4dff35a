package errortracking

import (
	"context"
	"encoding/json"
	"time"
)

// EventLog reads events in the order in which they were recorded. Its errors are
// faults of the store.
type EventLog interface {
	// EventsAfter returns events of one name, of all projects, whose place is above
	// after, in the order of their places: at most limit, or fewer so that they are
	// not too large together. last is how far it has looked, after or higher: no
	// event up to there is missing, nor can one still come in there.
	EventsAfter(ctx context.Context, name string, after int64, limit int) (events []LoggedEvent, last int64, err error)
}

// LoggedEvent is a recorded event.
type LoggedEvent struct {
	Position  int64 // in the log
	Project   int64
	Timestamp time.Time
	// Properties are a JSON object, and so are those of the person as it was after
	// the event.
	Properties, PersonProperties string
}

// loggedObject takes a JSON object apart; what is none has no members.
func loggedObject(text string) (out map[string]json.RawMessage) {
	_ = json.Unmarshal([]byte(text), &out)
	return out
}
