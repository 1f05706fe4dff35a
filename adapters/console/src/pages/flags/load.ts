// Loads the flags of the list page by page. Once all flags are loaded, a search needs no request.
import { batch, computed, effect, onEnd, signal, untracked, type Signal } from "../../ui/dom";
import { invalidate } from "../../api/cache";
import { get } from "../../api/client";
import type { Row } from "../../api/flags";
import { param } from "../../router";
import { projectPath, hasScope, project } from "../../session";

const size = 200;

export interface Calls {
  calls: number;
}

export interface Loaded {
  /** Returns the loaded flags that match the filters. */
  matching: () => readonly Row[];
  list: Signal<readonly Row[]>;
  /** Returns the number of flags that match, or null before the first response. */
  total: () => number | null;
  error: Signal<unknown>;
  calls: Signal<ReadonlyMap<number, Calls>>;
  /** The text in the search field, before it is in the URL. */
  typed: Signal<string>;
  reload(): void;
}

/** Returns the query for the API without the search, from the page's query. */
function listQuery(): Record<string, string> {
  const wire: Record<string, string> = { on: "active", off: "inactive" };
  const status = param("status");
  const out: Record<string, string> = { view: "list", order: param("sort") || "key", status: wire[status] ?? status, type: param("type") };
  if (param("tag")) out.tags = JSON.stringify([param("tag")]);
  if (param("mine")) out.mine = "true";
  return out;
}

/** Returns a test that searches like the server: in the key and the name, with the separators in a key equal to spaces. */
function matches(text: string): (f: Row) => boolean {
  const want = text.trim().toLowerCase();
  const has = (s: string) => s.includes(want) || (want.includes(" ") && s.replace(/[-_]/g, " ").includes(want));
  return (f) => has(f.key.toLowerCase()) || has((f.name ?? "").toLowerCase());
}

export function loadFlags(): Loaded {
  const list = signal<readonly Row[]>([]);
  const counted = signal<number | null>(null);
  const error = signal<unknown>(undefined);
  const calls = signal<ReadonlyMap<number, Calls>>(new Map());
  const typed = signal(param("search"));
  const again = signal(0);
  const completeQuery = signal(""); // the query whose flags are all loaded
  const matching = computed(() => (completeQuery() && typed().trim() ? list().filter(matches(typed())) : list()));
  let cancel: AbortController | undefined;
  let turn = -1;
  onEnd(() => cancel?.abort());

  const count = async (page: readonly Row[], mine: AbortSignal) => {
    if (!page.length || !hasScope("feature_flag:read")) return;
    const got = await get<{ results: Record<string, Calls> }>(projectPath("feature_flags/exposures/"), { ids: page.map((f) => f.id).join(","), days: 7 }, mine);
    calls.update((was) => new Map([...was, ...Object.entries(got.results).map(([id, c]) => [Number(id), c] as const)]));
  };
  const load = async (base: string, search: string, again: boolean) => {
    cancel?.abort();
    const mine = (cancel = new AbortController()).signal;
    let all: readonly Row[] = [];
    try {
      for (let more = true; more; ) {
        const page = await get<{ count: number; results: Row[] }>(projectPath("feature_flags/"), { ...(JSON.parse(base) as object), search, limit: size, offset: all.length }, mine);
        all = [...all, ...page.results];
        more = page.results.length > 0 && all.length < page.count;
        void count(page.results, mine).catch(() => undefined); // the list is shown without the counts
        if (more && again) continue; // keep the current rows until all pages are loaded again
        batch(() => {
          counted.set(page.count);
          list.set(all);
          error.set(undefined);
          completeQuery.set(more || search ? "" : base);
        });
      }
    } catch (e) {
      if (!mine.aborted) error.set(e);
    }
  };
  effect(() => {
    const [n, search] = [again(), param("search")];
    const base = JSON.stringify({ ...listQuery(), project: project() });
    untracked(() => {
      const same = completeQuery.peek() === base;
      if (same && n === turn) return; // search the loaded list
      void load(base, same ? "" : search, same);
      turn = n;
    });
  });
  return {
    matching,
    list,
    total: () => (completeQuery() ? matching().length : counted()),
    error,
    calls,
    typed,
    reload: () => (invalidate("feature_flags"), again.update((n) => n + 1)),
  };
}
