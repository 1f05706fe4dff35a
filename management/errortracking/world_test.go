package errortracking_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// eventLog is an errortracking.EventLog in memory. The position of an event is its number.
type eventLog struct {
	events []errortracking.LoggedEvent
	err    error
}

func (l *eventLog) EventsAfter(_ context.Context, name string, after int64, limit int) ([]errortracking.LoggedEvent, int64, error) {
	if name != "$exception" || l.err != nil {
		return nil, 0, errors.Join(l.err, errors.New("no event is called "+name))
	}
	var out []errortracking.LoggedEvent
	for _, e := range l.events {
		if e.Position > after && len(out) < limit {
			out = append(out, e)
			after = e.Position
		}
	}
	return out, after, nil
}

// world is a World with a log of exceptions.
type world struct {
	*ruletest.World
	log *eventLog
}

func newWorld(t *testing.T) *world { return worldOn(t, memstore.New(memstore.ExternalData{})) }

func worldOn(t *testing.T, store rooms.Store) *world {
	w := &world{log: &eventLog{}}
	w.World = ruletest.New(t, store, func(c *rooms.Config) { c.Events = w.log })
	return w
}

// addException adds an exception at the present time to the log.
func (w *world) addException(project int64, properties, person string) {
	w.log.events = append(w.log.events, errortracking.LoggedEvent{
		Position: int64(len(w.log.events) + 1), Project: project, Timestamp: w.Clock, Properties: properties, PersonProperties: person,
	})
}

// exceptionProperties returns the properties of an exception with a type, a message and additional
// members.
func exceptionProperties(kind, message, more string) string {
	return `{"$exception_list":[{"type":"` + kind + `","value":"` + message + `"}]` + more + `}`
}

// follow calls Follow until the end of the log.
func (w *world) follow(t *testing.T) error {
	for range 100 {
		if more, err := w.ErrorTracking.Follow(t.Context()); err != nil || !more {
			return err
		}
	}
	t.Fatal("following does not end")
	return nil
}

func (w *world) calls(t *testing.T) ruletest.Calls {
	s, ctx := w.ErrorTracking, t.Context()
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	type callScope = *management.Scope
	page := func(text string) management.Page {
		p := management.Page{Limit: ruletest.DefaultPage}
		ruletest.Read(t, text, &p)
		return p
	}
	return ruletest.Calls{
		"create": func(scope callScope, _, b string) (any, error) { return s.CreateRule(ctx, scope, body(b)) },
		"get":    func(scope callScope, path, _ string) (any, error) { return s.Rule(ctx, scope, path) },
		"list":   func(scope callScope, _, b string) (any, error) { return ruletest.List(s.Rules(ctx, scope, page(b))) },
		"change": func(scope callScope, path, b string) (any, error) {
			return nil, s.UpdateRule(ctx, scope, path, body(b), false)
		},
		"put": func(scope callScope, path, b string) (any, error) {
			return nil, s.UpdateRule(ctx, scope, path, body(b), true)
		},
		"delete":  func(scope callScope, path, _ string) (any, error) { return nil, s.DeleteRule(ctx, scope, path) },
		"reorder": func(scope callScope, _, b string) (any, error) { return nil, s.ReorderRules(ctx, scope, body(b)) },
		"issues": func(scope callScope, status, b string) (any, error) {
			return ruletest.List(s.Issues(ctx, scope, status, page(b)))
		},
		"issue":       func(scope callScope, path, _ string) (any, error) { return s.Issue(ctx, scope, path) },
		"changeissue": func(scope callScope, path, b string) (any, error) { return s.UpdateIssue(ctx, scope, path, body(b)) },
		"role": func(scope callScope, _, b string) (any, error) {
			return w.Organizations.Roles.Create(ctx, scope, body(b))
		},
		// threw adds an exception with properties and calls Follow. issueof returns the issue that
		// was last seen.
		"threw": func(scope callScope, path, properties string) (any, error) {
			person := path
			w.addException(scope.Project.ID, properties, person)
			return nil, w.follow(t)
		},
		"issueof": func(scope callScope, _, _ string) (any, error) {
			list, err := s.Issues(ctx, scope, "", management.Page{Limit: 1})
			if err != nil || len(list.Results) == 0 {
				return nil, err
			}
			return list.Results[0], nil
		},
		// spoil replaces the stored filters of a rule by filters that cannot be evaluated.
		"spoil": func(scope callScope, path, filters string) (any, error) {
			return nil, w.Store.Write(ctx, func(tx rooms.Tx) error {
				r, err := tx.Get("assignment_rule", management.ProjectParent(scope.Project.ID), path)
				if err != nil || r == nil {
					return errors.Join(err, errors.New("no rule"))
				}
				var members map[string]json.RawMessage
				if err := json.Unmarshal(r.Data, &members); err != nil {
					return err
				}
				members["filters"] = json.RawMessage(filters)
				r.Data = storage.Encode(members)
				return tx.Put(r)
			})
		},
	}
}

// when returns a property group with one filter.
func when(filter string) string { return `{"type":"AND","values":[` + filter + `]}` }

// number returns the number of the user with a name.
func number(name string) string {
	uuid := ruletest.UUID(name)
	n, err := strconv.ParseInt(strings.TrimLeft(uuid[len(uuid)-8:], "0"), 10, 64)
	if err != nil {
		panic(err)
	}
	return strconv.FormatInt(n, 10)
}
