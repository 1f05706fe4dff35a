package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

const (
	// resultsTimeout is how long requests without the parameter refresh wait for the results of
	// insights and dashboards (spec/insights.md §1.8).
	resultsTimeout = 10 * time.Second
	// listComputes is the maximum number of insights in a list that are computed with refresh.
	listComputes = 20
	// tilesAtOnce is the number of tiles of a dashboard that are computed concurrently.
	tilesAtOnce = 3
)

// resultRun runs the insights of one request.
type resultRun struct {
	service  *Service
	project  *port.Project
	saved    func(short string) (json.RawMessage, error)
	mode     queries.Mode
	deadline time.Time // runs that take longer continue in the background; zero means that the request waits for them
	filters  []json.RawMessage
	variable json.RawMessage
	// shared reports that the caller is a visitor of a shared dashboard.
	shared bool
	// query is the query of the last call of run; queries are those of runDashboard, by tile.
	query   json.RawMessage
	queries []json.RawMessage
}

// newResultRun reads the parameters of a request. absent is the mode if there is no refresh. The
// result is nil if the server does not run queries.
func (svc *Service) newResultRun(c *frame.Call, absent queries.Mode) (*resultRun, error) {
	if svc.Runner == nil {
		return nil, nil
	}
	params := c.Query()
	s := &resultRun{service: svc, mode: absent, saved: svc.savedFor(c)}
	var err error
	if params.Has("refresh") {
		if s.mode, err = modeOfText(params.Get("refresh")); err != nil {
			return nil, err
		}
	} else {
		s.deadline = time.Now().Add(resultsTimeout)
	}
	provided := map[string]json.RawMessage{}
	for _, q := range queryOverrides {
		text := params.Get(q.path)
		if text == "" {
			continue
		}
		if _, ok := wire.Value([]byte(text)).(map[string]any); !ok {
			return nil, problem.Invalid(q.path, "Expected a JSON object.")
		}
		provided[q.path] = json.RawMessage(text)
		if err := checkQuestion(c, q.part, provided[q.path], q.path, ""); err != nil {
			return nil, err
		}
	}
	if s.variable = provided["variables_override"]; provided["filters_override"] != nil {
		s.filters = []json.RawMessage{provided["filters_override"]}
	}
	s.project, err = svc.Project(c.Ctx, c.Scope.Project)
	return s, err
}

// run runs the query of an insight and stores the result in it. Errors of the query are stored in
// i.Error. overlays are filters that override those of the query.
func (s *resultRun) run(ctx context.Context, i *dashboards.Insight, overlays ...json.RawMessage) error {
	if s == nil {
		return nil
	}
	query, filters := i.Question()
	if query == nil && filters != nil {
		var err error
		if query, err = insights.FromFilters(filters); err != nil {
			return noteQueryError(i, err)
		}
	}
	if query == nil {
		return nil
	}
	query, err := queries.Prepare(query, queries.Overrides{Filters: overlays, Variables: s.variable}, s.saved)
	if err != nil {
		return noteQueryError(i, err)
	}
	s.query = query
	r := queries.Request{Project: s.project, Query: query, Mode: s.mode, Shared: s.shared}
	if !s.deadline.IsZero() {
		if r.MaxWait = time.Until(s.deadline); r.MaxWait <= 0 && s.mode == queries.Blocking {
			r.Mode = queries.Async
			if s.shared { // visitors may not start runs in the background
				r.Mode = queries.CacheOnly
			}
		}
	}
	found, err := s.service.Runner.Execute(ctx, r)
	if err != nil {
		return noteQueryError(i, err)
	}
	showAnswer(i, found)
	return nil
}

// noteQueryError stores an error of the query in the insight and returns nil. It returns other
// errors.
func noteQueryError(i *dashboards.Insight, err error) error {
	var p *problem.Problem
	if !errors.As(Problem(err), &p) {
		return err
	}
	i.Error = &dashboards.InsightError{Type: p.Type, Code: p.Code, Detail: p.Detail, Attr: p.Attr}
	return nil
}

// showAnswer copies the members of a result into an insight.
func showAnswer(i *dashboards.Insight, a *queries.Answer) {
	if a.Status != nil {
		i.QueryStatus = wire.MustEncode(a.Status)
	}
	members := a.Result
	if members == nil {
		return
	}
	raw := func(name string) json.RawMessage { v, _ := members[name].(json.RawMessage); return v }
	text := func(name string) *string {
		if v, ok := members[name].(string); ok {
			return &v
		}
		return nil
	}
	i.Result, i.Columns, i.Types = raw("results"), raw("columns"), raw("types")
	i.LastRefresh, i.TargetAge, i.NextRefresh = text("last_refresh"), text("cache_target_age"), text("next_allowed_client_refresh")
	i.Timezone, i.HogQL = text("timezone"), text("hogql")
	i.Cached, _ = members["is_cached"].(bool)
	if more, ok := members["hasMore"].(bool); ok {
		i.HasMore = &more
	}
	if v, ok := members["resolved_date_range"]; ok {
		i.Range = wire.MustEncode(v)
	}
}

// runDashboard runs the insights of a dashboard's tiles, at most tilesAtOnce concurrently,
// started in their order.
func (s *resultRun) runDashboard(ctx context.Context, d *dashboards.Dashboard) error {
	if s == nil {
		return nil
	}
	weak := s.filters
	if len(weak) == 0 {
		weak = []json.RawMessage{d.Filters}
	}
	slots := make(chan struct{}, tilesAtOnce)
	failures := make([]error, len(d.Tiles))
	s.queries = make([]json.RawMessage, len(d.Tiles))
	var wg sync.WaitGroup
	for n := range d.Tiles {
		tile := &d.Tiles[n]
		if tile.Insight == nil {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			own := *s
			project := *s.project // a run may set the cohorts of its project
			own.project = &project
			failures[n] = s.service.keepError(ctx, tile.Insight, own.run(ctx, tile.Insight, append([]json.RawMessage{tile.StoredOverrides()}, weak...)...))
			s.queries[n] = own.query
			tile.Cached = tile.Insight.Cached
			if refreshed := tile.Insight.LastRefresh; refreshed != nil {
				if t, err := time.Parse(time.RFC3339Nano, *refreshed); err == nil {
					tile.LastRefresh = management.NewStamp(t)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}

// keepError stores an internal error in the insight, so that the other tiles are still served
// (§1.9). It returns errors that end the whole request, for example if the request was canceled
// or the store is unavailable.
func (svc *Service) keepError(ctx context.Context, i *dashboards.Insight, err error) error {
	if err == nil || ctx.Err() != nil || problem.Of(err).Status != http.StatusInternalServerError {
		return err
	}
	svc.log.Error("an insight failed", "insight", i.ID, "error", err)
	i.Error = &dashboards.InsightError{Type: problem.Internal.Type, Code: problem.Internal.Code, Detail: problem.Internal.Detail}
	return nil
}

// getInsight returns an insight and its result.
func getInsight(svc *Service, c *frame.Call) (*dashboards.Insight, error) {
	found, err := svc.dashboards.Insights.Get(c.Ctx, c.Scope, c.Part("id"))
	if err != nil {
		return nil, err
	}
	s, err := svc.newResultRun(c, queries.Blocking)
	if err != nil || s == nil {
		return found, err
	}
	filters := s.filters
	if named := c.Query().Get("from_dashboard"); named != "" {
		laid, err := svc.dashboardFilters(c, named, found.ID, len(filters) > 0)
		if err != nil {
			return nil, err
		}
		filters = append(laid, filters...)
	}
	return found, s.run(c.Ctx, found, filters...)
}

// dashboardFilters returns the filters that a tile and its dashboard put over an insight. If
// replaced is true, the request has filters that replace those of the dashboard.
func (svc *Service) dashboardFilters(c *frame.Call, dashboard string, insight int64, replaced bool) ([]json.RawMessage, error) {
	d, err := svc.dashboards.Dashboards.Get(c.Ctx, c.Scope, dashboard)
	if err != nil {
		return nil, err
	}
	for i := range d.Tiles {
		if t := &d.Tiles[i]; t.Insight != nil && t.Insight.ID == insight {
			if replaced {
				return []json.RawMessage{t.StoredOverrides()}, nil
			}
			return []json.RawMessage{t.StoredOverrides(), d.Filters}, nil
		}
	}
	return nil, management.ErrNotFound()
}

// getInsights returns a page of insights with cached results. With refresh, some of them are
// computed.
func getInsights(svc *Service, c *frame.Call) (management.List[dashboards.Insight], error) {
	page, err := listInsights(svc.dashboards.Insights, c)
	if err != nil || c.ListValues.Bool("basic") {
		return page, err
	}
	s, err := svc.newResultRun(c, queries.CacheOnly)
	if err != nil || s == nil {
		return page, err
	}
	for i := range page.Results {
		if i == listComputes {
			s.mode = queries.CacheOnly
		}
		if err := s.run(c.Ctx, &page.Results[i], s.filters...); err != nil {
			return page, err
		}
	}
	return page, nil
}

// getDashboard returns a dashboard and the results of its tiles.
func getDashboard(svc *Service, c *frame.Call) (*dashboards.Dashboard, error) {
	found, err := svc.dashboards.Dashboards.Get(c.Ctx, c.Scope, c.Part("id"))
	if err != nil {
		return nil, err
	}
	s, err := svc.newResultRun(c, queries.Blocking)
	if err != nil {
		return nil, err
	}
	return found, s.runDashboard(c.Ctx, found)
}

// insightWithResult is an insight of a dashboard with its result.
type insightWithResult struct {
	ID      int64               `json:"id"` // id of the tile
	Order   int                 `json:"order"`
	Insight *dashboards.Insight `json:"insight"`
}

// insightsWithResults are the insights of a dashboard in the order of its tiles (spec/clients.md §4).
type insightsWithResults struct {
	Results []insightWithResult `json:"results"`
}

func runInsights(svc *Service, c *frame.Call) (*insightsWithResults, error) {
	if format := c.Query().Get("output_format"); format != "" && format != "json" && format != "optimized" {
		return nil, management.Fault("output_format", "Must be json or optimized.")
	}
	found, err := getDashboard(svc, c)
	if err != nil {
		return nil, err
	}
	out := &insightsWithResults{Results: []insightWithResult{}}
	for i := range found.Tiles {
		if t := &found.Tiles[i]; t.Insight != nil {
			out.Results = append(out.Results, insightWithResult{t.ID, t.Order, t.Insight})
		}
	}
	return out, nil
}

// shared runs the insights of a shared dashboard with the stored settings, because visitors
// cannot change them. The result is nil if the server does not run queries.
func (svc *Service) shared(ctx context.Context, d *dashboards.SharedDashboard) (s *resultRun, err error) {
	if svc.Runner == nil {
		return nil, nil
	}
	s = &resultRun{service: svc, mode: queries.Blocking, deadline: time.Now().Add(resultsTimeout), shared: true}
	if s.project, err = svc.Project(ctx, d.Project()); err != nil {
		return nil, err
	}
	if err = s.runDashboard(ctx, d.Dashboard); err == nil {
		BoundResults(d.Dashboard, maxSharedResults)
	}
	return s, err
}

// maxSharedResults is the maximum size in bytes of the results in a response to a visitor.
const maxSharedResults = 32 << 20

// BoundResults removes the results of tiles that would exceed maxBytes in all.
func BoundResults(d *dashboards.Dashboard, maxBytes int) {
	size := 0
	for n := range d.Tiles {
		i := d.Tiles[n].Insight
		if i == nil {
			continue
		}
		if size += len(i.Result); size > maxBytes {
			size -= len(i.Result)
			i.Result, i.Error = nil, &dashboards.InsightError{Type: "validation_error", Code: "query_too_large",
				Detail: fmt.Sprintf("The results of the shared dashboard have more than %d MiB: this one is left out.", maxSharedResults>>20)}
		}
	}
}

// resultEndpoints are the endpoints that include results (§1.8, §1.9).
var resultEndpoints = func() []frame.Endpoint {
	insight := frame.Resource(frame.InProject, "insight", Of, withOwnTimeout([]frame.Row[*Service]{
		frame.Handle(http.MethodGet, "/insights", "List insights with their cached results", getInsights).WithQuery(refreshParameters...),
		frame.Handle(http.MethodGet, "/insights/{id}", "Read an insight and its result", getInsight).WithQuery(append(refreshParameters,
			frame.Param("from_dashboard", "integer", "id of a dashboard with this insight, whose filters are applied"))...),
	}))
	return append(insight, frame.Resource(frame.InProject, "dashboard", Of, withOwnTimeout([]frame.Row[*Service]{
		frame.Handle(http.MethodGet, "/dashboards/{id}", "Read a dashboard with its tiles and their results", getDashboard).WithQuery(refreshParameters...),
		frame.Handle(http.MethodGet, "/dashboards/{id}/run_insights", "Compute the insights of a dashboard, without its text tiles", runInsights).
			WithQuery(append(refreshParameters, frame.Param("output_format", "string", "json or optimized, which return the same"))...),
	}))...)
}()

var refreshParameters = []frame.Parameter{
	frame.Param("refresh", "string", "whether to compute results: force_cache, blocking, async, force_blocking and others; by default the request computes for at most 10 seconds"),
	frame.Param("filters_override", "string", "JSON object of filters that replace those of the query and the dashboard"),
	frame.Param("variables_override", "string", "JSON object of values of HogQL variables such as {variables.name}, by variable id"),
}

// withOwnTimeout marks rows whose handlers limit their time themselves.
func withOwnTimeout[S any](rows []frame.Row[S]) []frame.Row[S] {
	for i := range rows {
		rows[i].NoTimeout = true
	}
	return rows
}
