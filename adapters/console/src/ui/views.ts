// The scroll position and the focus of the views in the history, so that back, forward and a reload
// restore them (console.md §2.1).

export interface View {
  scroll: number;
  focus: FocusMark | null;
}

/** Identifies a focused element: its tag, its name, and its index among those with both. */
type FocusMark = [tag: string, name: string, index: number];

const storageKey = "bunting.views";
const maxViews = 50;
const patience = 3_000; // milliseconds to wait for the content of a restored view

const views = new Map<string, View>(read());

function read(): [string, View][] {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey) ?? "[]") as [string, View][];
  } catch {
    return [];
  }
}

/** Stores the views in this tab. It is called when the document is left. */
export function saveViews(): void {
  try {
    sessionStorage.setItem(storageKey, JSON.stringify([...views]));
  } catch {
    // the storage is full; the views are not restored after a reload
  }
}

/** Removes all views. It is called at sign-out, since another person may use the browser next. */
export function forgetViews(): void {
  views.clear();
}

export const viewOf = (entry: string): View | undefined => views.get(entry);

/** Stores the current scroll position and focus for an entry of the history, or those that are being restored. */
export function rememberView(entry: string): void {
  views.delete(entry);
  views.set(entry, stop.signal.aborted ? { scroll: scrollY, focus: markOf(document.activeElement) } : restoring);
  if (views.size > maxViews) views.delete(views.keys().next().value!);
}

const nameOf = (el: Element) => el.getAttribute("href") ?? el.getAttribute("aria-label") ?? (el as HTMLInputElement).labels?.[0]?.textContent ?? (el.textContent ?? "").slice(0, 200);

const sameName = (tag: string, name: string) => [...document.querySelectorAll(tag)].filter((el) => nameOf(el) === name);

function markOf(el: Element | null): FocusMark | null {
  if (!el || el.matches("body, main, h1, dialog *")) return null;
  const name = nameOf(el);
  return [el.tagName, name, sameName(el.tagName, name).indexOf(el)];
}

let restoring: View = { scroll: 0, focus: null };
let stop = new AbortController(); // of restoring
stop.abort();

/** Scrolls to the position of a view and focuses its element, as soon as the content is loaded. Any input of the person ends the wait. */
export function restoreView(view: View, isLoading: () => boolean): void {
  stop.abort();
  restoring = view;
  const { signal } = (stop = new AbortController());
  for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(kind, () => stop.abort(), { signal, passive: true, capture: true });
  const end = performance.now() + patience;
  let focused = view.focus === null;
  const attempt = () => {
    if (signal.aborted) return;
    if (!focused) {
      const [tag, name, index] = view.focus!;
      const el = sameName(tag, name)[index] as HTMLElement | undefined;
      el?.focus({ preventScroll: true });
      focused = el !== undefined && document.activeElement === el;
    }
    scrollTo(0, view.scroll);
    const isDone = focused && Math.abs(scrollY - view.scroll) < 2 && !isLoading();
    if (isDone || performance.now() > end) stop.abort();
    else requestAnimationFrame(attempt);
  };
  requestAnimationFrame(attempt);
}

/** Ends a wait of restoreView, because another view is shown. */
export function cancelRestore(): void {
  stop.abort();
}
