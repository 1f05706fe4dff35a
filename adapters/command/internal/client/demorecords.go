package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/demodata"
)

const (
	// demoTag is a tag of all records of the demo that can have tags. The descriptions of the other
	// records end with demoMark.
	demoTag  = "made-up"
	demoMark = "Made up by bunting demo."
	// demoException is the title of the assignment rule.
	demoException = "TypeError in showPrice"
)

// demoKind is a kind of the demo's records.
type demoKind struct {
	name string
	// path is the path of the list below the project. query selects records that may be the demo's,
	// in all states.
	path, query string
	// page is the path in the console, with %s for the id.
	page string
	// remove deletes a record. If it is nil, DELETE deletes the record, or PATCH if soft is set.
	remove func(ctx context.Context, m *manager, r *demoRecord) error
	soft   bool
}

// demoKinds are the kinds in the order in which records are deleted: a record before the records that it
// refers to.
var demoKinds = []*demoKind{demoRollouts, demoExperiments, demoSurveys, demoFlagKind, demoCohorts, demoRules, demoInsightKind, demoBoards}

var (
	demoRollouts    = &demoKind{name: "guarded rollout", path: "/guarded_rollouts/", page: "flags/%s/schedule", remove: removeRollout}
	demoExperiments = &demoKind{name: "experiment", path: "/experiments/", page: "experiments/%s", soft: true}
	demoSurveys     = &demoKind{name: "survey", path: "/surveys/", page: "surveys/%s"}
	demoFlagKind    = &demoKind{name: "flag", path: "/feature_flags/", query: "status=active,inactive,stale,archived&search=demo-", page: "flags/%s", soft: true}
	demoCohorts     = &demoKind{name: "cohort", path: "/cohorts/", query: "search=Demo", page: "cohorts/%s", soft: true}
	demoRules       = &demoKind{name: "assignment rule", path: "/error_tracking/assignment_rules/", page: "errors/rules"}
	demoInsightKind = &demoKind{name: "insight", path: "/insights/", query: "basic=true&search=" + demoTag, page: "insights/%s", soft: true}
	demoBoards      = &demoKind{name: "dashboard", path: "/dashboards/", query: "search=Demo", page: "dashboards/%s", soft: true}
)

// demoRecord is a record of the server, with the members that identify records of the demo.
type demoRecord struct {
	ID          json.RawMessage `json:"id"` // a number, or a string
	Key         string          `json:"key"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Tags        []string        `json:"tags"`
	Filters     json.RawMessage `json:"filters"`
	Active      bool            `json:"active"`
	Version     int64           `json:"version"`
	Flag        json.RawMessage `json:"feature_flag"`
	Status      string          `json:"status"`
	kind        *demoKind
}

func (r *demoRecord) id() string { return strings.Trim(string(r.ID), `"`) }

// title returns the key of a flag, or the name of another record.
func (r *demoRecord) title() string {
	switch r.kind {
	case demoFlagKind:
		return r.Key
	case demoRules:
		return "Demo: " + demoException
	}
	return r.Name
}

// isMade reports whether the demo has created the record.
func (r *demoRecord) isMade() bool {
	return slices.Contains(r.Tags, demoTag) || strings.HasSuffix(r.Description, demoMark) || r.kind == demoRules && strings.Contains(string(r.Filters), `"made_up"`)
}

// page returns the path of the record below the project in the console.
func (r *demoRecord) page() string {
	switch {
	case r.kind == demoRollouts:
		return fmt.Sprintf(r.kind.page, r.Flag)
	case strings.Contains(r.kind.page, "%s"):
		return fmt.Sprintf(r.kind.page, r.id())
	}
	return r.kind.page
}

// demoRecords returns the records of a kind: those that the demo has created, and foreign ones.
func (m *manager) demoRecords(ctx context.Context, k *demoKind) (made, foreign []*demoRecord, err error) {
	queries := []string{k.query}
	if k == demoExperiments {
		queries = []string{"search=Demo", "search=Demo&archived=true"} // a list contains either archived records or the rest
	}
	for _, query := range queries {
		path := m.inProject(k.path)
		if query != "" {
			path += "?" + query
		}
		list, err := pages[*demoRecord](ctx, m.client, path)
		if err != nil {
			return nil, nil, fmt.Errorf("the list of each %s: %w", k.name, err)
		}
		for _, r := range list {
			r.kind = k
			if r.isMade() {
				made = append(made, r)
			} else {
				foreign = append(foreign, r)
			}
		}
	}
	return made, foreign, nil
}

// removeRecord deletes a record of the demo. It is not an error if the record does not exist.
func (m *manager) removeRecord(ctx context.Context, r *demoRecord) (err error) {
	path := m.inProject(r.kind.path) + pathPart(r.id()) + "/"
	switch {
	case r.kind.remove != nil:
		err = r.kind.remove(ctx, m, r)
	case r.kind.soft:
		err = m.send(ctx, http.MethodPatch, path, map[string]any{"deleted": true}, nil)
	default:
		err = m.send(ctx, http.MethodDelete, path, nil, nil)
	}
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the %s %s: %w", r.kind.name, r.title(), err)
	}
	return nil
}

// removeRollout ends and deletes a rollout.
func removeRollout(ctx context.Context, m *manager, r *demoRecord) error {
	path := m.inProject(r.kind.path) + r.id() + "/"
	if slices.Contains([]string{"running", "holding", "paused"}, r.Status) {
		if err := m.send(ctx, http.MethodPost, path+"abort/", map[string]any{"reason": "bunting demo --remove", "restore": false}, nil); err != nil {
			return err
		}
	}
	return m.send(ctx, http.MethodDelete, path, nil, nil)
}

// countEvents returns the number of the project's events whose property made_up satisfies a condition:
// IS NULL or IS NOT NULL. It bypasses the cache of results, which might miss the newest events.
func (m *manager) countEvents(ctx context.Context, condition string) (int, error) {
	var a struct{ Results [][]int }
	question := map[string]string{"kind": "HogQLQuery", "query": "SELECT count() FROM events WHERE properties.made_up " + condition}
	if err := m.send(ctx, "POST", m.inProject("/query/"), map[string]any{"query": question, "name": "bunting demo", "refresh": "force_blocking"}, &a); err != nil {
		return 0, err
	}
	if len(a.Results) != 1 || len(a.Results[0]) != 1 {
		return 0, errors.New("the server did not return how many events the project has")
	}
	return a.Results[0][0], nil
}

// demoIssue is the issue of the demo's exceptions.
type demoIssue struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Fingerprint string          `json:"fingerprint"`
	Status      string          `json:"status"`
	Assignee    json.RawMessage `json:"assignee"`
}

func (m *manager) issue(ctx context.Context) (*demoIssue, error) {
	list, err := pages[demoIssue](ctx, m.client, m.inProject("/error_tracking/issues/"))
	for i := range list {
		if list[i].Fingerprint == demodata.Fingerprint {
			return &list[i], nil
		}
	}
	return nil, err
}

func (m *manager) setIssue(ctx context.Context, issue *demoIssue, status string) error {
	return m.send(ctx, http.MethodPatch, m.inProject("/error_tracking/issues/"+pathPart(issue.ID)+"/"), map[string]any{"status": status}, nil)
}
