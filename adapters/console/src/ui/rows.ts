// Virtual rows of a long table: only the visible rows and some around them are in the document. Spacer
// rows above and below take the space of the others.
import { each, effect, h, onEnd, signal, untracked, type Signal } from "./dom";

const around = 20;

/** Fills a table body. All rows must have the height of the first one. */
export function rows<T>(body: HTMLElement, list: () => readonly T[], key: (item: T) => string | number, render: (item: Signal<T>, index: () => number) => HTMLElement, columns: number): void {
  const range = signal({ from: 0, to: 60 });
  let height = 36;
  const spacer = () => h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { colspan: columns }));
  const [above, below] = [spacer(), spacer()];
  const measure = () => {
    const n = list().length;
    const first = above.nextElementSibling as HTMLElement | null;
    if (first && first !== below && first.offsetHeight) height = first.offsetHeight;
    const top = -body.getBoundingClientRect().top;
    const from = Math.max(0, Math.min(n, Math.floor(top / height) - around));
    const to = Math.min(n, Math.ceil((top + innerHeight) / height) + around);
    const r = range.peek();
    if (Math.abs(r.from - from) >= around / 2 || Math.abs(r.to - to) >= around / 2 || (from === 0 && r.from) || (to === n && r.to < n)) range.set({ from, to });
  };
  let frameRequest = 0;
  const scheduleMeasure = () => {
    frameRequest ||= requestAnimationFrame(() => {
      frameRequest = 0;
      untracked(measure);
    });
  };
  addEventListener("scroll", scheduleMeasure, { passive: true });
  addEventListener("resize", scheduleMeasure, { passive: true });
  onEnd(() => {
    removeEventListener("scroll", scheduleMeasure);
    removeEventListener("resize", scheduleMeasure);
    cancelAnimationFrame(frameRequest);
  });
  const positions = new Map<string | number, Signal<number>>();
  const visibleRows = () => {
    const { from, to } = range();
    const part = list().slice(from, Math.max(to, from + 40));
    positions.forEach((_, k) => part.some((x) => key(x) === k) || positions.delete(k));
    part.forEach((x, i) => {
      const p = positions.get(key(x));
      if (p) p.set(from + i);
      else positions.set(key(x), signal(from + i));
    });
    return part;
  };
  body.append(above);
  body.append(each(visibleRows, key, (item) => render(item, positions.get(key(item.peek()))!)) as Node);
  body.append(below);
  effect(() => {
    const { from, to } = range();
    const n = list().length;
    above.hidden = from === 0;
    below.hidden = to >= n;
    (above.firstElementChild as HTMLElement).style.height = `${from * height}px`;
    (below.firstElementChild as HTMLElement).style.height = `${Math.max(0, n - Math.max(to, from + 40)) * height}px`;
    scheduleMeasure();
  });
}
