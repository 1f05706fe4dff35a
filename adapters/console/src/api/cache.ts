// Answers by URL: shown at once, asked again when they are old.
import { effect, onEnd, signal, untracked, type Signal } from "../ui/dom";
import { get, url, type Query } from "./client";

interface Kept {
  value: unknown;
  at: number;
}

const most = 200;
const fresh = 10_000;
const kept = new Map<string, Kept>();
const changed = signal(0);

/** Keeps an answer by its address. */
export function remember(address: string, value: unknown): void {
  kept.delete(address);
  kept.set(address, { value, at: Date.now() });
  if (kept.size > most) kept.delete(kept.keys().next().value!);
}

export const remembered = <T>(address: string): T | undefined => kept.get(address)?.value as T | undefined;

/** What is kept of these paths is old now: every page that shows them asks again. */
export function stale(part: string): void {
  for (const [address, k] of kept) if (address.includes(part)) k.at = 0;
  changed.update((n) => n + 1);
}

/** Forgets everything: somebody else may sit here next. */
export function forget(): void {
  kept.clear();
}

export interface Answer<T> {
  /** The last answer; undefined before the first. */
  data: Signal<T | undefined>;
  error: Signal<unknown>;
  loading: Signal<boolean>;
  reload(): void;
}

/** Asks for what the function names, and again when that changes; null asks nothing. */
export function answer<T>(what: () => { path: string; query?: Query } | null): Answer<T> {
  const out: Answer<T> = { data: signal<T | undefined>(undefined), error: signal<unknown>(undefined), loading: signal(false), reload: () => again.update((n) => n + 1) };
  const again = signal(0);
  let cancel: AbortController | undefined;
  let asked = "";
  let forced = 0;
  onEnd(() => cancel?.abort());
  effect(() => {
    const q = what();
    const force = again();
    changed();
    if (!q) return;
    const plain = url(q.path, q.query);
    untracked(() => {
      const k = kept.get(plain);
      if (k && plain !== asked) out.data.set(k.value as T);
      if (k && force === forced && Date.now() - k.at < fresh) {
        asked = plain;
        return;
      }
      forced = force;
      asked = plain;
      cancel?.abort();
      const mine = (cancel = new AbortController());
      out.loading.set(true);
      get<T>(q.path, q.query, mine.signal).then(
        (value) => {
          if (mine.signal.aborted) return;
          remember(plain, value);
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
