// Addresses: every view is one, with its filters in the query.
import { signal } from "./ui/dom";

export interface Place {
  /** Path below the console, without slashes at its ends. */
  path: string;
  query: URLSearchParams;
}

const base = new URL(".", document.baseURI);

function currentPlace(): Place {
  const below = location.pathname.slice(base.pathname.length);
  return { path: below.replace(/^\/+|\/+$/g, ""), query: new URLSearchParams(location.search) };
}

export const place = signal<Place>(currentPlace());

/** Set by a form with unsaved changes: whether its page may be left. */
export const guard: { leave: (() => Promise<boolean>) | null } = { leave: null };

/** How the page came to be shown: a new one gets the focus on its heading. */
export const arrival = { restored: false, scroll: 0 };

let index = (history.state as { n?: number } | null)?.n ?? 0;
const scrolls = new Map<number, number>();

/** The address of a view. */
export function href(path: string, query: Record<string, string> = {}): string {
  const u = new URL(path, base);
  for (const [k, v] of Object.entries(query)) if (v) u.searchParams.set(k, v);
  return u.pathname + u.search;
}

/** Whether the page may be left, which is asked where it has unsaved changes. */
export async function mayLeave(): Promise<boolean> {
  if (guard.leave && !(await guard.leave())) return false;
  guard.leave = null;
  return true;
}

export async function go(path: string, query: Record<string, string> = {}, replace = false): Promise<void> {
  if (await mayLeave()) move(href(path, query), replace);
}

function move(address: string, replace: boolean): void {
  scrolls.set(index, scrollY);
  if (!replace) index++;
  history[replace ? "replaceState" : "pushState"]({ n: index }, "", address);
  arrival.restored = false;
  place.set(currentPlace());
}

/** One value of the query, as state: what is the default is left out. */
export function param(name: string): string {
  return place().query.get(name) ?? "";
}

export function setParams(values: Record<string, string>): void {
  const q = new URLSearchParams(location.search);
  for (const [k, v] of Object.entries(values)) {
    if (v) q.set(k, v);
    else q.delete(k);
  }
  const search = q.toString();
  history.replaceState({ n: index }, "", location.pathname + (search ? "?" + search : ""));
  place.set(currentPlace());
}

export function startRouter(): void {
  history.scrollRestoration = "manual";
  history.replaceState({ n: index }, "", location.href);
  addEventListener("popstate", (e) => {
    scrolls.set(index, scrollY);
    const to = (e.state as { n?: number } | null)?.n ?? 0;
    const arrive = () => {
      index = to;
      arrival.restored = true;
      arrival.scroll = scrolls.get(index) ?? 0;
      guard.leave = null;
      place.set(currentPlace());
    };
    if (!guard.leave) return arrive();
    const confirmLeave = guard.leave;
    const address = location.href;
    history.go(index - to); // stay until the person has said
    addEventListener("popstate", (stay) => stay.stopImmediatePropagation(), { once: true, capture: true });
    void confirmLeave().then((leave) => {
      if (!leave) return;
      guard.leave = null;
      move(address, false);
    });
  });
  addEventListener("beforeunload", (e) => guard.leave && e.preventDefault());
  document.addEventListener("click", (e) => {
    const a = (e.target as Element).closest("a");
    if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || a.target || a.hasAttribute("download")) return;
    const u = new URL(a.href);
    if (u.origin !== location.origin || !u.pathname.startsWith(base.pathname) || u.hash) return;
    e.preventDefault();
    void go(u.pathname.slice(base.pathname.length), Object.fromEntries(u.searchParams));
  });
}
