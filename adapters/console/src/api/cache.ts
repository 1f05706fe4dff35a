// A cache of responses by URL. A cached response is shown at once and loaded again when it is old.
import { effect, onEnd, signal, untracked, type Signal } from "../ui/dom";
import { get, url, type Query } from "./client";

interface CacheEntry {
  value: unknown;
  at: number;
}

const maxEntries = 200;
const maxAge = 10_000;
const entries = new Map<string, CacheEntry>();
const changed = signal(0);

/** Stores a response under its URL. The oldest entry is removed when there are too many. */
export function cacheResponse(address: string, value: unknown): void {
  entries.delete(address);
  entries.set(address, { value, at: Date.now() });
  if (entries.size > maxEntries) entries.delete(entries.keys().next().value!);
}

export const cachedResponse = <T>(address: string): T | undefined => entries.get(address)?.value as T | undefined;

/** Marks the entries whose URL contains part as old. Pages that show them load them again. */
export function invalidate(part: string): void {
  for (const [address, k] of entries) if (address.includes(part)) k.at = 0;
  changed.update((n) => n + 1);
}

/** Removes all entries. It is called at sign-out, since another person may use the browser next. */
export function clearCache(): void {
  entries.clear();
}

export interface Resource<T> {
  /** The last response; undefined before the first one. */
  data: Signal<T | undefined>;
  error: Signal<unknown>;
  loading: Signal<boolean>;
  reload(): void;
}

/** Loads what request returns, and loads again when that changes. If request returns null, nothing is loaded. */
export function resource<T>(request: () => { path: string; query?: Query } | null): Resource<T> {
  const out: Resource<T> = { data: signal<T | undefined>(undefined), error: signal<unknown>(undefined), loading: signal(false), reload: () => reloads.update((n) => n + 1) };
  const reloads = signal(0);
  let cancel: AbortController | undefined;
  let current = "";
  let forced = 0;
  onEnd(() => cancel?.abort());
  effect(() => {
    const q = request();
    const force = reloads();
    changed();
    if (!q) return;
    const address = url(q.path, q.query);
    untracked(() => {
      const k = entries.get(address);
      if (k && address !== current) out.data.set(k.value as T);
      if (k && force === forced && Date.now() - k.at < maxAge) {
        current = address;
        return;
      }
      forced = force;
      current = address;
      cancel?.abort();
      const mine = (cancel = new AbortController());
      out.loading.set(true);
      get<T>(q.path, q.query, mine.signal).then(
        (value) => {
          if (mine.signal.aborted) return;
          cacheResponse(address, value);
          out.error.set(undefined);
          out.data.set(value);
          out.loading.set(false);
        },
        (e: unknown) => {
          if (mine.signal.aborted) return;
          out.error.set(e);
          out.loading.set(false);
        },
      );
    });
  });
  return out;
}
