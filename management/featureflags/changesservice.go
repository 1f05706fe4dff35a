package featureflags

import "github.com/bunting-flags/bunting/management/internal/storedflags"

// Changes manages changes of flags that wait: for their time, or for the approval of other users.
type Changes struct {
	Scheduled ScheduledChanges
	Requests  ChangeRequests
}

// NewChanges creates a Changes.
func NewChanges(c ChangesConfig) *Changes {
	s := &changesCore{ChangesConfig: c}
	s.stored = storedflags.Store{Env: &s.Env}
	return &Changes{newScheduledChanges(s), newChangeRequests(s)}
}
