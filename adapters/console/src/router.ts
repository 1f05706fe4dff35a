// The router. Every view has a URL, with its filters in the query.
import { signal } from "./ui/dom";
import { rememberView, saveViews, viewOf, type View } from "./ui/views";

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

/** The view to restore, if the page was reached with back, forward or a reload. */
export const arrival: { view: View | undefined } = { view: undefined };

/** The state of an entry of the history: its index in the document's part of the history, and its id. */
interface Entry {
  n: number;
  id: string;
}

const newEntry = (n: number): Entry => ({ n, id: `${n}-${Date.now()}` });
let entry: Entry = newEntry(0);

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
  rememberView(entry.id);
  entry = newEntry(replace ? entry.n : entry.n + 1);
  history[replace ? "replaceState" : "pushState"](entry, "", address);
  arrival.view = undefined;
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
  history.replaceState(entry, "", location.pathname + (search ? "?" + search : ""));
  place.set(currentPlace());
}

let isAsking = false;

/** Returns to the page with unsaved changes, asks the person, and repeats the traversal of the history if they leave. */
async function askBeforeTraversal(steps: number): Promise<void> {
  if (!steps) return;
  const returned = new Promise<void>((done) => addEventListener("popstate", (e) => (e.stopImmediatePropagation(), done()), { once: true, capture: true }));
  setTimeout(() => history.go(-steps)); // in the listener of popstate it would load the document again in Chromium
  await returned;
  if (isAsking) return;
  isAsking = true;
  const leaves = await mayLeave().finally(() => (isAsking = false));
  if (leaves) history.go(steps);
}

export function startRouter(): void {
  history.scrollRestoration = "manual";
  const known = history.state as Entry | null;
  if (known?.id) entry = known;
  arrival.view = viewOf(entry.id);
  history.replaceState(entry, "", location.href);
  addEventListener("pagehide", () => {
    rememberView(entry.id);
    saveViews();
  });
  addEventListener("popstate", (e) => {
    const to = (e.state as Entry | null) ?? newEntry(0);
    if (!guard.leave) {
      rememberView(entry.id);
      entry = to;
      arrival.view = viewOf(to.id) ?? { scroll: 0, focus: null };
      place.set(currentPlace());
      return;
    }
    void askBeforeTraversal(to.n - entry.n);
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
