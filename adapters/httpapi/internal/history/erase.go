package history

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/management"
)

// erase erases persons, with their events if withEvents is true. It logs the persons that
// existed, even if it fails before the last one.
func (rd *Reader) erase(c *frame.Call, ids []capture.UUID, withEvents bool) (err error) {
	var erased []management.Erasure
	err = rd.people.Erase(c.Ctx, c.Project(), ids, withEvents, func(person capture.UUID, events int64) {
		erased = append(erased, management.Erasure{Person: person.String(), Events: events})
	})
	return errors.Join(err, rd.noteErased(c, erased))
}

// noteErased records who has erased which persons, in the log of the server and in the project's
// change log. The context of the request may have ended.
func (rd *Reader) noteErased(c *frame.Call, list []management.Erasure) error {
	for _, e := range list {
		what := "a person was erased"
		if e.EventsOnly {
			what = "the events of a person were erased"
		}
		rd.log.InfoContext(c.Ctx, what, "project", c.Project(), "person", e.Person, "events", e.Events, "user", c.Scope.User.Email)
	}
	return rd.management.LogErasures(context.WithoutCancel(c.Ctx), c.Scope, list)
}

// FeaturePerson converts a stored person to the type of package management.
func FeaturePerson(p *capture.StoredPerson) *management.Person {
	return &management.Person{UUID: p.UUID.String(), Name: p.Name(), DistinctIDs: p.DistinctIDs, Properties: decodeProperties(p.Properties, nil), CreatedAt: p.CreatedAt}
}

// erasureService counts what an erasure would delete.
type erasureService struct {
	*Reader
	source port.Source // if nil, events cannot be counted
}

// erasureEndpoints report what an erasure would delete (spec/console.md N26).
var erasureEndpoints = frame.Resource(frame.InHistory, "person", func(s *frame.Server) erasureService {
	svc := erasureService{Reader: readerOf(s)}
	if s.Queries != nil {
		svc.source = s.Queries.Source
	}
	return svc
}, withReadLimits([]frame.Row[erasureService]{frame.Handle(http.MethodGet, "/persons/{person}/erasure", "Count the events that would be deleted with a person", countErasure)}))

// erasure is the number of events that an erasure of a person would delete.
type erasure struct {
	Events int64 `json:"events"`
	Exact  bool  `json:"exact"` // whether all events were counted
}

// erasureTimeout limits the time for counting the events of a person.
const erasureTimeout = 5 * time.Second

func countErasure(svc erasureService, c *frame.Call) (*erasure, error) {
	p, err := svc.NamedPerson(c)
	out := &erasure{Exact: true}
	switch {
	case err != nil:
		return nil, err
	case svc.source == nil:
		return &erasure{}, nil
	case len(p.DistinctIDs) == 0:
		return out, nil
	}
	out.Exact = len(p.DistinctIDs) < capture.MaxReturnedIDs // otherwise there may be more ids
	ctx, cancel := context.WithTimeout(c.Ctx, erasureTimeout)
	defer cancel()
	r, err := svc.source.Open(ctx, c.Project())
	if err != nil {
		return nil, err
	}
	err = r.Scan(ctx, port.Scan{DistinctIDs: p.DistinctIDs}, func(b *port.Batch) error {
		out.Events += int64(b.Len())
		return nil
	})
	if err != nil && c.Ctx.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		out.Exact, err = false, nil
	}
	return out, errors.Join(err, r.Close())
}
