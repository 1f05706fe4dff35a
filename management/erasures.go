package management

import "context"

// Erasure is the deletion of a person, or of a person's events.
type Erasure struct {
	// Person is the person's uuid; the log stores no other data about deleted persons.
	Person string
	// Events is the number of deleted events.
	Events int64
	// EventsOnly reports whether the person was kept and only events were deleted.
	EventsOnly bool
}

// LogErasures writes a line for each erasure to the project's log of changes, with the caller, the
// person and the number of events, all in one transaction.
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
