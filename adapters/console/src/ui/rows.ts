// Virtual rows of a long list: only the rows in sight and some around them are in the document. Spacers
// take the space of the others. Rows that leave are used again for those that come, because a new row costs
// several times as much: after a jump, all rows stay where they are and get other items. A frame fills few
// rows, so that no frame takes long; until then, blank rows and placeholders take the space.
import { batch, detachedScope, effect, h, onEnd, signal, untracked, type Signal } from "./dom";
import { words } from "../words";

const around = 6; // rows above and below those in sight
const frameTime = 2; // milliseconds that one frame fills rows
const mostFilled = 8; // rows that one frame fills at most

/** A list of which some items may not be loaded. */
export interface SparseList<T> {
  length: () => number;
  /** Returns an item, or undefined if it is not loaded. */
  at: (index: number) => T | undefined;
  /** Is called with the range of the rows in the document whenever it changes. */
  inSight: (from: number, to: number) => void;
}

interface Row<T> {
  node: HTMLElement;
  item: Signal<T>;
  index: Signal<number>;
  close: () => void;
}

/** A row in place of several rows. */
interface Placeholder {
  node: HTMLElement;
  index: Signal<number>;
  height: Signal<number>;
  text: Signal<string>;
  close: () => void;
}

function placeholder(columns: number): Placeholder {
  const [index, height, text] = [signal(0), signal(0), signal("")];
  const [node, close] = detachedScope(() => {
    const cell = h("td", { role: "cell", colspan: columns, class: "meta" }, text);
    effect(() => void (cell.style.height = `${height()}px`));
    return h("tr", { role: "row", class: "missing", tabindex: 0, "aria-rowindex": () => index() + 2 }, cell);
  });
  return { node, index, height, text, close };
}

/** Fills a table body. All rows must have the same height. render is called for few items: a row can show other items later. */
export function rows<T extends object>(body: HTMLElement, list: SparseList<T>, key: (item: T) => string | number, render: (item: Signal<T>, index: () => number) => HTMLElement, columns: number): void {
  const range = signal({ from: 0, to: 60 });
  let height = 36; // of a row
  const spacer = () => h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { colspan: columns }));
  const [above, between, below] = [spacer(), spacer(), spacer()];
  const setSpace = (el: HTMLElement, n: number) => {
    el.hidden = n <= 0;
    (el.firstElementChild as HTMLElement).style.height = `${Math.max(0, n) * height}px`;
  };
  body.append(above, below);
  const measure = () => {
    const n = list.length();
    height = body.querySelector<HTMLElement>("tr:not(.spacer, .missing, .blank)")?.offsetHeight || height;
    const top = -body.getBoundingClientRect().top;
    const from = Math.max(0, Math.min(n, Math.floor(top / height) - around));
    const to = Math.min(n, Math.ceil((top + innerHeight) / height) + around);
    const r = range.peek();
    if (Math.abs(r.from - from) >= around / 2 || Math.abs(r.to - to) >= around / 2 || (from === 0 && r.from) || (to === n && r.to < n)) range.set({ from, to });
  };
  const frames = signal(0); // counts the frames that fill more rows
  let frameRequest = 0;
  let tellRequest = 0;
  let isComplete = true; // no row waits for another frame
  let filled = 0; // rows since the start of the frame
  let cost = 1; // of filling a row, in milliseconds
  // A frame reads the layout before it changes rows, so that the layout is computed once.
  const scheduleMeasure = () => {
    frameRequest ||= requestAnimationFrame(() => {
      frameRequest = filled = 0;
      const start = performance.now();
      batch(() => {
        untracked(measure);
        if (!isComplete) frames.update((n) => n + 1);
      });
      if (filled) cost = 0.8 * cost + (0.2 * (performance.now() - start)) / filled;
    });
  };
  addEventListener("scroll", scheduleMeasure, { passive: true });
  addEventListener("resize", scheduleMeasure, { passive: true });
  const shown = new Map<string | number, Row<T>>();
  const waiting = new Map<number, Row<T>>(); // blank rows in the document, by the index of the item that they wait for
  const spare: Row<T>[] = []; // rows outside of the document
  const placeholders: Placeholder[] = [];
  onEnd(() => {
    removeEventListener("scroll", scheduleMeasure);
    removeEventListener("resize", scheduleMeasure);
    cancelAnimationFrame(frameRequest);
    clearTimeout(tellRequest);
    for (const row of [...shown.values(), ...waiting.values(), ...spare, ...placeholders]) row.close();
  });
  const bounds = () => {
    const { from, to } = range();
    const n = list.length();
    return { from: Math.min(from, n), to: Math.min(n, Math.max(to, from + 2 * around)), n };
  };
  const setBlank = (row: Row<T>, blank: boolean) => {
    row.node.classList.toggle("blank", blank);
    if (blank) row.node.setAttribute("aria-hidden", "true");
    else row.node.removeAttribute("aria-hidden");
  };
  const detach = (row: Row<T>) => {
    row.node.remove();
    spare.push(row);
  };
  /** Returns a row for an item: one that waits for it, one that is not used any more, or a new one. */
  const fill = (item: T, index: number): Row<T> => {
    filled++;
    const row = waiting.get(index) ?? spare.pop();
    if (row) {
      waiting.delete(index);
      setBlank(row, false);
      row.index.set(index);
      row.item.set(item);
      return row;
    }
    const [itemSignal, indexSignal] = [signal(item), signal(index)];
    const [node, close] = detachedScope(() => render(itemSignal, indexSignal));
    return { node, item: itemSignal, index: indexSignal, close };
  };
  /** Returns the nodes of a range: rows, and a placeholder for each sequence of items without a row. */
  const nodesOf = (items: readonly (T | undefined)[], from: number): HTMLElement[] => {
    const nodes: HTMLElement[] = [];
    let used = 0;
    const rowAt = (i: number) => (items[i] && shown.get(key(items[i]))) ?? waiting.get(from + i);
    for (let i = 0; i < items.length; i++) {
      const row = rowAt(i);
      if (row) {
        nodes.push(row.node);
        continue;
      }
      const first = i;
      while (i + 1 < items.length && !rowAt(i + 1)) i++;
      const p = (placeholders[used++] ??= placeholder(columns));
      p.index.set(from + first);
      p.height.set((i + 1 - first) * height);
      p.text.set(items.slice(first, i + 1).includes(undefined) ? words.loading : "");
      nodes.push(p.node);
    }
    for (const p of placeholders.splice(used)) {
      p.close();
      p.node.remove();
    }
    return nodes;
  };
  /** Takes the rows out of use whose items are not wanted any more. If these are most rows, they stay and wait for the items of the range; it returns true then. */
  const release = (wanted: ReadonlySet<string | number>, from: number, to: number, kept: Row<T> | undefined): boolean => {
    const free = [...shown].filter(([k, row]) => !wanted.has(k) && row !== kept);
    const isJump = free.length > shown.size / 2 && ![...waiting.keys()].some((i) => i >= from && i < to);
    const blank = isJump ? [...waiting.values()] : [];
    for (const [i, row] of waiting) {
      if (!isJump && i >= from && i < to) continue;
      waiting.delete(i);
      if (!isJump) detach(row);
    }
    for (const [k, row] of free) {
      shown.delete(k);
      if (row.node.querySelector("[aria-expanded=true]")) {
        row.node.remove();
        row.close(); // its open menu is of its item
      } else if (isJump) blank.push(row);
      else detach(row);
    }
    blank.sort((a, b) => (a.node.compareDocumentPosition(b.node) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
    blank.forEach((row, i) => {
      if (from + i >= to) return detach(row);
      setBlank(row, true);
      waiting.set(from + i, row);
    });
    return isJump && blank.length > 0;
  };
  /** Puts the rows of the range into the document, those that can be seen first, and the row with the focus also if it is outside. It fills rows if fills is true. */
  const place = (items: readonly (T | undefined)[], from: number, kept: Row<T> | undefined, fills: boolean) => {
    const first = from === 0 ? 0 : Math.min(items.length, around);
    let left = fills ? Math.max(1, Math.min(mostFilled, Math.floor(frameTime / cost))) : 0;
    for (let j = 0; j < items.length; j++) {
      const i = (first + j) % items.length;
      const item = items[i];
      const known = item && shown.get(key(item));
      if (known) {
        const other = waiting.get(from + i);
        if (other) detach(other);
        waiting.delete(from + i);
        known.index.set(from + i);
        known.item.set(item);
      } else if (item && left-- > 0) shown.set(key(item), fill(item, from + i));
    }
    isComplete = left >= 0;
    const [to, n] = [from + items.length, list.length()];
    const at = kept?.index.peek() ?? -1;
    const nodes = nodesOf(items, from);
    if (kept && at < from) nodes.unshift(kept.node, between);
    else if (kept && at >= to) nodes.push(between, kept.node);
    else between.remove();
    setSpace(above, kept && at < from ? at : from);
    if (kept) setSpace(between, at < from ? from - at - 1 : at - to);
    setSpace(below, kept && at >= to ? n - at - 1 : n - to);
    let next: Node = below;
    for (const node of nodes.reverse()) {
      if (node.nextSibling !== next) body.insertBefore(node, next);
      next = node;
    }
    if (!isComplete) scheduleMeasure();
  };
  /** Returns the row with the focus if its item is outside of the range, and still in the list. */
  const focusedOutside = (from: number, to: number): Row<T> | undefined => {
    const focused = document.activeElement;
    const row = body.contains(focused) ? [...shown.values()].find((r) => r.node.contains(focused)) : undefined;
    const at = row?.index.peek() ?? -1;
    if (!row || (at >= from && at < to)) return undefined;
    const item = list.at(at);
    return item && key(item) === key(row.item.peek()) ? row : undefined;
  };
  // Not in the frame: a request takes about as long as filling some rows.
  const tell = () => {
    tellRequest = 0;
    const { from, to } = untracked(bounds);
    untracked(() => list.inSight(from, to));
  };
  effect(() => {
    frames();
    const { from, to } = bounds();
    const items = Array.from({ length: to - from }, (_, i) => list.at(from + i));
    untracked(() => {
      const kept = focusedOutside(from, to);
      keepFocus(body, shown);
      const isJump = release(new Set(items.flatMap((x) => (x ? [key(x)] : []))), from, to, kept);
      place(items, from, kept, !isJump); // after a jump, rows are filled from the next frame on: to blank all rows takes long enough
    });
  });
  effect(() => {
    bounds();
    tellRequest ||= setTimeout(tell);
    scheduleMeasure();
  });
}

/** Keeps the focus in the table if its row is moved, which takes the focus away, or is about to show another item: the focus moves to the row in its place, or else to the box that scrolls. */
function keepFocus<T>(body: HTMLElement, shown: ReadonlyMap<string | number, Row<T>>): void {
  const focused = document.activeElement as HTMLElement | null;
  const row = body.contains(focused) ? focused!.closest<HTMLElement>("tr") : null;
  if (!row) return;
  const index = row.getAttribute("aria-rowindex");
  const item = [...shown].find(([, r]) => r.node === row)?.[0];
  queueMicrotask(() => {
    if (row.isConnected && (item === undefined || shown.get(item)?.node === row)) {
      if (document.activeElement !== focused) focused!.focus({ preventScroll: true });
      return;
    }
    const next = body.querySelector<HTMLElement>(`tr[aria-rowindex="${index}"]:not([aria-hidden])`) ?? body.querySelector<HTMLElement>("tr.missing");
    const target = next?.querySelector<HTMLElement>("input:not(:disabled), a, button:not(:disabled)") ?? next ?? body.closest<HTMLElement>("[tabindex]");
    target?.focus({ preventScroll: true });
  });
}
