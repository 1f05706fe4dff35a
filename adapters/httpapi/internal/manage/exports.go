package manage

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// batchExportEndpoints are the endpoints for batch exports, their runs and backfills, below a
// project and below an organization with all its projects (§4.3).
var batchExportEndpoints = slices.Concat(batchExportsIn(frame.InProject), batchExportsIn(frame.InOrganization))

func batchExportsIn(a *frame.Area) []frame.Endpoint {
	return frame.Resource(a, "batch_export", func(s *frame.Server) batchexports.Service { return *s.Management.BatchExports },
		slices.Concat(batchExportRows, batchExportRunRows, batchExportBackfillRows))
}

var batchExportRows = []frame.Row[batchexports.Service]{
	frame.Paged("/batch_exports", "List batch exports", batchexports.Service.List),
	frame.Create("/batch_exports", "Create a batch export", batchexports.Bodies.BatchExport, batchexports.Service.Create),
	frame.Get("/batch_exports/{id}", "Read a batch export", batchexports.Service.Get),
	frame.Update("/batch_exports/{id}", "Change a batch export", "Replace a batch export", batchexports.Bodies.BatchExport, batchexports.Service.Update),
	frame.Remove("/batch_exports/{id}", "Delete a batch export", batchexports.Service.Delete),
	frame.Act(http.MethodPost, "/batch_exports/{id}/pause", "Pause a batch export", batchexports.Service.Pause).WithoutBody(),
	frame.Change(http.MethodPost, "/batch_exports/{id}/unpause", "Resume a batch export", batchexports.Bodies.Unpause, batchexports.Service.Unpause).WithoutBody(),
	frame.Handle(http.MethodGet, "/batch_exports/test", "List the steps of the connection test for a type of destination", batchExportTests).WithScope(management.InternalScope).
		WithQuery(frame.Param("destination", "string", "type of destination")).WithResponse(batchexports.ExportTests{}).WithoutBody(),
	frame.Handle(http.MethodPost, "/batch_exports/run_test_step_new", "Run one step of the connection test for a new destination", testNewExport).WithScope(management.InternalScope).
		WithBody(batchexports.Bodies.Test).WithoutBody(),
	frame.Change(http.MethodPost, "/batch_exports/{id}/run_test_step", "Run one step of the connection test for a batch export's destination", batchexports.Bodies.Test, batchexports.Service.Test).
		WithScope(management.InternalScope).WithoutBody(),
}

func testNewExport(svc batchexports.Service, c *frame.Call) (*batchexports.ExportTest, error) {
	return svc.TestNew(c.Ctx, c.Body)
}

// batchExportTests lists the steps of the test of a destination. It returns 404 without a body for
// an unknown type, and 200 without a body if the parameter destination is absent (§4.3.7).
func batchExportTests(svc batchexports.Service, c *frame.Call) (any, error) {
	if !c.Query().Has("destination") {
		return frame.Answer{Status: http.StatusOK}, nil
	}
	if tests := svc.Tests(c.Query().Get("destination")); tests != nil {
		return tests, nil
	}
	return frame.Answer{Status: http.StatusNotFound}, nil
}

var batchExportRunRows = []frame.Row[batchexports.Service]{
	frame.Handle(http.MethodGet, "/batch_exports/{id}/runs", "List the runs of a batch export", batchExportRuns).WithQuery(
		frame.Param("after", "string", "runs created at or after this time, or a relative time such as -7d; 7 days ago by default"), frame.Param("before", "string", "runs created at or before this time"),
		frame.Param("start", "string", "runs whose interval begins at or after this time"), frame.Param("end", "string", "runs whose interval ends at or before this time"),
		frame.Param("ordering", "string", "created_at or data_interval_start; prefix - for the latest first"),
		frame.Param("status", "string", "only runs with this status"), frame.Param("cursor", "string", "cursor from the next or previous link"),
	),
	frame.GetOf("/batch_exports/{id}/runs/{run}", "Read a run of a batch export", batchexports.Service.Run),
	frame.Handle(http.MethodGet, "/batch_exports/{id}/runs/{run}/logs", "Read the log of a run", batchExportLog),
	frame.ActOf(http.MethodPost, "/batch_exports/{id}/runs/{run}/retry", "Retry a run", batchexports.Service.RetryRun),
	frame.ActOf(http.MethodPost, "/batch_exports/{id}/runs/{run}/cancel", "Cancel a run", batchexports.Service.CancelRun),
}

func batchExportRuns(svc batchexports.Service, c *frame.Call) (out frame.Uncounted[batchexports.BatchExportRun], err error) {
	q := c.Query()
	cursor, err := frame.ParseTextCursor(q.Get("cursor"))
	if err != nil {
		return out, err
	}
	page, err := svc.Runs(c.Ctx, c.Scope, c.Part("id"), batchexports.RunQuery{
		After: q.Get("after"), Before: q.Get("before"), Start: q.Get("start"), End: q.Get("end"),
		Ordering: q.Get("ordering"), Status: q.Get("status"), Cursor: cursor,
	})
	return cursorPage(c, page), err
}

func batchExportLog(svc batchexports.Service, c *frame.Call) (management.List[batchexports.ExportLogEntry], error) {
	return svc.RunLog(c.Ctx, c.Scope, c.Part("id"), c.Part("run"), c.Page())
}

// cursorPage returns a page of a list with links to the next and previous page (§3).
func cursorPage[T any](c *frame.Call, page batchexports.CursorPage[T]) frame.Uncounted[T] {
	out := frame.Uncounted[T]{Results: page.Results}
	if page.Next != "" {
		out.Next = c.Link(map[string]string{"cursor": frame.TextCursor(page.Next)})
	}
	if page.Previous != "" {
		out.Previous = c.Link(map[string]string{"cursor": frame.TextCursor(page.Previous)})
	}
	return out
}

const backfillsPath = "/batch_exports/{id}/backfills"

var batchExportBackfillRows = []frame.Row[batchexports.Service]{
	frame.Handle(http.MethodGet, backfillsPath, "List the backfills of a batch export", batchExportBackfills).WithQuery(frame.Param("cursor", "string", "cursor from the next or previous link")),
	frame.Change(http.MethodPost, backfillsPath, "Create a backfill, which exports a time range again", batchexports.Bodies.Backfill, batchexports.Service.AddBackfill),
	frame.Change(http.MethodPost, "/batch_exports/{id}/backfill", "Create a backfill, which exports a time range again, by an older path", batchexports.Bodies.Backfill, batchexports.Service.AddBackfill),
	frame.GetOf(backfillsPath+"/{backfill}", "Read a backfill", batchexports.Service.Backfill),
	frame.ActOf(http.MethodPost, backfillsPath+"/{backfill}/cancel", "Cancel a backfill", batchexports.Service.CancelBackfill),
}

func batchExportBackfills(svc batchexports.Service, c *frame.Call) (out frame.Uncounted[batchexports.BatchExportBackfill], err error) {
	cursor, err := frame.ParseTextCursor(c.Query().Get("cursor"))
	if err != nil {
		return out, err
	}
	page, err := svc.Backfills(c.Ctx, c.Scope, c.Part("id"), cursor)
	return cursorPage(c, page), err
}
