// Virtual rows of a long table: only the visible rows and some around them are in the document. Spacer
// rows above and below take the space of the others. A row is a placeholder until its item is loaded and a
// frame has time for it.
import { batch, each, effect, h, onEnd, signal, untracked, type Signal } from "./dom";
import { words } from "../words";

const around = 20;
const frameTime = 6; // milliseconds that one frame renders rows

/** A list of which some items may not be loaded. */
export interface SparseList<T> {
  length: () => number;
  /** Returns an item, or undefined if it is not loaded. */
  at: (index: number) => T | undefined;
  /** Is called with the range of the rows in the document whenever it changes. */
  inSight: (from: number, to: number) => void;
}

/** Stands for an item that is not loaded or not rendered yet. */
class Missing {
  constructor(readonly index: number) {}
}

/** Fills a table body. All rows must have the height of the first one. */
export function rows<T extends object>(body: HTMLElement, list: SparseList<T>, key: (item: T) => string | number, render: (item: Signal<T>, index: () => number) => HTMLElement, columns: number): void {
  const range = signal({ from: 0, to: 60 });
  let height = 36;
  const spacer = () => h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { colspan: columns }));
  const [above, below] = [spacer(), spacer()];
  const measure = () => {
    const n = list.length();
    const first = body.querySelector<HTMLElement>("tr:not(.spacer, .missing)");
    if (first?.offsetHeight) height = first.offsetHeight;
    const top = -body.getBoundingClientRect().top;
    const from = Math.max(0, Math.min(n, Math.floor(top / height) - around));
    const to = Math.min(n, Math.ceil((top + innerHeight) / height) + around);
    const r = range.peek();
    if (Math.abs(r.from - from) >= around / 2 || Math.abs(r.to - to) >= around / 2 || (from === 0 && r.from) || (to === n && r.to < n)) range.set({ from, to });
  };
  const frames = signal(0); // counts the frames that render more rows
  let frameRequest = 0;
  let isComplete = true; // no row waits for another frame
  // A frame measures before it renders, so that it computes the layout once.
  const scheduleMeasure = () => {
    frameRequest ||= requestAnimationFrame(() => {
      frameRequest = 0;
      batch(() => {
        untracked(measure);
        if (!isComplete) frames.update((n) => n + 1);
      });
    });
  };
  addEventListener("scroll", scheduleMeasure, { passive: true });
  addEventListener("resize", scheduleMeasure, { passive: true });
  onEnd(() => {
    removeEventListener("scroll", scheduleMeasure);
    removeEventListener("resize", scheduleMeasure);
    cancelAnimationFrame(frameRequest);
  });
  const bounds = () => {
    const { from, to } = range();
    const n = list.length();
    return { from: Math.min(from, n), to: Math.min(n, Math.max(to, from + 40)), n };
  };
  const keyOf = (x: T | Missing) => (x instanceof Missing ? `missing ${x.index}` : key(x));
  const positions = new Map<string | number, Signal<number>>();
  let cost = 1; // of rendering a row, in milliseconds
  const renderRow = (x: Signal<T>, index: () => number) => {
    const start = performance.now();
    const row = render(x, index);
    cost = 0.8 * cost + 0.2 * (performance.now() - start);
    return row;
  };
  const visibleRows = () => {
    keepFocus(body);
    frames();
    const { from, to } = bounds();
    const first = from === 0 ? 0 : Math.min(to, from + around); // the first row that can be seen
    const part: (T | Missing)[] = [];
    let left = Math.max(1, Math.floor(frameTime / cost));
    for (let k = 0; k < to - from; k++) {
      const i = from + ((first - from + k) % (to - from));
      const x = list.at(i);
      part[i - from] = x && (positions.has(key(x)) || left-- > 0) ? x : new Missing(i);
    }
    isComplete = left >= 0;
    if (!isComplete) scheduleMeasure();
    const keys = new Set(part.map(keyOf));
    positions.forEach((_, k) => keys.has(k) || positions.delete(k));
    part.forEach((x, i) => {
      const p = positions.get(keyOf(x));
      if (p) p.set(from + i);
      else positions.set(keyOf(x), signal(from + i));
    });
    return part;
  };
  const placeholder = (index: number) => {
    const cell = h("td", { role: "cell", colspan: columns, class: "meta" }, () => (list.at(index) ? "" : words.loading));
    cell.style.height = `${height}px`;
    return h("tr", { role: "row", class: "missing", tabindex: 0, "aria-rowindex": index + 2 }, cell);
  };
  body.append(above);
  body.append(
    each<T | Missing>(visibleRows, keyOf, (item) => {
      const x = item.peek();
      return x instanceof Missing ? placeholder(x.index) : renderRow(item as Signal<T>, positions.get(key(x))!);
    }) as Node,
  );
  body.append(below);
  effect(() => {
    const { from, to, n } = bounds();
    above.hidden = from === 0;
    below.hidden = to >= n;
    (above.firstElementChild as HTMLElement).style.height = `${from * height}px`;
    (below.firstElementChild as HTMLElement).style.height = `${Math.max(0, n - to) * height}px`;
    untracked(() => list.inSight(from, to));
    scheduleMeasure();
  });
}

/** Keeps the focus in the table if its row is about to be removed: it moves to the new row in its place, or else to the box that scrolls. */
function keepFocus(body: HTMLElement): void {
  const row = body.contains(document.activeElement) ? document.activeElement!.closest("tr") : null;
  if (!row) return;
  queueMicrotask(() => {
    if (row.isConnected) return;
    const next = body.querySelector<HTMLElement>(`tr[aria-rowindex="${row.getAttribute("aria-rowindex")}"]`);
    const target = next?.querySelector<HTMLElement>("input:not(:disabled), a, button:not(:disabled)") ?? next ?? body.closest<HTMLElement>("[tabindex]");
    target?.focus({ preventScroll: true });
  });
}
