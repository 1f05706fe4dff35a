package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
)

var batchExportRunRows = []row[batchexports.Service]{
	handle(http.MethodGet, "/batch_exports/{id}/runs", "List the runs of a batch export", batchExportRuns).withQuery(
		param("after", "string", "runs created at or after this time, or a relative time such as -7d; 7 days ago by default"), param("before", "string", "runs created at or before this time"),
		param("start", "string", "runs whose interval begins at or after this time"), param("end", "string", "runs whose interval ends at or before this time"),
		param("ordering", "string", "created_at or data_interval_start; prefix - for the latest first"),
		param("status", "string", "only runs with this status"), param("cursor", "string", "cursor from the next or previous link"),
	),
	getOf("/batch_exports/{id}/runs/{run}", "Read a run of a batch export", batchexports.Service.Run),
	handle(http.MethodGet, "/batch_exports/{id}/runs/{run}/logs", "Read the log of a run", batchExportLog),
	actOf(http.MethodPost, "/batch_exports/{id}/runs/{run}/retry", "Retry a run", batchexports.Service.RetryRun),
	actOf(http.MethodPost, "/batch_exports/{id}/runs/{run}/cancel", "Cancel a run", batchexports.Service.CancelRun),
}

func batchExportRuns(svc batchexports.Service, c *call) (out uncounted[batchexports.BatchExportRun], err error) {
	q := c.query()
	cursor, err := parseTextCursor(q.Get("cursor"))
	if err != nil {
		return out, err
	}
	page, err := svc.Runs(c.ctx, c.scope, c.part("id"), batchexports.RunQuery{
		After: q.Get("after"), Before: q.Get("before"), Start: q.Get("start"), End: q.Get("end"),
		Ordering: q.Get("ordering"), Status: q.Get("status"), Cursor: cursor,
	})
	return cursorPage(c, page), err
}

func batchExportLog(svc batchexports.Service, c *call) (management.List[batchexports.ExportLogEntry], error) {
	return svc.RunLog(c.ctx, c.scope, c.part("id"), c.part("run"), c.page())
}

// cursorPage returns a page of a list with links to the next and previous page (§3).
func cursorPage[T any](c *call, page batchexports.CursorPage[T]) uncounted[T] {
	out := uncounted[T]{Results: page.Results}
	if page.Next != "" {
		out.Next = c.link(map[string]string{"cursor": textCursor(page.Next)})
	}
	if page.Previous != "" {
		out.Previous = c.link(map[string]string{"cursor": textCursor(page.Previous)})
	}
	return out
}

const backfillsPath = "/batch_exports/{id}/backfills"

var batchExportBackfillRows = []row[batchexports.Service]{
	handle(http.MethodGet, backfillsPath, "List the backfills of a batch export", batchExportBackfills).withQuery(param("cursor", "string", "cursor from the next or previous link")),
	change(http.MethodPost, backfillsPath, "Create a backfill, which exports a time range again", batchexports.BackfillFields, batchexports.Service.AddBackfill),
	change(http.MethodPost, "/batch_exports/{id}/backfill", "Create a backfill, which exports a time range again, by an older path", batchexports.BackfillFields, batchexports.Service.AddBackfill),
	getOf(backfillsPath+"/{backfill}", "Read a backfill", batchexports.Service.Backfill),
	actOf(http.MethodPost, backfillsPath+"/{backfill}/cancel", "Cancel a backfill", batchexports.Service.CancelBackfill),
}

func batchExportBackfills(svc batchexports.Service, c *call) (out uncounted[batchexports.BatchExportBackfill], err error) {
	cursor, err := parseTextCursor(c.query().Get("cursor"))
	if err != nil {
		return out, err
	}
	page, err := svc.Backfills(c.ctx, c.scope, c.part("id"), cursor)
	return cursorPage(c, page), err
}
