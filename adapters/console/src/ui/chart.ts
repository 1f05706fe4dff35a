// Charts as SVG with a cursor, and the table of their numbers.
import { effect, h, onEnd, s, signal, type Child, type Signal } from "./dom";
import { scroller } from "./table";
import { change, toCSV, type Cell, type Line, type ChartData, type Table } from "../api/chartdata";
import { language } from "../language";
import { number, percent, words } from "../words";
import { insightWords } from "../words/insights";

const maxLines = 6;
const axis = { left: 48, bottom: 24, top: 8, right: 12, labels: 112 };
const brief = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });

/** A line with the number of its color and pattern. Lines of the same in both periods share it. */
interface DrawnLine extends Line {
  hue: number;
}

const subject = (l: Line) => l.of ?? l.label;

/** Returns the largest lines, with the rest combined into one for each period. */
function topLines(lines: readonly Line[]): DrawnLine[] {
  const subjects = [...new Set(lines.map(subject))];
  if (subjects.length <= maxLines) return lines.map((l) => ({ ...l, hue: subjects.indexOf(subject(l)) }));
  const size = (name: string) => lines.filter((l) => subject(l) === name).reduce((all, l) => l.data.reduce<number>((a, b) => a + Math.abs(b ?? 0), all), 0);
  const largest = new Set([...subjects].sort((a, b) => size(b) - size(a)).slice(0, maxLines));
  const kept = subjects.filter((name) => largest.has(name));
  const combined = (previous: boolean): DrawnLine[] => {
    const rest = lines.filter((l) => !largest.has(subject(l)) && Boolean(l.previous) === previous);
    const length = Math.max(0, ...rest.map((l) => l.data.length));
    const label = previous ? insightWords.previous(insightWords.other) : insightWords.other;
    return rest.length ? [{ label, previous, hue: maxLines, data: Array.from({ length }, (_, i) => rest.reduce((a, l) => a + (l.data[i] ?? 0), 0)) }] : [];
  };
  return [...lines.filter((l) => largest.has(subject(l))).map((l) => ({ ...l, hue: kept.indexOf(subject(l)) })), ...combined(false), ...combined(true)];
}

interface Scale {
  width: number;
  height: number;
  low: number;
  high: number;
  x(i: number): number;
  y(v: number): number;
  band: number;
  ticks: number[];
}

/** Returns the ticks of an axis. Their distance is 1, 2 or 5 times a power of ten. */
function axisTicks(low: number, high: number, whole: boolean): number[] {
  const span = Math.max(high - low, 1e-9);
  const ten = 10 ** Math.floor(Math.log10(span / 4));
  const fine = [1, 2, 5, 10].map((m) => m * ten).find((x) => span / x <= 5)!;
  const step = whole ? Math.max(1, fine) : fine;
  const out: number[] = [];
  for (let v = Math.floor(low / step) * step; v < high + step * 0.999; v += step) out.push(Math.abs(v) < step / 1e6 ? 0 : Number(v.toPrecision(12)));
  return out;
}

function scaleOf(p: ChartData, lines: readonly Line[], width: number, height: number): Scale {
  const sums = (sign: 1 | -1) => p.labels.map((_, i) => lines.reduce((a, l) => a + (Math.sign(l.data[i] ?? 0) === sign ? l.data[i]! : 0), 0));
  const all = p.shape === "stack" ? [...sums(1), ...sums(-1)] : lines.flatMap((l) => l.data.filter((v): v is number => v !== null));
  const ticks = axisTicks(Math.min(0, ...all), Math.max(0, ...all) || 1, all.every(Number.isInteger));
  const [low, high] = [ticks[0]!, ticks.at(-1)!];
  const right = p.shape === "lines" && width >= 480 ? axis.labels : axis.right;
  const [inner, tall] = [width - axis.left - right, height - axis.top - axis.bottom];
  const n = Math.max(1, p.labels.length);
  const band = p.shape === "lines" ? inner / Math.max(1, n - 1) : inner / n;
  return { width, height, low, high, ticks, band, x: (i) => axis.left + (p.shape === "lines" ? (n === 1 ? inner / 2 : i * band) : (i + 0.5) * band), y: (v) => axis.top + tall * (1 - (v - low) / (high - low)) };
}

const color = (l: DrawnLine) => (l.hue === maxLines ? "rest" : `c${l.hue + 1}`);
const dash = (l: DrawnLine) => (l.previous ? "previous" : `dash${l.hue % maxLines}`);

function grid(p: ChartData, k: Scale): Child {
  const each = Math.max(1, Math.ceil(p.labels.length / Math.max(2, Math.floor((k.width - axis.left) / 84))));
  const room = Math.floor((k.band * each) / 6.2); // characters between two labels
  const short = (label: string) => {
    const text = label.length > Math.min(room, 12) ? label.replace(/ \d{4}(?= |$)/, "") : label;
    return text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text;
  };
  return [
    k.ticks.map((v) => [s("line", { class: v === 0 ? "base" : "grid", x1: axis.left, x2: k.width - axis.right, y1: k.y(v), y2: k.y(v) }), s("text", { class: "tick-text end", x: axis.left - 6, y: k.y(v) + 4 }, p.percent ? percent(v) : brief.format(v))]),
    p.labels.map((label, i) => (i % each ? null : s("text", { class: "tick-text middle", x: k.x(i), y: k.height - 6 }, short(label)))),
  ];
}

/** Draws a line with its gaps. The line to a bucket that has not ended is dashed. */
function linePath(l: DrawnLine, p: ChartData, k: Scale): Child {
  const points = l.data.map((v, at) => (v === null ? null : `${k.x(at).toFixed(1)} ${k.y(v).toFixed(1)}`));
  const cut = p.open && !l.previous && points.length > 1 ? points.length - 1 : points.length;
  let d = "";
  points.slice(0, cut).forEach((at, j) => at && (d += (j && points[j - 1] ? "L" : "M") + at));
  const last = points.slice(cut - 1);
  const cls = `line ${color(l)} ${dash(l)}`;
  return [
    s("path", { class: cls, d }),
    cut < points.length && last[0] && last[1] ? s("path", { class: `line ${color(l)} open`, d: `M${last[0]}L${last[1]}` }) : null,
    points.map((at, j) => (at && !points[j - 1] && !points[j + 1] ? s("circle", { class: `dot ${color(l)}`, r: 3, cx: k.x(j), cy: k.y(l.data[j]!) }) : null)),
  ];
}

/** Draws the labels at the ends of lines, without overlaps. */
function endLabels(lines: readonly DrawnLine[], k: Scale): Child {
  if (k.width < 480) return null;
  const at = lines
    .map((l) => ({ l, last: l.data.findLastIndex((v) => v !== null) }))
    .filter((e) => e.last >= 0)
    .map((e) => ({ ...e, y: k.y(e.l.data[e.last]!) + 4 }))
    .sort((a, b) => a.y - b.y);
  at.forEach((e, j) => j && (e.y = Math.max(e.y, at[j - 1]!.y + 14)));
  const over = Math.max(0, (at.at(-1)?.y ?? 0) - (k.height - axis.bottom));
  const text = (label: string) => (label.length > 15 ? label.slice(0, 14) + "…" : label);
  return at.map((e) => s("text", { class: `end-text ${color(e.l)}`, x: k.width - axis.labels + 8, y: e.y - over }, text(e.l.label)));
}

function blocks(lines: readonly DrawnLine[], p: ChartData, k: Scale): Child {
  const stack = p.shape === "stack";
  const wide = Math.max(1, Math.min(48, (k.band * 0.8) / (stack ? 1 : lines.length)));
  return p.labels.map((_, i) => {
    const base = { up: 0, down: 0 };
    return lines.map((l, j) => {
      const v = l.data[i] ?? 0;
      const from = stack ? (v < 0 ? base.down : base.up) : 0;
      if (v < 0) base.down += v;
      else base.up += v;
      const [top, bottom] = [k.y(Math.max(from, from + v)), k.y(Math.min(from, from + v))];
      const x = k.x(i) + (stack ? -wide / 2 : (j - lines.length / 2) * wide);
      return s("rect", { class: `bar ${color(l)} ${l.previous ? "previous" : ""} ${p.open && !l.previous && i === p.labels.length - 1 ? "open" : ""}`, x: x + 0.5, y: top, width: Math.max(1, wide - 1), height: Math.max(0, bottom - top) });
    });
  });
}

const text = (p: ChartData, v: number | null | undefined) => (v === null || v === undefined ? "–" : p.percent ? percent(v) : number(v));

function valuesAt(p: ChartData, lines: readonly Line[], i: number): string {
  return `${p.labels[i]}: ${lines.map((l) => `${l.label} ${text(p, l.data[i])}`).join(" · ")}`;
}

/** Returns how a number differs from that of the previous period, or null without a comparison. */
function comparison(p: ChartData, i: number): Child {
  const [now, before] = p.lines;
  if (!before) return null;
  const share = change(now!.data[i] ?? null, before.data[i] ?? null);
  const earlier = text(p, before.data[i]);
  return h("span", { class: "meta" }, share === words.dash ? insightWords.changeFrom(earlier) : insightWords.changeOn(share, earlier));
}

/** Draws a chart. Arrow keys move its cursor, and the values there are announced. */
export function chart(name: string, p: ChartData, height = 240): Child {
  if (p.shape === "none") return null;
  if (p.shape === "number") {
    return h("div", { role: "img", "aria-label": insightWords.chartOf(name), class: "big-numbers" }, p.labels.map((label, i) => h("div", null, h("strong", null, text(p, p.lines[0]?.data[i])), h("span", { class: "meta" }, h("bdi", null, label)), comparison(p, i))));
  }
  const lines = topLines(p.lines);
  const width = signal(640);
  const at = signal<number | null>(null);
  const said = signal("");
  const el = s("svg", { role: "img", "aria-label": insightWords.chartOf(name), tabindex: 0, class: "chart", height, width: "100%" });
  const observer = new ResizeObserver(([e]) => e && e.contentRect.width > 0 && width.set(Math.round(e.contentRect.width)));
  observer.observe(el);
  onEnd(() => observer.disconnect());
  let scale = scaleOf(p, lines, 640, height);
  const cursor = s("line", { class: "cursor", y1: axis.top, y2: height - axis.bottom });
  effect(() => {
    scale = scaleOf(p, lines, width(), height);
    el.setAttribute("viewBox", `0 0 ${width()} ${height}`);
    const parts = p.shape === "lines" ? [lines.map((l) => linePath(l, p, scale)), endLabels(lines, scale)] : blocks(lines, p, scale);
    const g = s("g", null, grid(p, scale), parts as Child[], cursor);
    el.replaceChildren(g);
  });
  effect(() => {
    const i = at();
    width();
    cursor.toggleAttribute("hidden", i === null);
    cursor.setAttribute("class", i === null ? "cursor off" : "cursor");
    if (i !== null) ["x1", "x2"].forEach((a) => cursor.setAttribute(a, String(scale.x(i))));
  });
  move(el, p, at, () => scale, (i) => said.set(valuesAt(p, lines, i)));
  const legend = () => (lines.length > 1 && (p.shape !== "lines" || width() < 480) ? h("ul", { class: "legend", "aria-hidden": "true" }, lines.map((l) => h("li", null, s("svg", { viewBox: "0 0 16 8", class: "key" }, s("line", { class: `line ${color(l)} ${p.shape === "lines" ? dash(l) : "block"}`, x1: 0, x2: 16, y1: 4, y2: 4 })), h("bdi", null, l.label)))) : null);
  return h("div", { class: "figure" }, el, h("p", { class: "meta readout", "aria-hidden": "true" }, () => (at() === null ? "" : valuesAt(p, lines, at()!))), legend, h("p", { role: "status", class: "hidden" }, said));
}

function move(el: SVGElement, p: ChartData, at: Signal<number | null>, scale: () => Scale, say: (i: number) => void): void {
  const n = p.labels.length;
  el.addEventListener("pointermove", (e) => {
    const x = (e as PointerEvent).clientX - el.getBoundingClientRect().left;
    let best = 0;
    for (let i = 1; i < n; i++) if (Math.abs(scale().x(i) - x) < Math.abs(scale().x(best) - x)) best = i;
    if (n) at.set(best);
  });
  el.addEventListener("pointerleave", () => at.set(null));
  el.addEventListener("blur", () => at.set(null));
  el.addEventListener("keydown", (e) => {
    const key = (e as KeyboardEvent).key;
    const now = at.peek();
    const to: Record<string, number> = { ArrowRight: now === null ? 0 : Math.min(n - 1, now + 1), ArrowLeft: now === null ? n - 1 : Math.max(0, now - 1), Home: 0, End: n - 1 };
    if (key === "Escape" && now !== null) at.set(null);
    else if (key in to && n) {
      at.set(to[key]!);
      say(to[key]!);
    } else return;
    e.preventDefault();
  });
}

/** Returns the table of a chart's numbers. */
export function valuesTable(name: string, t: Table): HTMLElement {
  const show = (c: Cell) => (c === null ? "" : typeof c === "number" ? number(Math.round(c * 100) / 100) : c);
  const right = t.columns.map((_, i) => i > 0 && t.rows.some((r) => typeof r[i] === "number" || /^[+−-]?\d[\d.,\s]*%?$/.test(String(r[i]))));
  const side = (i: number) => (right[i] ? "number" : null);
  const cell = (c: Cell, i: number) => h(i ? "td" : "th", { scope: i ? null : "row", class: side(i) }, h("bdi", null, show(c)));
  return scroller(
    name,
    h(
      "table",
      { "aria-label": name, class: "numbers" },
      h("thead", null, h("tr", null, t.columns.map((c, i) => h("th", { scope: "col", class: side(i) }, h("bdi", null, c))))),
      h("tbody", null, t.rows.map((r) => h("tr", null, r.map(cell)))),
      t.total ? h("tfoot", null, h("tr", null, t.total.map(cell))) : null,
    ),
  );
}

/** Downloads a table as a CSV file. */
export function download(name: string, t: Table): void {
  const address = URL.createObjectURL(new Blob([toCSV(t)], { type: "text/csv;charset=utf-8" }));
  h("a", { href: address, download: `${name || insightWords.insight}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
