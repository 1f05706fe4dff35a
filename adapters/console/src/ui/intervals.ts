// A chart of intervals over one axis, with a line at no difference.
import { effect, h, onEnd, s, signal, type Child } from "./dom";

export interface Interval {
  label: string;
  from: number;
  to: number;
  at: number;
}

const row = 32;
const foot = 28;
const left = 112;

/** Draws intervals. The table below has their numbers. If less is true, smaller values are better. */
export function intervals(name: string, list: readonly Interval[], text: (v: number) => string, less: boolean): HTMLElement {
  const width = signal(640);
  const height = list.length * row + foot;
  const el = s("svg", { role: "img", "aria-label": name, class: "chart", height, width: "100%" });
  const observer = new ResizeObserver(([e]) => e && e.contentRect.width > 0 && width.set(Math.round(e.contentRect.width)));
  observer.observe(el);
  onEnd(() => observer.disconnect());
  const low = Math.min(0, ...list.map((i) => i.from));
  const high = Math.max(0, ...list.map((i) => i.to));
  const edge = (high - low || 1) * 0.06;
  effect(() => {
    const inner = width() - left - 16;
    const x = (v: number) => left + ((v - low + edge) / (high - low + 2 * edge)) * inner;
    const label = (t: string) => (t.length > 14 ? t.slice(0, 13) + "…" : t);
    const lines = list.map((i, n): Child => {
      const y = n * row + row / 2;
      const side = i.from > 0 ? (less ? "worse" : "better") : i.to < 0 ? (less ? "better" : "worse") : "undecided";
      return [
        s("text", { class: "end", x: left - 12, y: y + 4 }, label(i.label)),
        s("line", { class: `interval ${side}`, x1: x(i.from), x2: x(i.to), y1: y, y2: y }),
        [i.from, i.to].map((v) => s("line", { class: `interval cap ${side}`, x1: x(v), x2: x(v), y1: y - 5, y2: y + 5 })),
        s("circle", { class: `interval-at ${side}`, cx: x(i.at), cy: y, r: 4 }),
      ];
    });
    const ticks = [...new Set([low, 0, high])].filter((v) => v === 0 || Math.abs(x(v) - x(0)) > 64);
    el.setAttribute("viewBox", `0 0 ${width()} ${height}`);
    el.replaceChildren(
      s("g", null, s("line", { class: "base", x1: x(0), x2: x(0), y1: 0, y2: height - foot + 4 }), ticks.map((v) => s("text", { class: "middle", x: x(v), y: height - 8 }, v === 0 ? "0" : text(v))), lines as Child[]),
    );
  });
  return h("div", { class: "figure gap" }, el);
}
