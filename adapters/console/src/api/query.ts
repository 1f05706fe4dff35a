// Asking about events: a run goes on in the background, is looked after, and is stopped
// when nobody waits for it any more.
import { ApiError, get, send } from "./client";
import { inProject } from "../session";

export interface Answered {
  results: unknown;
  columns?: string[];
  hasMore?: boolean;
  resolved_date_range?: { date_from: string; date_to: string };
}

interface Status {
  query_status: { id: string; complete: boolean; error: boolean; error_message: string | null; results: Answered | null; query_progress: { rows_read: number; estimated_rows_total: number } | null };
}

export type Progress = (read: number, of: number) => void;

/** Runs a query; aborting stops it on the server too. */
export async function run(query: object, cancel: AbortSignal, progress: Progress = () => undefined): Promise<Answered> {
  const id = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
  const got = await send<Answered | Status>("POST", inProject("query/"), { query, refresh: "async", client_query_id: id }, cancel);
  return "query_status" in got && got.query_status ? follow(got, cancel, progress) : (got as Answered);
}

interface RunInsight extends Partial<Status>, Omit<Answered, "results"> {
  result: unknown;
  error: { type: string; code: string; detail: string; attr: string | null } | null;
}

/** What an insight says on a dashboard, with the filters of both; a period goes before the dashboard's. */
export async function runTile(insight: number, dashboard: number, period: string, cancel: AbortSignal, progress: Progress = () => undefined): Promise<Answered> {
  const query = { from_dashboard: dashboard, refresh: "async", filters_override: period ? JSON.stringify({ date_from: period }) : null };
  const got = await get<RunInsight>(inProject(`insights/${insight}/`), query, cancel);
  if (got.error) throw new ApiError(400, got.error.code, got.error.detail, got.error.attr, "");
  return got.query_status && !got.query_status.complete ? follow(got as Status, cancel, progress) : { ...got, results: got.result };
}

/** Waits for a run in the background. */
async function follow(first: Status, cancel: AbortSignal, progress: Progress): Promise<Answered> {
  const { id } = first.query_status;
  const stop = () => void send("DELETE", inProject(`query/${id}/`)).catch(() => undefined);
  let s = first.query_status;
  for (let wait = 40; !s.complete; wait = Math.min(wait * 2, 1000)) {
    try {
      await pause(wait, cancel);
      s = (await get<Status>(inProject(`query/${id}/`), { show_progress: true }, cancel)).query_status;
    } catch (e) {
      if (cancel.aborted) stop();
      throw e;
    }
    if (s.query_progress) progress(s.query_progress.rows_read, s.query_progress.estimated_rows_total);
  }
  if (s.error || !s.results) throw new ApiError(400, "error", s.error_message ?? "", null, "");
  return s.results;
}

/** Fails when it is cancelled meanwhile. */
function pause(ms: number, cancel: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const stop = () => (clearTimeout(timer), fail(new DOMException("", "AbortError")));
    const timer = setTimeout(() => (cancel.removeEventListener("abort", stop), done()), ms);
    if (cancel.aborted) stop();
    else cancel.addEventListener("abort", stop, { once: true });
  });
}
