// The flags of the list: pages of the server until all are here; a search of what is all
// here asks nobody.
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
  /** What the filters leave, as far as it is here. */
  shown: () => readonly Row[];
  list: Signal<readonly Row[]>;
  /** How many there are; null before the first answer. */
  total: () => number | null;
  error: Signal<unknown>;
  calls: Signal<ReadonlyMap<number, Calls>>;
  /** What stands in the field of the search, before the address has it. */
  typed: Signal<string>;
  reload(): void;
}

/** What the page's query asks of the API, but for the search. */
function listQuery(): Record<string, string> {
  const wire: Record<string, string> = { on: "active", off: "inactive" };
  const status = param("status");
  const out: Record<string, string> = { view: "list", order: param("sort") || "key", status: wire[status] ?? status, type: param("type") };
  if (param("tag")) out.tags = JSON.stringify([param("tag")]);
  if (param("mine")) out.mine = "true";
  return out;
}

/** As the server searches: in key and name, where signs between the words of a key are blanks too. */
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
  const whole = signal(""); // the query of which the list has all
  const shown = computed(() => (whole() && typed().trim() ? list().filter(matches(typed())) : list()));
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
        void count(page.results, mine).catch(() => undefined); // the list is one without them
        if (more && again) continue; // what is shown stays until all of it is here anew
        batch(() => {
          counted.set(page.count);
          list.set(all);
          error.set(undefined);
          whole.set(more || search ? "" : base);
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
      const same = whole.peek() === base;
      if (same && n === turn) return; // the list itself is searched
      void load(base, same ? "" : search, same);
      turn = n;
    });
  });
  return {
    shown,
    list,
    total: () => (whole() ? shown().length : counted()),
    error,
    calls,
    typed,
    reload: () => (invalidate("feature_flags"), again.update((n) => n + 1)),
  };
}
