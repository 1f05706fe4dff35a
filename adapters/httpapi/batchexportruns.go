package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

var batchExportRunRows = []endpoint{
	{
		method: "GET", path: "/batch_exports/{id}/runs", scope: readExports, summary: "List the runs of a batch export",
		query: []parameterDoc{
			{"after", "string", "made at or after this time, 7 days ago unless said; also as -7d"}, {"before", "string", "made at or before this time"},
			{"start", "string", "of intervals that begin at or after this time"}, {"end", "string", "of intervals that end at or before this time"},
			{"ordering", "string", "created_at or data_interval_start, with - in front the latest first"},
			{"status", "string", "of this status"}, {"cursor", "string", "of the page"},
		},
		gives: uncounted[management.BatchExportRun]{}, do: batchExportRuns,
	},
	{
		method: "GET", path: "/batch_exports/{id}/runs/{run}", scope: readExports, summary: "Read a run of a batch export",
		gives: management.BatchExportRun{},
		do: func(c *call) (any, error) {
			return c.service.BatchExports.Run(c.ctx, c.standing, c.part("id"), c.part("run"))
		},
	},
	{
		method: "GET", path: "/batch_exports/{id}/runs/{run}/logs", scope: readExports, summary: "Read the log of a run",
		gives: management.List[management.ExportLogEntry]{},
		do: func(c *call) (any, error) {
			return c.service.BatchExports.RunLog(c.ctx, c.standing, c.part("id"), c.part("run"), c.page())
		},
	},
	{
		method: "POST", path: "/batch_exports/{id}/runs/{run}/retry", scope: writeExports, summary: "Repeat a run",
		gives: management.ExportBackfillID{},
		do: func(c *call) (any, error) {
			return c.service.BatchExports.RetryRun(c.ctx, c.standing, c.part("id"), c.part("run"))
		},
	},
	{
		method: "POST", path: "/batch_exports/{id}/runs/{run}/cancel", scope: writeExports, summary: "Cancel a run",
		gives: management.ExportCancelled{},
		do: func(c *call) (any, error) {
			return c.service.BatchExports.CancelRun(c.ctx, c.standing, c.part("id"), c.part("run"))
		},
	},
}

func batchExportRuns(c *call) (any, error) {
	q := c.query()
	cursor, err := parseTextCursor(q.Get("cursor"))
	if err != nil {
		return nil, err
	}
	page, err := c.service.BatchExports.Runs(c.ctx, c.standing, c.part("id"), management.ExportRunQuery{
		After: q.Get("after"), Before: q.Get("before"), Start: q.Get("start"), End: q.Get("end"),
		Ordering: q.Get("ordering"), Status: q.Get("status"), Cursor: cursor,
	})
	return cursorPage(c, page), err
}

// cursorPage is a page with its links (§3).
func cursorPage[T any](c *call, page management.CursorPage[T]) answer {
	rd := &reader{server: c.server}
	out := uncounted[T]{Results: page.Results}
	if page.Next != "" {
		out.Next = rd.link(c.r, map[string]string{"cursor": textCursor(page.Next)})
	}
	if page.Previous != "" {
		out.Previous = rd.link(c.r, map[string]string{"cursor": textCursor(page.Previous)})
	}
	return answer{status: http.StatusOK, body: out}
}

var batchExportBackfillRows = []endpoint{
	{
		method: "GET", path: "/batch_exports/{id}/backfills", scope: readExports, summary: "List the backfills of a batch export",
		query: []parameterDoc{{"cursor", "string", "of the page"}},
		gives: uncounted[management.BatchExportBackfill]{}, do: batchExportBackfills,
	},
	{
		method: "POST", path: "/batch_exports/{id}/backfills", scope: writeExports, summary: "Export a span of time anew",
		takes: management.ExportBackfillFields, gives: management.ExportBackfillID{}, do: addBatchExportBackfill,
	},
	{
		method: "POST", path: "/batch_exports/{id}/backfill", scope: writeExports, summary: "Export a span of time anew, by the path of old",
		takes: management.ExportBackfillFields, gives: management.ExportBackfillID{}, do: addBatchExportBackfill,
	},
	{
		method: "GET", path: "/batch_exports/{id}/backfills/{backfill}", scope: readExports, summary: "Read a backfill",
		gives: management.BatchExportBackfill{},
		do: func(c *call) (any, error) {
			return c.service.BatchExports.Backfill(c.ctx, c.standing, c.part("id"), c.part("backfill"))
		},
	},
	{
		method: "POST", path: "/batch_exports/{id}/backfills/{backfill}/cancel", scope: writeExports, summary: "Cancel a backfill",
		gives: management.ExportCancelled{},
		do: func(c *call) (any, error) {
			return c.service.BatchExports.CancelBackfill(c.ctx, c.standing, c.part("id"), c.part("backfill"))
		},
	},
}

func batchExportBackfills(c *call) (any, error) {
	cursor, err := parseTextCursor(c.query().Get("cursor"))
	if err != nil {
		return nil, err
	}
	page, err := c.service.BatchExports.Backfills(c.ctx, c.standing, c.part("id"), cursor)
	return cursorPage(c, page), err
}

func addBatchExportBackfill(c *call) (any, error) {
	return c.service.BatchExports.AddBackfill(c.ctx, c.standing, c.part("id"), c.body)
}
