// Lists that the API returns page by page.
import { batch, effect, onEnd, signal, untracked, type Signal } from "./dom";
import { cacheResponse, cachedResponse } from "../api/cache";
import { get, isUnreachable, url, type Query } from "../api/client";

interface Page<T> {
  results: T[];
  /** The address of the next page. Lists without it continue at an offset, until a page is not full. */
  next?: string | null;
  count?: number;
  total_count?: number;
}

export interface Pages<T> {
  data: Signal<T[] | undefined>;
  error: Signal<unknown>;
  loading: Signal<boolean>;
  /** The query of the next page, or null if there are no more. */
  next: Signal<Query | null>;
  /** The length of the whole list, or undefined if the server does not count it. */
  total: Signal<number | undefined>;
  more(): Promise<void>;
  /** Loads the same rows again, which can be several pages. */
  reload(): void;
}

function nextQuery<T>(page: Page<T>, query: Query): Query | null {
  if (page.next !== undefined) return page.next ? Object.fromEntries(new URL(page.next).searchParams) : null;
  const isFull = page.results.length > 0 && page.results.length === query.limit;
  return isFull ? { ...query, offset: Number(query.offset ?? 0) + page.results.length } : null;
}

/** Loads the list that request returns, and starts again when that changes. If it returns null, nothing is loaded. */
export function pages<T>(request: () => { path: string; query: Query } | null): Pages<T> {
  const again = signal(0);
  const out: Pages<T> = {
    data: signal<T[] | undefined>(undefined),
    error: signal<unknown>(undefined),
    loading: signal(false),
    next: signal<Query | null>(null),
    total: signal<number | undefined>(undefined),
    more: () => load(path, out.next.peek()!, out.data.peek() ?? []),
    reload: () => again.update((n) => n + 1),
  };
  let path = "";
  let shown = ""; // the address of the first page of the rows in data
  let cancel: AbortController | undefined;
  const load = async (listPath: string, query: Query, before: T[], wanted = 0) => {
    cancel?.abort();
    const mine = (cancel = new AbortController());
    out.loading.set(true);
    try {
      let rows = before;
      let next: Query | null = query;
      let total: number | undefined;
      do {
        const page: Page<T> = await get<Page<T>>(listPath, next, mine.signal);
        if (next === query && !before.length) cacheResponse(url(listPath, query), page);
        rows = [...rows, ...page.results];
        next = nextQuery(page, next);
        total = page.count ?? page.total_count;
      } while (next && rows.length < wanted);
      if (!before.length) shown = url(listPath, query);
      batch(() => {
        out.data.set(rows);
        out.next.set(next);
        out.total.set(total);
        out.error.set(undefined);
        out.loading.set(false);
      });
    } catch (e) {
      if (mine.signal.aborted) return;
      const known = isUnreachable(e) ? cachedResponse<Page<T>>(url(listPath, query)) : undefined;
      if (known && !before.length) out.data.set(known.results); // show the cached page while the server is unreachable
      out.error.set(e);
      out.loading.set(false);
    }
  };
  effect(() => {
    again();
    const q = request();
    if (!q) return;
    path = q.path;
    const rows = untracked(() => out.data()?.length ?? 0);
    untracked(() => void load(q.path, q.query, [], url(q.path, q.query) === shown ? rows : 0));
  });
  onEnd(() => cancel?.abort());
  return out;
}
