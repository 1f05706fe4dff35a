package featureflags_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/experiments"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
	"github.com/bunting-flags/bunting/management/surveys"
)

// The source of the expected values in the tables is the section of spec/management.md in the row;
// if it is another specification, its name precedes the section.

// people are the persons of Project, newest first, and the groups of its type 0.
type people struct {
	persons []management.Person
	groups  map[string]map[string]any
}

func (p *people) Persons(_ context.Context, project int64, visit func(*management.Person) bool) error {
	for i := range p.personsIn(project) {
		if !visit(&p.persons[i]) {
			break
		}
	}
	return nil
}

func (p *people) personsIn(project int64) []management.Person {
	if project != ruletest.Project {
		return nil
	}
	return p.persons
}

func (p *people) PersonByUUID(_ context.Context, project int64, uuid string) (*management.Person, error) {
	for i, person := range p.personsIn(project) {
		if person.UUID == uuid {
			return &p.persons[i], nil
		}
	}
	return nil, nil
}

func (p *people) PersonByDistinctID(_ context.Context, project int64, id string) (*management.Person, error) {
	for i, person := range p.personsIn(project) {
		for _, own := range person.DistinctIDs {
			if own == id {
				return &p.persons[i], nil
			}
		}
	}
	return nil, nil
}

func (p *people) CountPersons(_ context.Context, project int64) (int, error) {
	return len(p.personsIn(project)), nil
}

func (p *people) Groups(_ context.Context, project int64, index int, visit func(string, map[string]any) bool) error {
	if project != ruletest.Project || index != 0 {
		return nil
	}
	for key, properties := range p.groups {
		if !visit(key, properties) {
			break
		}
	}
	return nil
}

// The UUIDs of the persons: una and vic have the plan pro, vic has two distinct ids, wes has no
// plan, xia has no properties.
const una, vic, wes, xia = "0191f0a2-5b1c-7d3e-8f40-0000000000a1", "0191f0a2-5b1c-7d3e-8f40-0000000000a2", "0191f0a2-5b1c-7d3e-8f40-0000000000a3", "0191f0a2-5b1c-7d3e-8f40-0000000000a4"

func somePeople() *people {
	return &people{
		persons: []management.Person{
			{UUID: una, DistinctIDs: []string{"una"}, Properties: map[string]any{"email": "una@example.com", "plan": "pro", "age": json.Number("40")}},
			{UUID: vic, DistinctIDs: []string{"vic", "vic2"}, Properties: map[string]any{"email": "vic@example.com", "plan": "pro", "age": json.Number("20")}},
			{UUID: wes, DistinctIDs: []string{"wes"}, Properties: map[string]any{"email": "wes@example.org", "age": json.Number("30")}},
			{UUID: xia, DistinctIDs: []string{"xia"}},
		},
		groups: map[string]map[string]any{"acme": {"size": json.Number("100")}, "ant": {"size": json.Number("1")}},
	}
}

// newWorld returns a World whose Project has group types, persons and dashboard 1.
func newWorld(t *testing.T) *ruletest.World {
	persons := somePeople()
	ids := make([][]string, len(persons.persons))
	for i, p := range persons.persons {
		ids[i] = p.DistinctIDs
	}
	w := ruletest.New(t, memstore.New(memstore.ExternalData{
		GroupTypes: map[int64]map[int]string{ruletest.Project: {0: "company", 1: "team"}},
		Persons:    map[int64][][]string{ruletest.Project: ids},
	}), func(c *rooms.Config) { c.People = persons })
	if _, err := w.Dashboards.Create(t.Context(), w.Scope(t, "bob"), ruletest.Body(t, `{}`)); err != nil {
		t.Fatal(err)
	}
	return w
}

// ask runs the rows of each table in a World of its own.
func ask(t *testing.T, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Run(t, roomCalls(t, w), rows)
		})
	}
}

type scopePtr = *management.Scope

// getCall returns a call that reads one object by its name.
func getCall[T any](t *testing.T, get func(context.Context, scopePtr, string) (T, error)) func(scopePtr, string, string) (any, error) {
	return func(scope scopePtr, path, _ string) (any, error) { return get(t.Context(), scope, path) }
}

// createCall returns a call that creates an object.
func createCall[T any](t *testing.T, create func(context.Context, scopePtr, management.Body) (T, error)) func(scopePtr, string, string) (any, error) {
	return func(scope scopePtr, _, b string) (any, error) { return create(t.Context(), scope, ruletest.Body(t, b)) }
}

// updateCall returns a call that changes an object. If put is set, all required fields must be
// present.
func updateCall[T any](t *testing.T, update func(context.Context, scopePtr, string, management.Body, bool) (T, error), put bool) func(scopePtr, string, string) (any, error) {
	return func(scope scopePtr, path, b string) (any, error) {
		return update(t.Context(), scope, path, ruletest.Body(t, b), put)
	}
}

// deleteCall returns a call that deletes an object.
func deleteCall(t *testing.T, remove func(context.Context, scopePtr, string) error) func(scopePtr, string, string) (any, error) {
	return func(scope scopePtr, path, _ string) (any, error) { return nil, remove(t.Context(), scope, path) }
}

// number returns the id of a flag in a path.
func number(t *testing.T, path string) int64 {
	id, err := strconv.ParseInt(path, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func roomCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	out := flagCalls(t, w)
	for _, more := range []ruletest.Calls{
		codeCalls(t, w), cohortCalls(t, w), linkedCalls(t, w), ruleCalls(t, w), exposureCalls(t, w), cohortPreviewCalls(t, w), surveyCalls(t, w), experimentCalls(t, w),
	} {
		for name, call := range more {
			out[name] = call
		}
	}
	return out
}

// ruleCalls returns the call that sets an access rule (clients.md §11.1) about one object, or about
// all objects of the kind in the body. CYD in the body is the membership of cyd.
func ruleCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	return ruletest.Calls{"rule": func(scope scopePtr, path, b string) (any, error) {
		kind, id, _ := strings.Cut(path, " ")
		b = strings.ReplaceAll(b, "CYD", w.Scope(t, "cyd").Memberships[0].ID)
		return w.SetControl(t.Context(), scope, kind, id, ruletest.Body(t, b))
	}}
}

func flagCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	update := func(put bool) func(scopePtr, string, string) (any, error) {
		return func(scope scopePtr, path, b string) (any, error) {
			return f.Update(ctx, scope, number(t, path), body(b), put)
		}
	}
	return ruletest.Calls{
		"create": createCall(t, f.Create),
		"get":    func(scope scopePtr, path, _ string) (any, error) { return f.Get(ctx, scope, number(t, path)) },
		"change": update(false),
		"put":    update(true),
		"status": func(scope scopePtr, path, _ string) (any, error) { return f.Status(ctx, scope, number(t, path)) },
		"list": func(scope scopePtr, _, b string) (any, error) {
			q := featureflags.FlagQuery{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(f.List(ctx, scope, q))
		},
		"rows": func(scope scopePtr, _, b string) (any, error) {
			q := featureflags.FlagQuery{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(f.Rows(ctx, scope, q))
		},
		"keys": func(scope scopePtr, _, b string) (any, error) { // of a list, in its order
			q := featureflags.FlagQuery{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			list, err := f.List(ctx, scope, q)
			keys := []string{}
			for _, flag := range list.Results {
				keys = append(keys, flag.Key)
			}
			return keys, err
		},
		"versions": func(scope scopePtr, path, b string) (any, error) {
			p := management.Page{Limit: management.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(f.Versions(ctx, scope, number(t, path), p))
		},
		"restore": func(scope scopePtr, path, b string) (any, error) {
			return f.Restore(ctx, scope, number(t, path), body(b))
		},
		"dependents": func(scope scopePtr, path, _ string) (any, error) {
			return f.Dependents(ctx, scope, number(t, path), false)
		},
		"activedependents": func(scope scopePtr, path, _ string) (any, error) {
			return f.Dependents(ctx, scope, number(t, path), true)
		},
		"bulkkeys": func(scope scopePtr, _, b string) (any, error) {
			keys, err := f.BulkKeys(ctx, scope, body(b))
			if errors.Is(err, featureflags.ErrNoFlagIDs) {
				return map[string]string{"error": err.Error()}, nil
			}
			return keys, err
		},
		"radius":   createCall(t, f.BlastRadius),
		"tags":     createCall(t, f.BulkTags),
		"bulk":     createCall(t, f.BulkChange),
		"cohortof": func(scope scopePtr, path, _ string) (any, error) { return f.StaticCohort(ctx, scope, number(t, path)) },
		"listed":   func(scope scopePtr, _, _ string) (any, error) { return f.ListAll(ctx, scope) },
		"question": func(scope scopePtr, path, b string) (any, error) {
			return f.Question(ctx, scope, path, body(b), false)
		},
		"id": func(scope scopePtr, path, _ string) (any, error) { return f.IDByKey(ctx, scope, path) },
		"warnings": func(scope scopePtr, path, b string) (any, error) { // of a change
			warnings := []string{}
			sent := body(b)
			sent.Warn = func(text string) { warnings = append(warnings, text) }
			_, err := f.Update(ctx, scope, number(t, path), sent, false)
			return warnings, err
		},
	}
}

func codeCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	document := func(do func(context.Context, scopePtr, management.Body, bool) (*featureflags.DocumentResult, error), prune bool) func(scopePtr, string, string) (any, error) {
		return func(scope scopePtr, _, b string) (any, error) { return do(ctx, scope, ruletest.Body(t, b), prune) }
	}
	return ruletest.Calls{
		"plan":       document(f.Plan, false),
		"planprune":  document(f.Plan, true),
		"apply":      document(f.Apply, false),
		"applyprune": document(f.Apply, true),
		"export": func(scope scopePtr, _, _ string) (any, error) {
			text, warnings, err := f.Export(ctx, scope)
			if len(warnings) > 0 {
				return warnings, err
			}
			return text, err
		},
		"copy": func(scope scopePtr, _, b string) (any, error) {
			out, err := f.Copy(ctx, scope, ruletest.Body(t, b))
			for _, own := range []error{featureflags.ErrMissingFields, featureflags.ErrNoFlagToCopy, featureflags.ErrMayNotCopy} {
				if errors.Is(err, own) { // §5.1.3: these have a body of their own
					return map[string]string{"error": err.Error()}, nil
				}
			}
			return out, err
		},
		"places": getCall(t, f.ListByProject),
	}
}

func cohortCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, c := t.Context(), w.Cohorts
	update := func(put bool) func(scopePtr, string, string) (any, error) {
		return func(scope scopePtr, path, b string) (any, error) {
			return c.Update(ctx, scope, path, ruletest.Body(t, b), put, nil)
		}
	}
	return ruletest.Calls{
		"cohort":       func(scope scopePtr, _, b string) (any, error) { return c.Create(ctx, scope, ruletest.Body(t, b), nil) },
		"getcohort":    getCall(t, c.Get),
		"changecohort": update(false),
		"putcohort":    update(true),
		"cohorts": func(scope scopePtr, _, b string) (any, error) {
			q := cohorts.Query{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(c.List(ctx, scope, q))
		},
		"file": func(scope scopePtr, path, file string) (any, error) { // a new cohort with members
			list, err := cohorts.ReadMembers(strings.NewReader(file))
			if err != nil {
				return nil, err
			}
			return c.Create(ctx, scope, ruletest.Body(t, path), list)
		},
		"morefile": func(scope scopePtr, path, file string) (any, error) {
			list, err := cohorts.ReadMembers(strings.NewReader(file))
			if err != nil {
				return nil, err
			}
			return c.Update(ctx, scope, path, ruletest.Body(t, ""), false, list)
		},
		"persons": func(scope scopePtr, path, _ string) (any, error) { // the cohort, the size of the page, the offset
			id, rest, _ := strings.Cut(path, " ")
			limit, cursor, _ := strings.Cut(rest, " ")
			return c.Persons(ctx, scope, id, int(number(t, limit)), cursor)
		},
		"addpersons": func(scope scopePtr, path, b string) (any, error) {
			return c.AddPersons(ctx, scope, path, ruletest.Body(t, b))
		},
		"removeperson": func(scope scopePtr, path, b string) (any, error) {
			return c.RemovePerson(ctx, scope, path, ruletest.Body(t, b))
		},
		"duplicate": getCall(t, c.DuplicateStatic),
		"countdue":  func(scopePtr, string, string) (any, error) { return c.CountDue(ctx) },
		"counts": func(scope scopePtr, path, b string) (any, error) {
			p := management.Page{Limit: management.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(c.Calculations(ctx, scope, path, p))
		},
		"member": func(scope scopePtr, path, _ string) (any, error) { // UUIDs of the members of a cohort
			isMember, err := c.Membership(ctx, scope, path)
			uuids := []string{}
			if err == nil {
				for _, p := range somePeople().persons {
					if isMember(&p) {
						uuids = append(uuids, p.UUID)
					}
				}
			}
			return uuids, err
		},
	}
}

func linkedCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx := t.Context()
	return ruletest.Calls{
		"feature":       createCall(t, w.EarlyAccess.Create),
		"getfeature":    getCall(t, w.EarlyAccess.Get),
		"changefeature": updateCall(t, w.EarlyAccess.Update, false),
		"putfeature":    updateCall(t, w.EarlyAccess.Update, true),
		"dropfeature":   deleteCall(t, w.EarlyAccess.Delete),
		"features": func(scope scopePtr, _, b string) (any, error) {
			p := management.Page{Limit: management.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(w.EarlyAccess.List(ctx, scope, p))
		},
		"publicfeatures": func(scope scopePtr, path, _ string) (any, error) { // of stages
			return w.EarlyAccess.Public(ctx, scope.Project.ID, strings.Fields(path))
		},
		"experiment":       createCall(t, w.Experiments.Create),
		"getexperiment":    getCall(t, w.Experiments.Get),
		"changeexperiment": updateCall(t, w.Experiments.Update, false),
		"putexperiment":    updateCall(t, w.Experiments.Update, true),
		"exposures":        getCall(t, w.Experiments.Exposures),
		"experiments": func(scope scopePtr, _, b string) (any, error) {
			q := experiments.Query{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(w.Experiments.List(ctx, scope, q))
		},
		"holdout":           createCall(t, w.Experiments.Holdouts.Create),
		"getholdout":        getCall(t, w.Experiments.Holdouts.Get),
		"changeholdout":     updateCall(t, w.Experiments.Holdouts.Update, false),
		"dropholdout":       deleteCall(t, w.Experiments.Holdouts.Delete),
		"savedmetric":       createCall(t, w.Experiments.SavedMetrics.Create),
		"getsavedmetric":    getCall(t, w.Experiments.SavedMetrics.Get),
		"changesavedmetric": updateCall(t, w.Experiments.SavedMetrics.Update, false),
		"dropsavedmetric":   deleteCall(t, w.Experiments.SavedMetrics.Delete),
		"savedmetrics": func(scope scopePtr, _, _ string) (any, error) {
			return ruletest.List(w.Experiments.SavedMetrics.List(ctx, scope, management.Page{Limit: management.DefaultPage}))
		},
		"survey":       createCall(t, w.Surveys.Create),
		"getsurvey":    getCall(t, w.Surveys.Get),
		"changesurvey": updateCall(t, w.Surveys.Update, false),
		"putsurvey":    updateCall(t, w.Surveys.Update, true),
		"dropsurvey":   deleteCall(t, w.Surveys.Delete),
		"launchsurvey": getCall(t, w.Surveys.Launch),
		"stopsurvey":   getCall(t, w.Surveys.Stop),
		"surveysdue":   func(scopePtr, string, string) (any, error) { return w.Surveys.StartDueIterations(ctx) },
		"surveys": func(scope scopePtr, _, b string) (any, error) {
			q := surveys.Query{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(w.Surveys.List(ctx, scope, q))
		},
		"publicsurveys": func(_ scopePtr, path, _ string) (any, error) { return w.Surveys.Public(ctx, path) },
		"surveysrun": func(scope scopePtr, _, _ string) (runs any, err error) {
			err = w.Store.Read(ctx, func(tx rooms.Tx) (err error) {
				runs, err = surveys.HasRunning(tx, scope.Project.ID)
				return err
			})
			return runs, err
		},
		"schedule":       createCall(t, w.Changes.Scheduled.Create),
		"getschedule":    getCall(t, w.Changes.Scheduled.Get),
		"changeschedule": updateCall(t, w.Changes.Scheduled.Update, false),
		"putschedule":    updateCall(t, w.Changes.Scheduled.Update, true),
		"dropschedule":   deleteCall(t, w.Changes.Scheduled.Delete),
		"schedules": func(scope scopePtr, path, b string) (any, error) { // of a flag
			q := struct {
				management.Page
				Model *string
			}{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(w.Changes.Scheduled.List(ctx, scope, q.Model, path, q.Page))
		},
		"until": func(_ scopePtr, path, _ string) (any, error) { // lets time pass
			parsed, err := time.Parse(time.RFC3339, path)
			w.Clock = parsed
			return nil, err
		},
		"due": func(scopePtr, string, string) (any, error) { return w.Changes.Scheduled.RunDue(ctx) },
	}
}
