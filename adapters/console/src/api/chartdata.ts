// The conversion of query responses to charts: lines over buckets, and a table of the numbers.
import type { QueryResponse } from "./query";
import { formatTime } from "../ui/time";
import { percent, words } from "../words";
import { insightWords } from "../words/insights";

export interface Line {
  label: string;
  data: (number | null)[];
  /** Whether the line is of the previous period. */
  previous?: boolean;
  /** What the line shows, the same in both periods. It is the label by default. Lines of the same have the same color. */
  of?: string;
}

export type Cell = string | number | null;

export interface ChartData {
  shape: "lines" | "bars" | "stack" | "number" | "none";
  /** What the buckets are, for example days. */
  head: string;
  labels: string[];
  lines: Line[];
  /** Whether the last bucket has not ended yet. */
  open: boolean;
  percent?: boolean;
  table: Table;
}

export interface Table {
  columns: string[];
  rows: Cell[][];
  total?: Cell[];
}

export interface Query {
  kind: string;
  interval?: string;
  trendsFilter?: { display?: string; [other: string]: unknown };
  retentionFilter?: { period?: string };
  funnelsFilter?: { funnelVizType?: string };
  [other: string]: unknown;
}

interface Trend {
  label: string;
  /** The series. Null for a formula; other queries than trends and stickiness have other rows. */
  action?: { order: number; name: string | null; custom_name: string | null; id: unknown } | null;
  data: number[];
  days?: (string | number)[];
  labels?: string[];
  aggregated_value?: number;
  compare_label?: string;
  breakdown_value?: unknown;
  status?: string;
}

interface Step {
  name: string | null;
  custom_name: string | null;
  count: number;
  breakdown_value?: unknown;
}

interface Cohort {
  date: string;
  values: { count: number }[];
  breakdown_value?: unknown;
}

/** Returns the query inside the node that an insight stores, or null. */
export function unwrapQuery(q: unknown): Query | null {
  const node = q as (Query & { source?: unknown }) | null;
  if (!node || typeof node !== "object") return null;
  return ["InsightVizNode", "DataTableNode", "DataVisualizationNode"].includes(node.kind) ? unwrapQuery(node.source) : node;
}

const totals: Record<string, ChartData["shape"]> = { BoldNumber: "number", ActionsTable: "none", ActionsPie: "bars", ActionsBarValue: "bars", WorldMap: "bars", Progress: "number" };
const bars = new Set(["ActionsBar", "ActionsStackedBar", "ActionsUnstackedBar"]);

const labelText = (label: string) => label.replaceAll("$$_posthog_breakdown_null_$$", insightWords.noValue).replaceAll("$$_posthog_breakdown_other_$$", insightWords.other);
const valueName = (v: unknown) => labelText([v].flat().map((x) => (x === "" || x === null ? insightWords.noValue : String(x))).join(", "));

/** Converts a label such as "16-Nov-2026" to "16 Nov 2026". */
const day = (label: string) => label.replace(/(\d+)-([A-Z][a-z]+)(?:-(\d{4}))?/g, (_, d: string, month: string, year?: string) => [d, month, year].filter(Boolean).join(" "));

const bucketFormats: Record<string, Intl.DateTimeFormatOptions> = {
  minute: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
  hour: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
  day: { day: "numeric", month: "short", year: "numeric" },
  month: { month: "short", year: "numeric" },
};

/** Returns the names of a row's buckets. The starts of buckets are local times of the project; they are formatted without a conversion. */
function bucketNames(r: Trend, interval: string | undefined): string[] {
  const how = bucketFormats[interval ?? ""];
  if (!how || !r.days?.every((d) => typeof d === "string")) return (r.labels ?? []).map(day);
  return r.days.map((d) => formatTime(String(d).replace(" ", "T") + (String(d).length > 10 ? "Z" : "T00:00:00Z"), how, "UTC"));
}

/** Returns readable names of rows: of the series or formula, or the breakdown value, or both if there are several series. */
function rowNames(rows: readonly Trend[]): string[] {
  const base = (r: Trend): string => {
    if (!r.action) return r.action === null ? (/^Formula \((.*)\)$/.exec(r.label)?.[1] ?? r.label) : r.label;
    return r.action.custom_name || (r.action.id === null ? insightWords.everyEvent : r.action.name) || insightWords.everyEvent;
  };
  const bases = new Map(rows.map((r) => [r.action ? r.action.order : base(r), base(r)]));
  // Series of the same event have their letter in front.
  const series = (r: Trend) => (r.action && [...bases.values()].filter((x) => x === base(r)).length > 1 ? insightWords.lettered(String.fromCharCode(65 + r.action.order), base(r)) : base(r));
  const cohort = (r: Trend) => {
    if (r.breakdown_value === "all") return insightWords.allUsers;
    if (!r.action) return `#${String(r.breakdown_value)}`;
    const before = bases.size > 1 ? [String(r.action.id), r.action.name ?? "", "All events"].find((x) => r.label.startsWith(`${x} - `)) : undefined;
    return before === undefined ? r.label : r.label.slice(before.length + 3);
  };
  const value = (r: Trend) => (typeof r.breakdown_value === "number" || r.breakdown_value === "all" ? cohort(r) : valueName(r.breakdown_value));
  return rows.map((r) => (r.breakdown_value === undefined ? series(r) : bases.size > 1 ? insightWords.valueOf(series(r), value(r)) : value(r)));
}

const sum = (list: readonly (number | null)[]) => list.reduce<number>((a, b) => a + (b ?? 0), 0);

/** Builds a table with a row for each bucket and a column for each line. Lines that are not parts of one whole have no total column. */
function buckets(head: string, labels: string[], lines: Line[], parts = true): Table {
  const several = lines.length > 1 && parts && !lines.some((l) => l.previous);
  const toCells = (row: (number | null)[]): Cell[] => (several ? [...row, sum(row)] : row);
  return {
    columns: [head, ...lines.map((l) => l.label), ...(several ? [words.total] : [])],
    rows: labels.map((label, i) => [label, ...toCells(lines.map((l) => l.data[i] ?? null))]),
    total: [words.total, ...toCells(lines.map((l) => sum(l.data)))],
  };
}

const isPrevious = (r: Trend) => r.compare_label === "previous";

function overTime(shape: ChartData["shape"], head: string, rows: Trend[], a: QueryResponse, interval?: string): ChartData {
  const longest = rows.reduce<Trend | undefined>((most, r) => (isPrevious(r) || (r.labels?.length ?? 0) <= (most?.labels?.length ?? 0) ? most : r), undefined) ?? rows[0];
  const labels = longest ? bucketNames(longest, interval) : [];
  const names = rowNames(rows);
  const lines = rows.map((r, i): Line => ({ label: isPrevious(r) ? insightWords.previous(names[i]!) : names[i]!, data: r.data ?? [], previous: isPrevious(r), of: names[i]! }));
  return { shape, head, labels, lines, open: Date.parse(a.resolved_date_range?.date_to ?? "") > Date.now(), table: buckets(head, labels, lines, rows.every((r) => r.action !== null)) };
}

/** Converts rows with one number each. With a comparison, the table has the previous number and the change. */
function totalsOf(shape: ChartData["shape"], rows: Trend[]): ChartData {
  const names = rowNames(rows);
  const labels = [...new Set(names)];
  const numbers = (previous: boolean) => labels.map((name) => rows.find((r, i) => names[i] === name && isPrevious(r) === previous)?.aggregated_value ?? null);
  const now = numbers(false);
  const head = insightWords.series;
  if (!rows.some(isPrevious)) {
    const lines = [{ label: words.value, data: now }];
    return { shape, head, labels, lines, open: false, table: buckets(head, labels, lines) };
  }
  const before = numbers(true);
  const lines = [{ label: words.value, data: now, of: words.value }, { label: insightWords.previousPeriod, data: before, previous: true, of: words.value }];
  const table = { columns: [head, words.value, insightWords.previousPeriod, insightWords.change], rows: labels.map((l, i): Cell[] => [l, now[i]!, before[i]!, change(now[i]!, before[i]!)]) };
  return { shape, head, labels, lines, open: false, table };
}

/** Returns the difference to an earlier number as a share, or a dash if that was 0. */
export function change(now: number | null, before: number | null): string {
  if (!before || now === null) return words.dash;
  const share = Math.round((1000 * (now - before)) / Math.abs(before)) / 10;
  return (share > 0 ? "+" : share < 0 ? "−" : "") + percent(Math.abs(share));
}

function trends(q: Query, a: QueryResponse): ChartData {
  const rows = a.results as Trend[];
  const display = q.trendsFilter?.display ?? "";
  const shape = totals[display];
  return shape ? totalsOf(shape, rows) : overTime(bars.has(display) ? "bars" : "lines", insightWords.intervals[q.interval ?? "day"] ?? insightWords.time, rows, a, q.interval ?? "day");
}

function funnel(q: Query, a: QueryResponse): ChartData {
  const viz = q.funnelsFilter?.funnelVizType;
  if (viz === "trends") return { ...overTime("lines", insightWords.time, (a.results as Trend[]).map(({ breakdown_value: v, ...r }) => ({ ...r, label: v === undefined ? insightWords.converted : valueName(v) })), a, q.interval ?? "day"), percent: true };
  if (viz === "time_to_convert") {
    const bins = (a.results as { bins: [number, number][] }).bins;
    const labels = bins.map(([from]) => insightWords.seconds(from));
    const lines = [{ label: words.people, data: bins.map(([, n]) => n) }];
    return { shape: "bars", head: insightWords.after, labels, lines, open: false, table: buckets(insightWords.after, labels, lines) };
  }
  const list = a.results as Step[] | Step[][];
  const groups = (Array.isArray(list[0]) ? list : [list]) as Step[][];
  const split = Array.isArray(list[0]);
  const name = (s: Step) => s.custom_name || s.name || insightWords.everyEvent;
  const labels = (groups[0] ?? []).map((s, i) => `${i + 1}. ${name(s)}`);
  const lines = groups.map((g) => ({ label: split ? valueName(g[0]?.breakdown_value) : words.people, data: g.map((s) => s.count) }));
  const part = (n: number, total: number) => (total ? percent(Math.round((1000 * n) / total) / 10) : words.dash);
  const rows = groups.flatMap((g, j) => g.map((s, i): Cell[] => [...(split ? [lines[j]!.label] : []), labels[i]!, s.count, part(s.count, g[0]!.count), i ? part(s.count, g[i - 1]!.count) : words.dash]));
  return { shape: "bars", head: insightWords.step, labels, lines, open: false, table: { columns: [...(split ? [words.value] : []), insightWords.step, words.people, insightWords.ofFirst, insightWords.ofBefore], rows } };
}

function retention(q: Query, a: QueryResponse): ChartData {
  const rows = a.results as Cohort[];
  const period = q.retentionFilter?.period ?? "Day";
  const n = Math.max(0, ...rows.map((r) => r.values.length));
  const labels = Array.from({ length: n }, (_, k) => `${insightWords.intervals[period.toLowerCase()] ?? period} ${k}`);
  // Rows of one breakdown follow each other; the later a row, the fewer intervals have passed.
  const values = [...new Set(rows.map((r) => JSON.stringify(r.breakdown_value ?? null)))];
  const isOver = (i: number, all: number) => (k: number) => i + k < all;
  const lines = values.map((v): Line => {
    const own = rows.filter((r) => JSON.stringify(r.breakdown_value ?? null) === v);
    const share = (k: number) => {
      const seen = own.filter((_, i) => isOver(i, own.length)(k));
      const of = sum(seen.map((r) => r.values[0]?.count ?? 0));
      return of ? Math.round((1000 * sum(seen.map((r) => r.values[k]?.count ?? 0))) / of) / 10 : null;
    };
    return { label: v === "null" ? insightWords.cameBack : valueName(JSON.parse(v)), data: labels.map((_, k) => share(k)) };
  });
  const perValue = rows.length / Math.max(1, values.length);
  const cell = (r: Cohort, k: number) => {
    const first = r.values[0]?.count ?? 0;
    return k && first ? percent(Math.round((1000 * (r.values[k]?.count ?? 0)) / first) / 10) : (r.values[k]?.count ?? null);
  };
  const table = { columns: [insightWords.firstOn, ...labels], rows: rows.map((r, i): Cell[] => [[r.date.slice(0, 10), ...(r.breakdown_value === undefined ? [] : [valueName(r.breakdown_value)])].join(" "), ...labels.map((_, k) => (isOver(i % perValue, perValue)(k) ? cell(r, k) : null))]) };
  return { shape: "lines", head: insightWords.intervals[period.toLowerCase()] ?? period, labels, lines, open: false, percent: true, table };
}

function lists(a: QueryResponse): ChartData {
  const rows = (a.results as unknown[][]).map((r) => r.map((c): Cell => (c === null || typeof c === "number" ? c : typeof c === "string" ? c : JSON.stringify(c))));
  return { shape: "none", head: "", labels: [], lines: [], open: false, table: { columns: a.columns ?? [], rows } };
}

export function chartDataOf(q: Query, a: QueryResponse): ChartData {
  switch (q.kind) {
    case "TrendsQuery":
      return trends(q, a);
    case "FunnelsQuery":
      return funnel(q, a);
    case "RetentionQuery":
      return retention(q, a);
    case "LifecycleQuery":
      return overTime("stack", insightWords.intervals[q.interval ?? "day"] ?? insightWords.time, (a.results as Trend[]).map(({ action: _, ...r }) => ({ ...r, label: insightWords.statuses[r.status ?? ""] ?? r.label })), a, q.interval ?? "day");
    case "StickinessQuery":
      return { ...overTime("bars", insightWords.activeFor, a.results as Trend[], a), open: false };
    default:
      return lists(a);
  }
}

/** Returns a table as CSV. Cells that spreadsheets could read as formulas are quoted. */
export function toCSV(t: Table): string {
  const cell = (c: Cell) => {
    if (c === null) return "";
    if (typeof c === "number") return String(c);
    const text = /^[=+\-@\t\r]/.test(c) ? "'" + c : c;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [t.columns, ...t.rows, ...(t.total ? [t.total] : [])].map((r) => r.map(cell).join(",") + "\r\n").join("");
}

export const rowsOf = (t: Table) => words.nRows(t.rows.length);
