package management

import "context"

// Erasure is what somebody has taken away of a person.
type Erasure struct {
	// Person is the uuid: the log keeps nothing else of who is gone.
	Person string
	// Events were erased.
	Events int64
	// EventsOnly: only events were erased.
	EventsOnly bool
}

// LogErasures writes a line for each erasure into the project's log of changes: who
// erased whom, and how many events.
func (s *Service) LogErasures(ctx context.Context, scope *Scope, list []Erasure) error {
	if len(list) == 0 {
		return nil
	}
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		for _, e := range list {
			activity := "deleted"
			if e.EventsOnly {
				activity = "updated"
			}
			err := s.Env.LogActivityAs(tx, scope.Caller, scope.Parent(), activity, "Person", e.Person, ActivityDetail{
				Name: e.Person, Changes: []Change{{Type: "Person", Action: "deleted", Field: "events", Before: Encode(e.Events)}},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
