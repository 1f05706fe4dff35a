// Lists that the API returns page by page.
import { effect, onEnd, signal, untracked, type Signal } from "./dom";
import { cacheResponse, cachedResponse } from "../api/cache";
import { get, isUnreachable, url, type Query } from "../api/client";

interface Page<T> {
  results: T[];
  next: string | null;
  count?: number;
}

export interface Pages<T> {
  data: Signal<T[] | undefined>;
  error: Signal<unknown>;
  loading: Signal<boolean>;
  /** The query of the next page, or null if there are no more. */
  next: Signal<Query | null>;
  more(): Promise<void>;
  reload(): void;
}

/** Loads the list that request returns, and starts again when that changes. If it returns null, nothing is loaded. */
export function pages<T>(request: () => { path: string; query: Query } | null): Pages<T> {
  const again = signal(0);
  const out: Pages<T> = {
    data: signal<T[] | undefined>(undefined),
    error: signal<unknown>(undefined),
    loading: signal(false),
    next: signal<Query | null>(null),
    more: () => load(path, out.next.peek()!, out.data.peek() ?? []),
    reload: () => again.update((n) => n + 1),
  };
  let path = "";
  let cancel: AbortController | undefined;
  const load = async (listPath: string, query: Query, before: T[]) => {
    cancel?.abort();
    const mine = (cancel = new AbortController());
    out.loading.set(true);
    try {
      const got = await get<Page<T>>(listPath, query, mine.signal);
      if (!before.length) cacheResponse(url(listPath, query), got);
      out.data.set([...before, ...got.results]);
      out.next.set(got.next ? Object.fromEntries(new URL(got.next).searchParams) : null);
      out.error.set(undefined);
    } catch (e) {
      if (mine.signal.aborted) return;
      const known = isUnreachable(e) ? cachedResponse<Page<T>>(url(listPath, query)) : undefined;
      if (known && !before.length) out.data.set(known.results); // show the cached page while the server is unreachable
      out.error.set(e);
    }
    out.loading.set(false);
  };
  effect(() => {
    again();
    const q = request();
    if (!q) return;
    path = q.path;
    untracked(() => void load(q.path, q.query, []));
  });
  onEnd(() => cancel?.abort());
  return out;
}
