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
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// What the tables expect is what spec/management.md says in the section that a row
// names; another specification is named before its section.

// people are persons of Project, newest first, and the groups of its type 0.
type people struct {
	persons []featureflags.Person
	groups  map[string]map[string]any
}

func (p *people) Persons(_ context.Context, project int64, visit func(*featureflags.Person) bool) error {
	for i := range p.of(project) {
		if !visit(&p.persons[i]) {
			break
		}
	}
	return nil
}

func (p *people) of(project int64) []featureflags.Person {
	if project != ruletest.Project {
		return nil
	}
	return p.persons
}

func (p *people) PersonByUUID(_ context.Context, project int64, uuid string) (*featureflags.Person, error) {
	for i, person := range p.of(project) {
		if person.UUID == uuid {
			return &p.persons[i], nil
		}
	}
	return nil, nil
}

func (p *people) PersonByDistinctID(_ context.Context, project int64, id string) (*featureflags.Person, error) {
	for i, person := range p.of(project) {
		for _, own := range person.DistinctIDs {
			if own == id {
				return &p.persons[i], nil
			}
		}
	}
	return nil, nil
}

func (p *people) CountPersons(_ context.Context, project int64) (int, error) {
	return len(p.of(project)), nil
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

// The uuids of the persons: una and vic have the plan pro, vic has two distinct ids,
// wes has no plan, xia has no properties.
const una, vic, wes, xia = "0191f0a2-5b1c-7d3e-8f40-0000000000a1", "0191f0a2-5b1c-7d3e-8f40-0000000000a2", "0191f0a2-5b1c-7d3e-8f40-0000000000a3", "0191f0a2-5b1c-7d3e-8f40-0000000000a4"

func somePeople() *people {
	return &people{
		persons: []featureflags.Person{
			{UUID: una, DistinctIDs: []string{"una"}, Properties: map[string]any{"email": "una@example.com", "plan": "pro", "age": json.Number("40")}},
			{UUID: vic, DistinctIDs: []string{"vic", "vic2"}, Properties: map[string]any{"email": "vic@example.com", "plan": "pro", "age": json.Number("20")}},
			{UUID: wes, DistinctIDs: []string{"wes"}, Properties: map[string]any{"email": "wes@example.org", "age": json.Number("30")}},
			{UUID: xia, DistinctIDs: []string{"xia"}},
		},
		groups: map[string]map[string]any{"acme": {"size": json.Number("100")}, "ant": {"size": json.Number("1")}},
	}
}

// newWorld is a World whose Project has group types, persons and dashboard 1.
func newWorld(t *testing.T) *ruletest.World {
	who := somePeople()
	ids := make([][]string, len(who.persons))
	for i, p := range who.persons {
		ids[i] = p.DistinctIDs
	}
	w := ruletest.New(t, memstore.New(memstore.Outside{
		GroupTypes: map[int64]map[int]string{ruletest.Project: {0: "company", 1: "team"}},
		Persons:    map[int64][][]string{ruletest.Project: ids},
	}), func(c *rooms.Config) { c.People = who })
	if _, err := w.Dashboards.Create(t.Context(), w.Standing(t, "bob"), ruletest.Body(t, `{}`)); err != nil {
		t.Fatal(err)
	}
	return w
}

// ask asks the rows of each table in a World of its own.
func ask(t *testing.T, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Ask(t, roomCalls(t, w), rows)
		})
	}
}

type standing = *management.Standing

// one is a call that asks for one thing by its name.
func one[T any](t *testing.T, get func(context.Context, standing, string) (T, error)) func(standing, string, string) (any, error) {
	return func(st standing, path, _ string) (any, error) { return get(t.Context(), st, path) }
}

// made is a call that makes something.
func made[T any](t *testing.T, create func(context.Context, standing, management.Body) (T, error)) func(standing, string, string) (any, error) {
	return func(st standing, _, b string) (any, error) { return create(t.Context(), st, ruletest.Body(t, b)) }
}

// changed is a call that changes something; put: all required fields have to be there.
func changed[T any](t *testing.T, update func(context.Context, standing, string, management.Body, bool) (T, error), put bool) func(standing, string, string) (any, error) {
	return func(st standing, path, b string) (any, error) {
		return update(t.Context(), st, path, ruletest.Body(t, b), put)
	}
}

// gone is a call that takes something away.
func gone(t *testing.T, drop func(context.Context, standing, string) error) func(standing, string, string) (any, error) {
	return func(st standing, path, _ string) (any, error) { return nil, drop(t.Context(), st, path) }
}

// number is the id of a flag in a path.
func number(t *testing.T, path string) int64 {
	id, err := strconv.ParseInt(path, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func roomCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	out := flagCalls(t, w)
	for _, more := range []ruletest.Calls{codeCalls(t, w), cohortCalls(t, w), linkedCalls(t, w)} {
		for name, call := range more {
			out[name] = call
		}
	}
	return out
}

func flagCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	update := func(put bool) func(standing, string, string) (any, error) {
		return func(st standing, path, b string) (any, error) {
			return f.Update(ctx, st, number(t, path), body(b), put)
		}
	}
	return ruletest.Calls{
		"create": made(t, f.Create),
		"get":    func(st standing, path, _ string) (any, error) { return f.Get(ctx, st, number(t, path)) },
		"change": update(false),
		"put":    update(true),
		"status": func(st standing, path, _ string) (any, error) { return f.Status(ctx, st, number(t, path)) },
		"list": func(st standing, _, b string) (any, error) {
			q := featureflags.FlagQuery{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(f.List(ctx, st, q))
		},
		"rows": func(st standing, _, b string) (any, error) {
			q := featureflags.FlagQuery{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(f.Rows(ctx, st, q))
		},
		"keys": func(st standing, _, b string) (any, error) { // of a list, in its order
			q := featureflags.FlagQuery{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			list, err := f.List(ctx, st, q)
			keys := []string{}
			for _, flag := range list.Results {
				keys = append(keys, flag.Key)
			}
			return keys, err
		},
		"versions": func(st standing, path, b string) (any, error) {
			p := management.Page{Limit: management.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(f.Versions(ctx, st, number(t, path), p))
		},
		"restore":    func(st standing, path, b string) (any, error) { return f.Restore(ctx, st, number(t, path), body(b)) },
		"dependents": func(st standing, path, _ string) (any, error) { return f.Dependents(ctx, st, number(t, path)) },
		"bulkkeys": func(st standing, _, b string) (any, error) {
			keys, err := f.BulkKeys(ctx, st, body(b))
			if errors.Is(err, featureflags.ErrNoFlagIDs) {
				return map[string]string{"error": err.Error()}, nil
			}
			return keys, err
		},
		"radius":   made(t, f.BlastRadius),
		"tags":     made(t, f.BulkTags),
		"bulk":     made(t, f.BulkChange),
		"cohortof": func(st standing, path, _ string) (any, error) { return f.StaticCohort(ctx, st, number(t, path)) },
		"listed":   func(st standing, _, _ string) (any, error) { return f.Listed(ctx, st) },
		"question": func(st standing, path, b string) (any, error) {
			return f.Question(ctx, st, path, body(b), false)
		},
		"id": func(st standing, path, _ string) (any, error) { return f.IDOf(ctx, st, path) },
		"warnings": func(st standing, path, b string) (any, error) { // of a change
			told := []string{}
			sent := body(b)
			sent.Warn = func(text string) { told = append(told, text) }
			_, err := f.Update(ctx, st, number(t, path), sent, false)
			return told, err
		},
	}
}

func codeCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	document := func(do func(context.Context, standing, management.Body, bool) (*featureflags.DocumentResult, error), prune bool) func(standing, string, string) (any, error) {
		return func(st standing, _, b string) (any, error) { return do(ctx, st, ruletest.Body(t, b), prune) }
	}
	return ruletest.Calls{
		"plan":       document(f.Plan, false),
		"planprune":  document(f.Plan, true),
		"apply":      document(f.Apply, false),
		"applyprune": document(f.Apply, true),
		"export": func(st standing, _, _ string) (any, error) {
			text, warnings, err := f.Export(ctx, st)
			if len(warnings) > 0 {
				return warnings, err
			}
			return text, err
		},
		"copy": func(st standing, _, b string) (any, error) {
			out, err := f.Copy(ctx, st, ruletest.Body(t, b))
			for _, own := range []error{featureflags.ErrMissingFields, featureflags.ErrNoFlagToCopy, featureflags.ErrMayNotCopy} {
				if errors.Is(err, own) { // §5.1.3: the body of these
					return map[string]string{"error": err.Error()}, nil
				}
			}
			return out, err
		},
		"places": one(t, f.Places),
	}
}

func cohortCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, c := t.Context(), w.FeatureFlags.Cohorts
	update := func(put bool) func(standing, string, string) (any, error) {
		return func(st standing, path, b string) (any, error) {
			return c.Update(ctx, st, path, ruletest.Body(t, b), put, nil)
		}
	}
	return ruletest.Calls{
		"cohort":       func(st standing, _, b string) (any, error) { return c.Create(ctx, st, ruletest.Body(t, b), nil) },
		"getcohort":    one(t, c.Get),
		"changecohort": update(false),
		"putcohort":    update(true),
		"cohorts": func(st standing, _, b string) (any, error) {
			q := featureflags.CohortQuery{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(c.List(ctx, st, q))
		},
		"file": func(st standing, path, file string) (any, error) { // a new cohort with members
			list, err := featureflags.ReadMembers(strings.NewReader(file))
			if err != nil {
				return nil, err
			}
			return c.Create(ctx, st, ruletest.Body(t, path), list)
		},
		"morefile": func(st standing, path, file string) (any, error) {
			list, err := featureflags.ReadMembers(strings.NewReader(file))
			if err != nil {
				return nil, err
			}
			return c.Update(ctx, st, path, ruletest.Body(t, ""), false, list)
		},
		"persons": func(st standing, path, _ string) (any, error) { // the cohort, how many, from where
			id, rest, _ := strings.Cut(path, " ")
			limit, from, _ := strings.Cut(rest, " ")
			return c.Persons(ctx, st, id, int(number(t, limit)), from)
		},
		"addpersons": func(st standing, path, b string) (any, error) {
			return c.AddPersons(ctx, st, path, ruletest.Body(t, b))
		},
		"removeperson": func(st standing, path, b string) (any, error) {
			return c.RemovePerson(ctx, st, path, ruletest.Body(t, b))
		},
		"duplicate": one(t, c.DuplicateStatic),
		"countdue":  func(standing, string, string) (any, error) { return c.CountDue(ctx) },
		"counts": func(st standing, path, b string) (any, error) {
			p := management.Page{Limit: management.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(c.Calculations(ctx, st, path, p))
		},
		"member": func(st standing, path, _ string) (any, error) { // of a cohort: the uuids of those who are in it
			in, err := c.Membership(ctx, st, path)
			uuids := []string{}
			if err == nil {
				for _, p := range somePeople().persons {
					if in(&p) {
						uuids = append(uuids, p.UUID)
					}
				}
			}
			return uuids, err
		},
	}
}

func linkedCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	return ruletest.Calls{
		"feature":       made(t, f.EarlyAccess.Create),
		"getfeature":    one(t, f.EarlyAccess.Get),
		"changefeature": changed(t, f.EarlyAccess.Update, false),
		"putfeature":    changed(t, f.EarlyAccess.Update, true),
		"dropfeature":   gone(t, f.EarlyAccess.Delete),
		"features": func(st standing, _, b string) (any, error) {
			p := management.Page{Limit: management.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(f.EarlyAccess.List(ctx, st, p))
		},
		"publicfeatures": func(st standing, path, _ string) (any, error) { // of stages
			return f.EarlyAccess.Public(ctx, st.Project.ID, strings.Fields(path))
		},
		"experiment":       made(t, f.Experiments.Create),
		"getexperiment":    one(t, f.Experiments.Get),
		"changeexperiment": changed(t, f.Experiments.Update, false),
		"putexperiment":    changed(t, f.Experiments.Update, true),
		"exposures":        one(t, f.Experiments.Exposures),
		"experiments": func(st standing, _, b string) (any, error) {
			q := featureflags.ExperimentQuery{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(f.Experiments.List(ctx, st, q))
		},
		"holdout":           made(t, f.Holdouts.Create),
		"getholdout":        one(t, f.Holdouts.Get),
		"changeholdout":     changed(t, f.Holdouts.Update, false),
		"dropholdout":       gone(t, f.Holdouts.Delete),
		"savedmetric":       made(t, f.SavedMetrics.Create),
		"getsavedmetric":    one(t, f.SavedMetrics.Get),
		"changesavedmetric": changed(t, f.SavedMetrics.Update, false),
		"dropsavedmetric":   gone(t, f.SavedMetrics.Delete),
		"savedmetrics": func(st standing, _, _ string) (any, error) {
			return ruletest.List(f.SavedMetrics.List(ctx, st, management.Page{Limit: management.DefaultPage}))
		},
		"survey":       made(t, f.Surveys.Create),
		"getsurvey":    one(t, f.Surveys.Get),
		"changesurvey": changed(t, f.Surveys.Update, false),
		"putsurvey":    changed(t, f.Surveys.Update, true),
		"dropsurvey":   gone(t, f.Surveys.Delete),
		"launchsurvey": one(t, f.Surveys.Launch),
		"stopsurvey":   one(t, f.Surveys.Stop),
		"surveysdue":   func(standing, string, string) (any, error) { return f.Surveys.TurnDue(ctx) },
		"surveys": func(st standing, _, b string) (any, error) {
			q := featureflags.SurveyQuery{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(f.Surveys.List(ctx, st, q))
		},
		"publicsurveys": func(_ standing, path, _ string) (any, error) { return f.Surveys.Public(ctx, path) },
		"surveysrun": func(st standing, _, _ string) (runs any, err error) {
			err = w.Store.Read(ctx, func(tx rooms.Tx) (err error) {
				runs, err = featureflags.SurveysRun(tx, st.Project.ID)
				return err
			})
			return runs, err
		},
		"schedule":       made(t, f.ScheduledChanges.Create),
		"getschedule":    one(t, f.ScheduledChanges.Get),
		"changeschedule": changed(t, f.ScheduledChanges.Update, false),
		"putschedule":    changed(t, f.ScheduledChanges.Update, true),
		"dropschedule":   gone(t, f.ScheduledChanges.Delete),
		"schedules": func(st standing, path, b string) (any, error) { // of a flag
			q := struct {
				management.Page
				Model *string
			}{Page: management.Page{Limit: management.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(f.ScheduledChanges.List(ctx, st, q.Model, path, q.Page))
		},
		"until": func(_ standing, path, _ string) (any, error) { // lets time pass
			at, err := time.Parse(time.RFC3339, path)
			w.Clock = at
			return nil, err
		},
		"due": func(standing, string, string) (any, error) { return f.ScheduledChanges.RunDue(ctx) },
	}
}
