package insights

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/internal/stats"
	"github.com/bunting-flags/bunting/capture/insights/internal/trials"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Parse parses the JSON of a query. The query may be an object or a JSON string that contains one.
// An error is an [*port.Error] that describes the first fault of the query, or the error of
// [port.Project.Experiment] or [port.Project.Issues]. Parse retains p, which must not be modified while the
// query is in use.
func Parse(query json.RawMessage, p *port.Project) (*Query, error) {
	if len(query) > document.MaxBytes {
		return nil, document.NewFault(document.TooLarge, "query", "A query may have at most %d bytes.", document.MaxBytes)
	}
	n, fault := document.Decode(query, "query")
	if text, ok := n.Value.(string); ok { // a JSON text of such an object
		n.Value = wire.Value([]byte(text))
	}
	if n.IsAbsent() {
		return nil, document.NewFault(document.Required, "query", "This field is required.")
	}
	if _, ok := n.Value.(map[string]any); !ok {
		return nil, document.NewFault(document.InvalidInput, "query", "Expected an object, not %s.", document.Describe(n.Value))
	}
	n = document.Unwrap(n)
	name := n.Get("kind").Text("")
	if *fault == nil && name == "" {
		n.Fail(document.InvalidInput, `A query needs a "kind".`)
	}
	kind, ok := findKind(name)
	if !ok {
		n.Get("kind").Fail(document.InvalidInput, "Query kind %q is not supported. Supported are: %s.", wire.Shorten(name, 100), strings.Join(kindNames(), ", "))
	}
	if *fault != nil {
		return nil, *fault
	}
	q := &Query{Kind: name, Source: n.Raw(), project: p, plan: kind.Parse(n, p)}
	var err error
	switch plan := q.plan.(type) {
	case experimentPlan:
		q.Experiment, err = plan.About()
	case issuesPlan:
		q.Issues, err = plan.About()
	}
	if err != nil {
		return nil, err
	}
	q.mode = n.Get("modifiers").Object().Get("personsOnEventsMode").Choice("", scan.ModeOverrideOnEvents, scan.ModeOverrideJoined, scan.ModeDisabled, scan.ModeNoOverride)
	// A misspelled member is reported before other faults, since it is often their cause.
	if fault := n.Tracker.FindMisspelled(); fault != nil {
		return nil, fault
	}
	if *fault != nil {
		return nil, *fault
	}
	q.Ignored = n.Tracker.ListIgnored()
	return q, nil
}

// experimentPlan is implemented by plans about an experiment. About returns the experiment, or the
// error of finding it.
type experimentPlan interface {
	About() (*experiments.Experiment, error)
}

// issuesPlan is implemented by plans about issues. About returns the issues, or the error of finding
// them.
type issuesPlan interface {
	About() ([]port.Issue, error)
}

var (
	_ experimentPlan = trials.Trial{}
	_ issuesPlan     = (*stats.IssuesQuery)(nil)
)

// Run runs the query on the events of a source and returns the result. An error is an [*port.Error], the
// cause of the canceled context, or an error of the source. Run may be called again, but not
// concurrently.
func (q *Query) Run(ctx context.Context, s port.Source, o port.Options) (result *port.Result, err error) {
	reader, err := s.Open(ctx, q.project.ID)
	if err != nil {
		return nil, err
	}
	r := scan.NewRun(ctx, reader, q.project, o)
	r.Mode = cmp.Or(q.mode, q.project.PersonMode, scan.ModeOverrideOnEvents)
	// Close the reader even if the plan panics.
	defer func() {
		if err = errors.Join(err, reader.Close()); err != nil {
			result, err = nil, r.Explain(err)
		}
	}()
	if result, err = q.plan.Run(r); err == nil {
		result.Read, err = r.Read, r.Fault
	}
	return result, err
}

// Query is a parsed query. It may be run repeatedly.
type Query struct {
	// Kind is the kind of the query, without wrappers such as InsightVizNode.
	Kind string
	// Source is the JSON of the query without wrappers, with members as they were sent.
	Source json.RawMessage
	// Ignored describes members of the query that have no effect, at most 10.
	Ignored []string
	// Experiment is the experiment that the query is about, nil for other queries.
	Experiment *experiments.Experiment
	// Issues are the issues that the query is about, nil for other queries.
	Issues []port.Issue
	// mode is modifiers.personsOnEventsMode of the query, empty if absent.
	project *port.Project
	plan    scan.Plan
	mode    string
}
