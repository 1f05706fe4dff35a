package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	stats "github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/experiments"
	"github.com/bunting-flags/bunting/management/surveys"
)

// Service has the dependencies of endpoints that run queries.
type Service struct {
	Runner *queries.Service
	// groupTypes returns the names of a project's group types.
	groupTypes func(ctx context.Context, projectID int64) ([]string, error)
	dashboards *dashboards.Service // may be nil
	// experiments are for queries about experiments; may be nil.
	experiments *experiments.Service
	surveys     *surveys.Service       // for queries about surveys; may be nil
	errors      *errortracking.Service // for queries about errors; may be nil
	log         *slog.Logger
}

// Of returns the service for queries of a server.
func Of(s *frame.Server) *Service {
	a := &Service{Runner: s.Queries, log: s.Logger}
	if s.History != nil {
		a.groupTypes = s.History.GroupTypes
	}
	if s.Management != nil {
		a.dashboards, a.errors = s.Management.Dashboards, s.Management.ErrorTracking
		a.experiments, a.surveys = s.Management.Experiments, s.Management.Surveys
	}
	return a
}

// queryEndpoints run queries (spec/insights.md §1.1).
var queryEndpoints = func() []frame.Endpoint {
	rows := []frame.Row[*Service]{
		eventValueRow,
		frame.Handle(http.MethodPost, "/query", "Run a query", runQuery).WithBody(queryFields).WithCheck(checksOf(queryOverrides)).WithResponse(queryAnswer{}).WithLaterResponse(queryState{}),
		frame.Handle(http.MethodPost, "/query/upgrade", "Upgrade a query; there is only one version, so it is returned unchanged", upgradeQuery).WithBody(queryFields),
		frame.Handle(http.MethodPost, "/query/check_auth_for_async", "Check whether the caller may run queries", mayQuery),
		frame.Handle(http.MethodPost, "/query/{query}", "Run a query of one kind", runQuery).WithBody(queryFields).WithCheck(checksOf(queryOverrides)).WithResponse(queryAnswer{}).WithLaterResponse(queryState{}),
		frame.Handle(http.MethodGet, "/query/{query}", "Read the status of a query run, and its result when it is complete", queryStatus).WithQuery(frame.Param("show_progress", "boolean", "true: report how many events have been read")).
			WithResponse(queryState{}).WithLaterResponse(queryState{}),
		frame.Handle(http.MethodDelete, "/query/{query}", "Cancel a query run", cancelQuery),
	}
	for i := range rows {
		rows[i].KeyScope, rows[i].NoTimeout = "query:read", true
		rows[i].Reads = rows[i].Method == http.MethodPost
	}
	return frame.Resource(frame.InProject, "query", Of, rows)
}()

var queryFields = management.Fields{
	{Name: "query", Type: management.Any, Required: true, Help: "an object with a kind, such as TrendsQuery or HogQLQuery"},
	{Name: "refresh", Type: management.Any, Help: "blocking (default), force_blocking, async, lazy_async, force_async, async_except_on_cache_miss"},
	{Name: "client_query_id", Type: management.Text, Null: true, MaxLength: maxQueryID, Help: "id of the run, with which its status is read and it is cancelled"},
	{Name: "filters_override", Type: management.Object, Null: true, Help: "replaces date_from, date_to, properties, breakdown_filter or interval of the query"},
	{Name: "variables_override", Type: management.Object, Null: true, Help: "values of HogQL variables such as {variables.name}, by variable id"},
	{Name: "name", Type: management.Text, Null: true, Blank: true, MaxLength: maxQueryID, Help: "name of the query in logs"},
	{Name: "async", Type: management.Any, Help: "true: the same as refresh async"},
	{Name: "limit_context", Type: management.Text, Null: true, Blank: true, Help: "has no effect"},
}

// maxQueryID is the maximum length of a run's name, in bytes.
const maxQueryID = 128

// runQuery runs a query.
func runQuery(svc *Service, c *frame.Call) (any, error) {
	members := c.Body.Members
	if err := queryFields.NameUnknown(&c.Body, "a request for a query"); err != nil {
		return nil, err
	}
	for _, q := range queryOverrides {
		if raw := members[q.path]; !management.EmptyJSON(raw) && management.JSONKind(raw) != "dict" {
			return nil, problem.Invalid(q.path, "Expected a JSON object.")
		}
	}
	mode, err := modeOf(members["refresh"], queries.Blocking)
	if err != nil {
		return nil, err
	}
	if mode == queries.CacheOnly {
		mode = queries.Blocking // CacheOnly is not available here (§1.4)
	}
	if async, _ := wire.Value(members["async"]).(bool); async {
		mode = queries.Async
	}
	request, err := svc.request(c, members["query"], queries.Overrides{Filters: []json.RawMessage{members["filters_override"]}, Variables: members["variables_override"]})
	if err != nil {
		return nil, err
	}
	request.Mode, request.ID, request.Name = mode, frame.TextMember(c.Body, "client_query_id"), frame.TextMember(c.Body, "name")
	if len(request.ID) > maxQueryID || len(request.Name) > maxQueryID {
		return nil, problem.Invalid("client_query_id", "The name of a run may have at most %d characters.", maxQueryID)
	}
	if kind := c.Part("query"); kind != "" {
		var header struct{ Kind string }
		if _ = json.Unmarshal(request.Query, &header); header.Kind != kind {
			return nil, problem.Invalid("query__kind", "The query has kind %q, but the path has %q.", problem.Shorten(header.Kind), problem.Shorten(kind))
		}
	}
	found, err := svc.Runner.Execute(c.Ctx, request)
	if err != nil {
		return nil, Problem(err)
	}
	for _, line := range found.Ignored {
		c.Body.Warn(line)
	}
	if found.Status == nil {
		return found.Result, nil
	}
	out := maps.Clone(found.Result)
	if out == nil {
		out = map[string]any{}
	}
	out["query_status"] = found.Status
	return frame.Answer{Status: http.StatusAccepted, Body: out}, nil
}

// request returns the request for a query of the caller's project.
func (svc *Service) request(c *frame.Call, query json.RawMessage, o queries.Overrides) (r queries.Request, err error) {
	if r.Query, err = queries.Prepare(query, o, svc.savedFor(c)); err != nil {
		return r, err
	}
	if r.Project, err = svc.Project(c.Ctx, c.Scope.Project); err == nil {
		svc.attachSources(c.Ctx, c.Scope, r.Project)
	}
	return r, err
}

// savedFor returns a function that finds the queries of insights that the caller may read.
func (svc *Service) savedFor(c *frame.Call) func(short string) (json.RawMessage, error) {
	return func(short string) (json.RawMessage, error) {
		if svc.dashboards == nil {
			return nil, unknownInsight(short)
		}
		found, err := svc.dashboards.Insights.Get(c.Ctx, c.Scope, short)
		var target *management.Error
		if errors.As(err, &target) && target.Kind == management.NotFound {
			return nil, unknownInsight(short)
		}
		if err != nil {
			return nil, err
		}
		query, _ := found.Question()
		return query, nil
	}
}

func unknownInsight(short string) error {
	return problem.Invalid("query__shortId", "There is no insight %q.", problem.Shorten(short))
}

// Project returns the settings of a project that queries use.
func (svc *Service) Project(ctx context.Context, p *management.ProjectRecord) (*port.Project, error) {
	meta, err := management.MetaOfProject(p)
	if err != nil {
		return nil, err
	}
	out := &port.Project{ID: p.ID, TestAccountFilters: meta.Settings["test_account_filters"], PathCleaning: meta.Settings["path_cleaning_filters"]}
	compared := p.FilterSettings()
	out.Location, out.PropertyMatchingVersion = compared.Zone, compared.PropertyMatchingVersion
	var modifiers struct{ PersonsOnEventsMode string }
	var weekStart int
	for name, to := range map[string]any{"person_display_name_properties": &out.PersonDisplay, "modifiers": &modifiers, "week_start_day": &weekStart} {
		if raw := meta.Settings[name]; len(raw) > 0 {
			_ = json.Unmarshal(raw, to) // settings are validated when they are saved
		}
	}
	out.PersonMode, out.WeekStart = modifiers.PersonsOnEventsMode, time.Weekday(weekStart)
	if svc.groupTypes != nil {
		out.GroupTypes, err = svc.groupTypes(ctx, p.ID)
	}
	return out, err
}

// attachSources gives queries access to experiments and issues, as far as the caller may read
// them.
func (svc *Service) attachSources(ctx context.Context, scope *management.Scope, p *port.Project) {
	p.Experiment = svc.experiment(ctx, scope)
	if svc.errors != nil {
		p.Issues = port.Issues{Fingerprint: errortracking.Fingerprint, Find: func(status, id string, limit int) ([]port.Issue, error) {
			return issuesOf(svc.errors.Find(ctx, scope, status, id, limit))
		}}
	}
}

// issuesOf converts issues to their form in queries.
func issuesOf(found []errortracking.Issue, err error) ([]port.Issue, error) {
	out := make([]port.Issue, len(found))
	for n, f := range found {
		out[n] = port.Issue{ID: f.ID, Fingerprint: f.Fingerprint, Name: f.Name, Description: f.Description, Status: f.Status, FirstSeen: f.FirstSeen.Time, LastSeen: f.LastSeen.Time}
		if f.Assignee != nil {
			text := f.Assignee.Type + ":" + f.Assignee.ID
			out[n].Assignee = &text
		}
	}
	return out, nil
}

// modeOf parses the member refresh (§1.6). absent is the mode if there is no such member.
func modeOf(raw json.RawMessage, absent queries.Mode) (queries.Mode, error) {
	if raw == nil {
		return absent, nil
	}
	switch v := wire.Value(raw).(type) {
	case nil:
		return queries.CacheOnly, nil
	case bool:
		return modeOfText(fmt.Sprint(v))
	case string:
		return modeOfText(v)
	}
	return modeOfText(string(raw))
}

func modeOfText(text string) (queries.Mode, error) {
	switch mode := queries.Mode(text); {
	case text == "true":
		return queries.Blocking, nil
	case text == "false":
		return queries.CacheOnly, nil
	case slices.Contains(queries.Modes, mode):
		return mode, nil
	}
	return "", problem.InvalidChoice.With("", "refresh").Detailed("%q is not a valid choice. Valid choices: %v.", problem.Shorten(text), queries.Modes)
}

// upgradeQuery returns the query unchanged.
func upgradeQuery(_ *Service, c *frame.Call) (*queryUpgraded, error) {
	if err := queryFields.NameUnknown(&c.Body, "a request for a query"); err != nil {
		return nil, err
	}
	query := c.Body.Members["query"]
	if len(query) == 0 {
		return nil, problem.Required.With("", "query")
	}
	return &queryUpgraded{query}, nil
}

func mayQuery(*Service, *frame.Call) (*queryAllowed, error) {
	return &queryAllowed{"ok"}, nil
}

// queryStatus returns the state of a run (§1.5).
func queryStatus(svc *Service, c *frame.Call) (any, error) {
	params := c.Query()
	progress := frame.BoolParameter(params, "show_progress") || frame.BoolParameter(params, "showProgress")
	status, err := svc.Runner.Status(c.Ctx, c.Project(), c.Part("query"), progress)
	if err != nil {
		return nil, Problem(err)
	}
	code := http.StatusAccepted
	switch {
	case status.Failed && status.ClientError:
		code = http.StatusBadRequest
	case status.Failed:
		code = http.StatusInternalServerError
	case status.Complete:
		code = http.StatusOK
	}
	return frame.Answer{Status: code, Body: queryState{*status}}, nil
}

func cancelQuery(svc *Service, c *frame.Call) (*queryCancelled, error) {
	message, err := svc.Runner.Cancel(c.Ctx, c.Project(), c.Part("query"))
	return &queryCancelled{message}, err
}

// queryProblems are the errors of running queries that are not errors in the query (§1.7).
var queryProblems = map[queries.Kind]problem.Problem{
	queries.TimedOut:  {Status: http.StatusGatewayTimeout, Type: "server_error", Code: "query_timeout", Quiet: true},
	queries.Cancelled: {Status: http.StatusBadRequest, Type: "validation_error", Code: "query_cancelled"},
	queries.Busy:      {Status: http.StatusTooManyRequests, Type: "throttled_error", Code: "throttled"},
	queries.Conflict:  {Status: http.StatusConflict, Type: "server_error", Code: "conflict"},
	queries.NotFound:  {Status: http.StatusNotFound, Type: "invalid_request", Code: "not_found"},
}

// experiment returns a function that reads experiments for queries, with the permissions of scope.
// It returns nil if the server has no experiments.
func (svc *Service) experiment(ctx context.Context, scope *management.Scope) func(id int64) (*stats.Experiment, error) {
	if svc.experiments == nil {
		return nil
	}
	return func(id int64) (*stats.Experiment, error) { return svc.experiments.AnalysisInput(ctx, scope, id) }
}

// problemSharedFull is the error if there is no slot for a shared dashboard.
var problemSharedFull = problem.Problem{Status: 503, Type: "server_error", Code: "too_many", Detail: "Too many shared dashboards are being shown. Please try again in a moment.", RetryAfter: 1}

// Problem converts an error of a query to a problem.
func Problem(err error) error {
	var wrong *port.Error
	var ours *queries.Error
	switch {
	case errors.As(err, &wrong):
		p := problem.Problem{Status: http.StatusBadRequest, Type: "validation_error", Code: wrong.Code}
		return p.With("", wrong.Attr).Detailed("%s", wrong.Detail)
	case errors.As(err, &ours):
		p := queryProblems[ours.Kind]
		p.RetryAfter = int(math.Ceil(ours.RetryAfter.Seconds()))
		return p.With("", "").Detailed("%s", ours.Detail)
	}
	return err
}
