package manage

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
)

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
	frame.Change(http.MethodPost, backfillsPath, "Create a backfill, which exports a time range again", batchexports.BackfillFields, batchexports.Service.AddBackfill),
	frame.Change(http.MethodPost, "/batch_exports/{id}/backfill", "Create a backfill, which exports a time range again, by an older path", batchexports.BackfillFields, batchexports.Service.AddBackfill),
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
