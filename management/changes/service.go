package changes

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Bodies are the fields of the bodies of requests.
var Bodies = struct {
	Request, Scheduled, Vote management.Fields
}{
	Request: requestFields, Scheduled: scheduledFields, Vote: voteFields,
}

// Service manages changes of flags that wait: for their time, or for the approval of other users.
type Service struct {
	Scheduled Scheduled
	Requests  Requests
}

// New creates a Service.
func New(c Config) *Service {
	s := &core{Config: c}
	s.stored = storedflags.Store{Env: &s.Env}
	return &Service{newScheduled(s), newRequests(s)}
}
