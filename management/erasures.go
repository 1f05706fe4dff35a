package management

import "context"

// Erasure is what somebody has taken away of a person.
type Erasure struct {
	// Person is the uuid: the log keeps nothing else of who is gone.
	Person string
	// Events were erased.
	Events int64
	// Stays: only events were erased.
	Stays bool
}

// NoteErasures writes a line for each erasure into the project's log of changes: who
// erased whom, and how many events.
func (s *Service) NoteErasures(ctx context.Context, st *Standing, list []Erasure) error {
	if len(list) == 0 {
		return nil
	}
	return s.Desk.Store.Write(ctx, func(tx Tx) error {
		for _, e := range list {
			activity := "deleted"
			if e.Stays {
				activity = "updated"
			}
			err := s.Desk.NoteAs(tx, st.Caller, st.Parent(), activity, "Person", e.Person, ActivityDetail{
				Name: e.Person, Changes: []Change{{Type: "Person", Action: "deleted", Field: "events", Before: Encode(e.Events)}},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
