package httpapi

import (
	"context"
	"errors"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// erase erases persons, with their events if withEvents is true. It logs the persons that
// existed, even if it fails before the last one.
func (rd *reader) erase(c *call, ids []capture.UUID, withEvents bool) (err error) {
	var erased []management.Erasure
	for _, id := range ids {
		var found bool
		var events int64
		if found, events, err = rd.people.Erase(c.ctx, c.project(), id, withEvents); err != nil {
			break
		}
		if found {
			erased = append(erased, management.Erasure{Person: id.String(), Events: events})
		}
	}
	return errors.Join(err, rd.noteErased(c, erased))
}

// noteErased records who has erased which persons, in the log of the server and in the project's
// change log. The context of the request may have ended.
func (rd *reader) noteErased(c *call, list []management.Erasure) error {
	for _, e := range list {
		what := "a person was erased"
		if e.EventsOnly {
			what = "the events of a person were erased"
		}
		rd.log.InfoContext(c.ctx, what, "project", c.project(), "person", e.Person, "events", e.Events, "user", c.scope.User.Email)
	}
	return rd.management.LogErasures(context.WithoutCancel(c.ctx), c.scope, list)
}
