package flagtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/changes"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// ApprovalCalls returns the calls of approvals: the settings of the project, change requests with
// their votes, and the changes of flags that can need an approval.
func ApprovalCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, c := t.Context(), w.Changes.Requests
	with := func(do func(context.Context, Scope, string, management.Body) (*changes.ChangeRequest, error)) func(Scope, string, string) (any, error) {
		return func(scope Scope, path, b string) (any, error) { return do(ctx, scope, path, ruletest.Body(t, b)) }
	}
	return ruletest.Calls{
		"approvals": func(scope Scope, _, b string) (any, error) {
			p, err := w.Organizations.Projects.Update(ctx, scope, "", ruletest.Body(t, `{"flag_approvals":`+b+`}`), false)
			if err != nil {
				return nil, err
			}
			return p.Approvals, nil
		},
		"request": CreateCall(t, c.Create), "getrequest": GetCall(t, c.Get), "editrequest": UpdateCall(t, c.Update, false),
		"approve": with(c.Approve), "reject": with(c.Reject), "applyrequest": GetCall(t, c.Apply), "withdraw": GetCall(t, c.Withdraw),
		"requests": func(scope Scope, _, b string) (any, error) {
			q := struct {
				management.Page
				States []string
				Flag   int64
			}{Page: management.Page{Limit: ruletest.DefaultPage}}
			ruletest.Read(t, b, &q)
			list, err := c.List(ctx, scope, q.States, q.Flag, q.Page)
			ids := []int64{}
			for i := range list.Results {
				ids = append(ids, list.Results[i].ID)
			}
			return map[string]any{"count": list.Count, "ids": ids}, err
		},
		"enable": func(scope Scope, path, _ string) (any, error) {
			return w.FeatureFlags.Enable(ctx, scope, Number(t, path), true)
		},
		"archive": func(scope Scope, path, _ string) (any, error) {
			return w.FeatureFlags.Archive(ctx, scope, Number(t, path), true)
		},
		"launch": func(scope Scope, path, _ string) (any, error) {
			return w.Experiments.Call(ctx, scope, path, "launch", management.Body{})
		},
	}
}

// cohortPreviewCalls returns the calls that find persons without saving a cohort, and the call that
// lists the cohorts of a person.
func cohortPreviewCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	c := w.Cohorts
	return ruletest.Calls{
		"preview": CreateCall(t, c.Preview),
		"match":   CreateCall(t, c.Match),
		"cohortsof": func(scope Scope, uuid, _ string) (any, error) {
			p := &management.Person{}
			for _, known := range SomePeople().All {
				if known.UUID == uuid {
					p = &known
				}
			}
			return c.ListForPerson(t.Context(), scope, p)
		},
	}
}

// experimentCalls returns the calls of experiments besides those of every resource.
func experimentCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, x := t.Context(), w.Experiments
	return ruletest.Calls{
		"life": func(scope Scope, path, b string) (any, error) { // a step in the life of an experiment
			id, step, _ := strings.Cut(path, " ")
			return x.Call(ctx, scope, id, step, ruletest.Body(t, b))
		},
		"copyexperiment": func(scope Scope, id, b string) (any, error) {
			return x.Duplicate(ctx, scope, id, ruletest.Body(t, b))
		},
		"copyto": func(scope Scope, id, b string) (any, error) {
			return x.CopyToProject(ctx, scope, id, ruletest.Body(t, b))
		},
		"experimentstats": func(scope Scope, _, _ string) (any, error) {
			return x.Stats(ctx, scope)
		},
		"eligible": func(scope Scope, search, b string) (any, error) {
			p := management.Page{Limit: ruletest.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(x.ListEligibleFlags(ctx, scope, search, p))
		},
		"uncalled": func(scope Scope, _, b string) (any, error) {
			p := management.Page{Limit: ruletest.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(x.ListWithoutCalls(ctx, scope, p))
		},
		"runningtime": CreateCall(t, x.RunningTime),
		"analysis": func(scope Scope, id, _ string) (any, error) { // the input of queries for results
			in, err := x.AnalysisInput(ctx, scope, Number(t, id))
			if in == nil {
				return nil, err
			}
			return in, err
		},
		"holdouts": func(scope Scope, _, _ string) (any, error) {
			return ruletest.List(w.Experiments.Holdouts.List(ctx, scope, management.Page{Limit: ruletest.DefaultPage}))
		},
	}
}

// exposureCalls returns calls that count exposures over time. The call "exposed" reads hourly
// counters; "exposedevents" can count events too, and answers with the query for these events.
func exposureCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	exposed := func(count func(context.Context, featureflags.CallQuery) (*featureflags.CallCounts, error)) func(Scope, string, string) (any, error) {
		return func(scope Scope, path, b string) (any, error) {
			q := featureflags.ExposureQuery{}
			ruletest.Read(t, b, &q)
			q.CountCalls = count
			return f.Exposures(ctx, scope, Number(t, path), q)
		}
	}
	return ruletest.Calls{
		"exposed": exposed(nil),
		"exposedevents": exposed(func(_ context.Context, q featureflags.CallQuery) (*featureflags.CallCounts, error) {
			series := fmt.Sprintf("%s by %s until %s, people %v", q.Key, q.Interval, q.To.UTC().Format(time.TimeOnly), q.People)
			return &featureflags.CallCounts{Series: []featureflags.ExposureSeries{{Value: series, Data: []int64{int64(len(q.Buckets))}}}, Total: 7}, nil
		}),
		"exposedmany": func(scope Scope, path, b string) (any, error) { // of the last days, by the ids in the body
			var ids []int64
			ruletest.Read(t, b, &ids)
			return f.ExposuresByID(ctx, scope, ids, Number(t, path))
		},
	}
}

// surveyCalls returns the calls of surveys besides those of every resource. The path of
// "surveystats" is a survey, or - for all of them, with the bounds of the period; an empty bound
// is -.
func surveyCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	return ruletest.Calls{"surveystats": func(scope Scope, path, _ string) (any, error) {
		parts := strings.Fields(path + " - - -")
		for i := range parts {
			if parts[i] == "-" {
				parts[i] = ""
			}
		}
		return w.Surveys.Statistics(t.Context(), scope, parts[0], parts[1], parts[2])
	}}
}

// Scope is the scope of a call: the caller with the project or organization.
type Scope = *management.Scope

// GetCall returns a call that reads one object by its name.
func GetCall[T any](t *testing.T, get func(context.Context, Scope, string) (T, error)) func(Scope, string, string) (any, error) {
	return func(scope Scope, path, _ string) (any, error) { return get(t.Context(), scope, path) }
}

// CreateCall returns a call that creates an object.
func CreateCall[T any](t *testing.T, create func(context.Context, Scope, management.Body) (T, error)) func(Scope, string, string) (any, error) {
	return func(scope Scope, _, b string) (any, error) { return create(t.Context(), scope, ruletest.Body(t, b)) }
}

// UpdateCall returns a call that changes an object. If put is set, all required fields must be
// present.
func UpdateCall[T any](t *testing.T, update func(context.Context, Scope, string, management.Body, bool) (T, error), put bool) func(Scope, string, string) (any, error) {
	return func(scope Scope, path, b string) (any, error) {
		return update(t.Context(), scope, path, ruletest.Body(t, b), put)
	}
}

// DeleteCall returns a call that deletes an object.
func DeleteCall(t *testing.T, remove func(context.Context, Scope, string) error) func(Scope, string, string) (any, error) {
	return func(scope Scope, path, _ string) (any, error) { return nil, remove(t.Context(), scope, path) }
}

// Number returns the id of a flag in a path.
func Number(t *testing.T, path string) int64 {
	id, err := strconv.ParseInt(path, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// RoomCalls returns all calls of flags, cohorts, experiments, surveys and early access features.
func RoomCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	out := flagCalls(t, w)
	for _, more := range []ruletest.Calls{
		listCalls(t, w), codeCalls(t, w), cohortCalls(t, w), memberCalls(t, w), linkedCalls(t, w), surveyObjectCalls(t, w), scheduleCalls(t, w), ruleCalls(t, w), exposureCalls(t, w), cohortPreviewCalls(t, w), surveyCalls(t, w), experimentCalls(t, w),
	} {
		for name, call := range more {
			out[name] = call
		}
	}
	return out
}

func flagCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	update := func(put bool) func(Scope, string, string) (any, error) {
		return func(scope Scope, path, b string) (any, error) {
			return f.Update(ctx, scope, Number(t, path), body(b), put)
		}
	}
	return ruletest.Calls{
		"create": CreateCall(t, f.Create),
		"get":    func(scope Scope, path, _ string) (any, error) { return f.Get(ctx, scope, Number(t, path)) },
		"change": update(false),
		"put":    update(true),
		"status": func(scope Scope, path, _ string) (any, error) { return f.Status(ctx, scope, Number(t, path)) },
		"restore": func(scope Scope, path, b string) (any, error) {
			return f.Restore(ctx, scope, Number(t, path), body(b))
		},
		"dependents": func(scope Scope, path, _ string) (any, error) {
			return f.Dependents(ctx, scope, Number(t, path), false)
		},
		"activedependents": func(scope Scope, path, _ string) (any, error) {
			return f.Dependents(ctx, scope, Number(t, path), true)
		},
		"bulkkeys": func(scope Scope, _, b string) (any, error) {
			keys, err := f.BulkKeys(ctx, scope, body(b))
			if errors.Is(err, featureflags.ErrNoFlagIDs) {
				return map[string]string{"error": err.Error()}, nil
			}
			return keys, err
		},
		"radius":   CreateCall(t, f.BlastRadius),
		"tags":     CreateCall(t, f.BulkTags),
		"bulk":     CreateCall(t, f.BulkChange),
		"cohortof": func(scope Scope, path, _ string) (any, error) { return f.StaticCohort(ctx, scope, Number(t, path)) },
		"listed":   func(scope Scope, _, _ string) (any, error) { return f.ListAll(ctx, scope) },
		"question": func(scope Scope, path, b string) (any, error) {
			return f.Question(ctx, scope, path, body(b), false)
		},
		"id": func(scope Scope, path, _ string) (any, error) { return f.IDByKey(ctx, scope, path) },
		"warnings": func(scope Scope, path, b string) (any, error) { // of a change
			warnings := []string{}
			sent := body(b)
			sent.Warn = func(text string) { warnings = append(warnings, text) }
			_, err := f.Update(ctx, scope, Number(t, path), sent, false)
			return warnings, err
		},
	}
}

// listCalls returns the calls that list flags and their versions.
func listCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	return ruletest.Calls{
		"list": func(scope Scope, _, b string) (any, error) {
			q := featureflags.FlagQuery{Page: management.Page{Limit: ruletest.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(f.List(ctx, scope, q))
		},
		"rows": func(scope Scope, _, b string) (any, error) {
			q := featureflags.FlagQuery{Page: management.Page{Limit: ruletest.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(f.Rows(ctx, scope, q))
		},
		"keys": func(scope Scope, _, b string) (any, error) { // of a list, in its order
			q := featureflags.FlagQuery{Page: management.Page{Limit: ruletest.DefaultPage}}
			ruletest.Read(t, b, &q)
			list, err := f.List(ctx, scope, q)
			keys := []string{}
			for _, flag := range list.Results {
				keys = append(keys, flag.Key)
			}
			return keys, err
		},
		"versions": func(scope Scope, path, b string) (any, error) {
			p := management.Page{Limit: ruletest.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(f.Versions(ctx, scope, Number(t, path), p))
		},
	}
}

func codeCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	document := func(do func(context.Context, Scope, management.Body, bool) (*featureflags.DocumentResult, error), prune bool) func(Scope, string, string) (any, error) {
		return func(scope Scope, _, b string) (any, error) { return do(ctx, scope, ruletest.Body(t, b), prune) }
	}
	return ruletest.Calls{
		"plan":       document(f.Plan, false),
		"planprune":  document(f.Plan, true),
		"apply":      document(f.Apply, false),
		"applyprune": document(f.Apply, true),
		"export": func(scope Scope, _, _ string) (any, error) {
			text, warnings, err := f.Export(ctx, scope)
			if len(warnings) > 0 {
				return warnings, err
			}
			return text, err
		},
		"copy": func(scope Scope, _, b string) (any, error) {
			out, err := f.Copy(ctx, scope, ruletest.Body(t, b))
			for _, own := range []error{featureflags.ErrMissingFields, featureflags.ErrNoFlagToCopy, featureflags.ErrMayNotCopy} {
				if errors.Is(err, own) { // §5.1.3: these have a body of their own
					return map[string]string{"error": err.Error()}, nil
				}
			}
			return out, err
		},
		"places": GetCall(t, f.ListByProject),
	}
}

func cohortCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, c := t.Context(), w.Cohorts
	update := func(put bool) func(Scope, string, string) (any, error) {
		return func(scope Scope, path, b string) (any, error) {
			return c.Update(ctx, scope, path, ruletest.Body(t, b), put, nil)
		}
	}
	return ruletest.Calls{
		"cohort":       func(scope Scope, _, b string) (any, error) { return c.Create(ctx, scope, ruletest.Body(t, b), nil) },
		"getcohort":    GetCall(t, c.Get),
		"changecohort": update(false),
		"putcohort":    update(true),
		"cohorts": func(scope Scope, _, b string) (any, error) {
			q := cohorts.Query{Page: management.Page{Limit: ruletest.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(c.List(ctx, scope, q))
		},
		"file": func(scope Scope, path, file string) (any, error) { // a new cohort with members
			list, err := cohorts.ReadMembers(strings.NewReader(file))
			if err != nil {
				return nil, err
			}
			return c.Create(ctx, scope, ruletest.Body(t, path), list)
		},
		"morefile": func(scope Scope, path, file string) (any, error) {
			list, err := cohorts.ReadMembers(strings.NewReader(file))
			if err != nil {
				return nil, err
			}
			return c.Update(ctx, scope, path, ruletest.Body(t, ""), false, list)
		},
		"duplicate": GetCall(t, c.DuplicateStatic),
		"countdue":  func(Scope, string, string) (any, error) { return c.CountDue(ctx) },
	}
}

// memberCalls returns the calls about the persons in a cohort and their number.
func memberCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, c := t.Context(), w.Cohorts
	return ruletest.Calls{
		"persons": func(scope Scope, path, _ string) (any, error) { // the cohort, the size of the page, the offset
			id, rest, _ := strings.Cut(path, " ")
			limit, cursor, _ := strings.Cut(rest, " ")
			return c.Persons(ctx, scope, id, int(Number(t, limit)), cursor)
		},
		"addpersons": func(scope Scope, path, b string) (any, error) {
			return c.AddPersons(ctx, scope, path, ruletest.Body(t, b))
		},
		"removeperson": func(scope Scope, path, b string) (any, error) {
			return c.RemovePerson(ctx, scope, path, ruletest.Body(t, b))
		},
		"counts": func(scope Scope, path, b string) (any, error) {
			p := management.Page{Limit: ruletest.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(c.Calculations(ctx, scope, path, p))
		},
		"member": func(scope Scope, path, _ string) (any, error) { // UUIDs of the members of a cohort
			isMember, err := c.Membership(ctx, scope, path)
			uuids := []string{}
			if err == nil {
				for _, p := range SomePeople().All {
					if isMember(&p) {
						uuids = append(uuids, p.UUID)
					}
				}
			}
			return uuids, err
		},
	}
}
