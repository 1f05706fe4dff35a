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
  let got = await send<Answered | Status>("POST", inProject("query/"), { query, refresh: "async", client_query_id: id }, cancel);
  const stop = () => void send("DELETE", inProject(`query/${id}/`)).catch(() => undefined);
  for (let wait = 40; "query_status" in got && !got.query_status.complete; wait = Math.min(wait * 2, 1000)) {
    if (!(await pause(wait, cancel))) {
      stop();
      throw new DOMException("", "AbortError");
    }
    try {
      got = await get<Status>(inProject(`query/${id}/`), { show_progress: true }, cancel);
    } catch (e) {
      if (cancel.aborted) stop();
      throw e;
    }
    const p = got.query_status.query_progress;
    if (p) progress(p.rows_read, p.estimated_rows_total);
  }
  if (!("query_status" in got)) return got;
  const s = got.query_status;
  if (s.error || !s.results) throw new ApiError(400, "error", s.error_message ?? "", null, "");
  return s.results;
}

/** False: it was cancelled meanwhile. */
function pause(ms: number, cancel: AbortSignal): Promise<boolean> {
  return new Promise((done) => {
    const timer = setTimeout(() => done(true), ms);
    cancel.addEventListener("abort", () => (clearTimeout(timer), done(false)), { once: true });
    if (cancel.aborted) done(false);
  });
}
