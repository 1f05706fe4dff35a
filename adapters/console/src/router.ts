// The router. Every view has a URL, with its filters in the query.
import { signal } from "./ui/dom";

export interface Place {
  /** Path below the console, without slashes at its start and end. */
  path: string;
  query: URLSearchParams;
}

const base = new URL(".", document.baseURI);

function currentPlace(): Place {
  const below = location.pathname.slice(base.pathname.length);
  return { path: below.replace(/^\/+|\/+$/g, ""), query: new URLSearchParams(location.search) };
}

export const place = signal<Place>(currentPlace());

/** leave is set by a form with unsaved changes. It reports whether the page may be left. */
export const guard: { leave: (() => Promise<boolean>) | null } = { leave: null };

/** Whether the page was reached with back or forward, and its scroll position then. */
export const arrival = { restored: false, scroll: 0 };

let index = (history.state as { n?: number } | null)?.n ?? 0;
const scrolls = new Map<number, number>();

/** Returns the URL of a view, without empty parameters. */
export function href(path: string, query: Record<string, string> = {}): string {
  const u = new URL(path, base);
  for (const [k, v] of Object.entries(query)) if (v) u.searchParams.set(k, v);
  return u.pathname + u.search;
}

/** Reports whether the page may be left. If it has unsaved changes, the person is asked. */
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

/** Returns a parameter of the query, or "" if it is missing. Reading it follows its changes. */
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
    history.go(index - to); // stay on the page until the person has answered
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
