// Queries about events. A query runs in the background on the server; the client polls it, and
// stops it when its result is no longer needed.
import { ApiError, get, send, serverText } from "./client";
import { projectPath } from "../session";

export interface QueryResponse {
  results: unknown;
  columns?: string[];
  hasMore?: boolean;
  resolved_date_range?: { date_from: string; date_to: string };
}

interface Status {
  query_status: { id: string; complete: boolean; error: boolean; error_message: string | null; results: QueryResponse | null; query_progress: { rows_read: number; estimated_rows_total: number } | null };
}

export type Progress = (read: number, total: number) => void;

/** Runs a query. Aborting cancel also stops the query on the server. */
export async function runQuery(query: object, cancel: AbortSignal, progress: Progress = () => undefined): Promise<QueryResponse> {
  const id = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
  const got = await send<QueryResponse | Status>("POST", projectPath("query/"), { query, refresh: "async", client_query_id: id }, cancel);
  return "query_status" in got && got.query_status ? waitForRun(got, cancel, progress) : (got as QueryResponse);
}

interface RunInsight extends Partial<Status>, Omit<QueryResponse, "results"> {
  result: unknown;
  error: { type: string; code: string; detail: string; attr: string | null } | null;
}

/** Runs the query of an insight with the filters of its dashboard. A period overrides that of the dashboard. */
export async function runTile(insight: number, dashboard: number, period: string, cancel: AbortSignal, progress: Progress = () => undefined): Promise<QueryResponse> {
  const query = { from_dashboard: dashboard, refresh: "async", filters_override: period ? JSON.stringify({ date_from: period }) : null };
  const got = await get<RunInsight>(projectPath(`insights/${insight}/`), query, cancel);
  if (got.error) throw new ApiError(400, got.error.code, serverText(got.error.detail), got.error.attr, "");
  return got.query_status && !got.query_status.complete ? waitForRun(got as Status, cancel, progress) : { ...got, results: got.result };
}

/** Polls a query until it has ended. */
async function waitForRun(first: Status, cancel: AbortSignal, progress: Progress): Promise<QueryResponse> {
  const { id } = first.query_status;
  const stop = () => void send("DELETE", projectPath(`query/${id}/`)).catch(() => undefined);
  let s = first.query_status;
  for (let wait = 40; !s.complete; wait = Math.min(wait * 2, 1000)) {
    try {
      await sleep(wait, cancel);
      s = (await get<Status>(projectPath(`query/${id}/`), { show_progress: true }, cancel)).query_status;
    } catch (e) {
      if (cancel.aborted) stop();
      throw e;
    }
    if (s.query_progress) progress(s.query_progress.rows_read, s.query_progress.estimated_rows_total);
  }
  if (s.error || !s.results) throw new ApiError(400, "error", serverText(s.error_message ?? ""), null, "");
  return s.results;
}

/** Waits. The promise is rejected if cancel is aborted in the meantime. */
function sleep(ms: number, cancel: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const stop = () => (clearTimeout(timer), fail(new DOMException("", "AbortError")));
    const timer = setTimeout(() => (cancel.removeEventListener("abort", stop), done()), ms);
    if (cancel.aborted) stop();
    else cancel.addEventListener("abort", stop, { once: true });
  });
}
