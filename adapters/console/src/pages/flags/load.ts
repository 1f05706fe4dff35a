// The flags of the list. The server searches, filters and sorts them; their pages are loaded when rows of
// them come into sight.
import { batch, effect, onEnd, signal, untracked, type Signal } from "../../ui/dom";
import { invalidate } from "../../api/cache";
import { get, type Query } from "../../api/client";
import type { Row } from "../../api/flags";
import { param, place } from "../../router";
import { projectPath, hasScope } from "../../session";
import type { SparseList } from "../../ui/rows";

const size = 200; // flags of a page; also the maximum of ids in a request
const maxPages = 25; // pages in memory; those that are farthest from the rows in sight are dropped
const maxRequests = 2; // pages that are loaded at the same time

interface Page {
  count: number;
  results: Row[];
}

export interface Calls {
  calls: number;
}

export interface FlagList extends SparseList<Row> {
  /** Returns the number of flags that match, or null before the first response. */
  total: () => number | null;
  /** Returns the loaded flags. */
  loaded: () => Row[];
  /** Reports whether rows in sight are not loaded. */
  waiting: () => boolean;
  error: Signal<unknown>;
  /** Returns the calls of a flag by its id, or undefined if they are not loaded. */
  calls: (id: number) => Calls | undefined;
  /** Returns the query of the list in the API, without its page. */
  query: () => Query;
  /** Replaces a loaded flag. */
  put(f: Row): void;
  /** Loads the flags with these ids again, and the rows in sight if flags come, go or move. */
  refresh(ids: ReadonlySet<number>): Promise<void>;
  /** Loads the rows in sight again. The others are loaded again when they come into sight. */
  reload(): void;
}

/** Returns the query for the API from the page's query. */
function listQuery(): Query {
  const wire: Record<string, string> = { on: "active", off: "inactive" };
  const status = param("status");
  return {
    order: param("sort") || "key",
    search: param("search"),
    status: wire[status] ?? status,
    type: param("type"),
    tags: param("tag") ? JSON.stringify([param("tag")]) : "",
    mine: param("mine") ? "true" : "",
  };
}

/** Returns what determines the position of a flag in an order. */
function rank(f: Row, order: string): string {
  if (order.endsWith("status")) return `${f.archived} ${f.status} ${f.key}`;
  return order.endsWith("updated_at") ? f.updated_at : f.key;
}

export function loadFlags(): FlagList {
  const pages = new Map<number, readonly Row[]>();
  const old = new Set<number>(); // pages that are shown until they are loaded again
  const total = signal<number | null>(null);
  const changed = signal(0); // counts the changes of pages
  const error = signal<unknown>(undefined);
  const calls = new Map<number, Calls>();
  const counted = signal(0); // counts the responses with calls
  const query = signal<Query>({});
  const path = untracked(() => projectPath("feature_flags/"));
  let starting = true; // the first page of a query is not here yet
  const sight = signal({ from: 0, to: 0 }); // pages, both included
  let turn = new AbortController();
  const loading = new Set<number>();
  onEnd(() => turn.abort());

  const find = (id: number) => [...pages.values()].flat().find((f) => f.id === id);
  const list = (more: Query, cancel: AbortSignal) => get<Page>(path, { view: "list", ...query.peek(), ...more }, cancel);
  const cancelAll = () => {
    turn.abort();
    turn = new AbortController();
    loading.clear();
    error.set(undefined);
  };
  const count = async (page: readonly Row[], cancel: AbortSignal) => {
    const ids = page.map((f) => f.id).filter((id) => !calls.has(id));
    if (!ids.length || !hasScope("feature_flag:read")) return;
    const got = await get<{ results: Record<string, Calls> }>(projectPath("feature_flags/exposures/"), { ids: ids.join(","), days: 7 }, cancel);
    for (const [id, c] of Object.entries(got.results)) calls.set(Number(id), c);
    if (calls.size > maxPages * size) dropCalls();
    counted.update((n) => n + 1);
  };
  /** Drops the calls of flags that are not loaded any more. */
  const dropCalls = () => {
    const loaded = new Set([...pages.values()].flatMap((rows) => rows.map((f) => f.id)));
    for (const id of calls.keys()) if (!loaded.has(id)) calls.delete(id);
  };
  const distance = (p: number) => Math.max(sight.peek().from - p, p - sight.peek().to);
  const isInSight = (p: number) => distance(p) <= 0;

  /** Stores a page. If flags have moved between pages since the others were loaded, these are loaded again. */
  const receive = (p: number, got: Page) => {
    const ids = new Set(got.results.map((f) => f.id));
    const isTwice = (rows: readonly Row[]) => rows.some((f) => ids.has(f.id));
    const others = [...pages].filter(([q]) => q !== p);
    if (starting || got.count !== total.peek() || others.some(([, rows]) => isTwice(rows))) {
      for (const [q, rows] of others) {
        if (starting || !isInSight(q) || isTwice(rows)) pages.delete(q);
        else old.add(q);
      }
    }
    starting = false;
    old.delete(p);
    pages.set(p, got.results);
    if (pages.size > maxPages) pages.delete([...pages.keys()].reduce((a, b) => (distance(b) > distance(a) ? b : a)));
    batch(() => {
      total.set(got.count);
      changed.update((n) => n + 1);
    });
  };
  const load = async (p: number) => {
    const mine = turn.signal;
    loading.add(p);
    try {
      const got = await list({ limit: size, offset: p * size }, mine);
      if (mine.aborted) return;
      loading.delete(p);
      receive(p, got);
      setTimeout(() => void count(got.results, mine).catch(() => undefined)); // the list is shown without the counts
      fill();
    } catch (e) {
      if (mine.aborted) return;
      loading.delete(p);
      error.set(e);
    }
  };
  const fill = () => {
    const last = Math.max(0, Math.ceil((total.peek() ?? 0) / size) - 1);
    for (let p = sight.peek().from; p <= Math.min(sight.peek().to, last); p++) {
      if (starting || error.peek() || loading.size >= maxRequests) return;
      if (!loading.has(p) && (old.has(p) || !pages.has(p))) void load(p);
    }
  };
  const start = () => {
    cancelAll();
    starting = true;
    void load(0);
  };
  const reload = () => {
    invalidate("feature_flags");
    if (starting) return start();
    cancelAll();
    for (const p of [...pages.keys()]) {
      if (isInSight(p)) old.add(p);
      else pages.delete(p);
    }
    fill();
  };
  const put = (f: Row) => {
    for (const [p, rows] of pages) {
      if (rows.some((x) => x.id === f.id)) pages.set(p, rows.map((x) => (x.id === f.id ? { ...x, ...f } : x)));
    }
    changed.update((n) => n + 1);
  };
  /** Reports whether a flag that is not loaded has its place among the loaded ones. */
  const isMissing = (f: Row) => {
    const order = String(query.peek().order);
    if (!order.endsWith("key")) return true;
    const sign = order.startsWith("-") ? -1 : 1;
    const compare = (a: Row, b: Row) => (a.key < b.key ? -sign : sign);
    const isLast = (p: number) => (p + 1) * size >= (total.peek() ?? 0);
    return [...pages].some(([p, rows]) => rows.length > 0 && (p === 0 || compare(rows[0]!, f) < 0) && (isLast(p) || compare(f, rows.at(-1)!) < 0));
  };
  const refresh = async (ids: ReadonlySet<number>) => {
    if (starting || ids.size > size) return reload();
    const mine = turn.signal;
    try {
      const was = new Map([...ids].map((id) => [id, find(id)] as const));
      const unknown = [...was.values()].includes(undefined);
      const [named, first] = await Promise.all([list({ ids: [...ids].join(","), limit: size }, mine), unknown ? list({ limit: 1 }, mine) : null]);
      if (mine.aborted) return;
      const now = new Map(named.results.map((f) => [f.id, f]));
      const order = String(query.peek().order);
      const moved = [...was].some(([id, f]) => {
        const n = now.get(id);
        return f ? !n || rank(f, order) !== rank(n, order) : n && isMissing(n);
      });
      if (moved || (first && first.count !== total.peek())) return reload();
      now.forEach((f) => f.version >= (find(f.id)?.version ?? 0) && put(f));
    } catch (e) {
      if (!mine.aborted) error.set(e);
    }
  };

  const page = place.peek().path;
  effect(() => {
    if (place().path !== page) return; // the next page is about to be shown
    const next = listQuery();
    if (JSON.stringify(next) === JSON.stringify(query.peek())) return;
    query.set(next);
    untracked(start);
  });
  return {
    length: () => total() ?? 0,
    at: (i) => (changed(), pages.get(Math.floor(i / size))?.[i % size]),
    inSight: (from, to) => {
      const now = { from: Math.floor(from / size), to: Math.max(0, Math.ceil(to / size) - 1) };
      if (now.from !== sight.peek().from || now.to !== sight.peek().to) sight.set(now);
      if (!starting) error.set(undefined); // scrolling tries again
      fill();
    },
    total,
    loaded: () => (changed(), [...pages.values()].flat()),
    waiting: () => {
      changed();
      for (let p = sight().from; p <= sight().to; p++) if (!pages.has(p) && p * size < (total() ?? 0)) return true;
      return false;
    },
    error,
    calls: (id) => (counted(), calls.get(id)),
    query,
    put,
    refresh,
    reload,
  };
}
