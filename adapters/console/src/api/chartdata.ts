// The conversion of query responses to charts: lines over buckets, and a table of the numbers.
import type { QueryResponse } from "./query";
import { count, percent, words } from "../words";
import { insightWords } from "../words/insights";

export interface Line {
  label: string;
  data: (number | null)[];
  /** Whether the line is of the previous period. */
  previous?: boolean;
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
  trendsFilter?: { display?: string };
  retentionFilter?: { period?: string };
  funnelsFilter?: { funnelVizType?: string };
  [other: string]: unknown;
}

interface Trend {
  label: string;
  data: number[];
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

/** Converts a label such as "16-Nov-2026 09:00" to "16 Nov 2026 09:00". */
const day = (label: string) => label.replace(/^(\d+)-(\w+)-(\d+)/, "$1 $2 $3");

const sum = (list: readonly (number | null)[]) => list.reduce<number>((a, b) => a + (b ?? 0), 0);

/** Builds a table with a row for each bucket and a column for each line. */
function buckets(head: string, labels: string[], lines: Line[]): Table {
  const several = lines.length > 1;
  const toCells = (row: (number | null)[]): Cell[] => (several ? [...row, sum(row)] : row);
  return {
    columns: [head, ...lines.map((l) => l.label), ...(several ? [words.total] : [])],
    rows: labels.map((label, i) => [label, ...toCells(lines.map((l) => l.data[i] ?? null))]),
    total: [words.total, ...toCells(lines.map((l) => sum(l.data)))],
  };
}

function overTime(shape: ChartData["shape"], head: string, rows: Trend[], a: QueryResponse): ChartData {
  const longest = rows.reduce<string[]>((most, r) => ((r.labels?.length ?? 0) > most.length ? r.labels! : most), []);
  const labels = longest.map(day);
  const lines = rows.map((r): Line => ({ label: labelText(r.compare_label === "previous" ? insightWords.previous(r.label) : r.label), data: r.data ?? [], previous: r.compare_label === "previous" }));
  return { shape, head, labels, lines, open: Date.parse(a.resolved_date_range?.date_to ?? "") > Date.now(), table: buckets(head, labels, lines) };
}

function trends(q: Query, a: QueryResponse): ChartData {
  const rows = a.results as Trend[];
  const display = q.trendsFilter?.display ?? "";
  const shape = totals[display];
  if (!shape) return overTime(bars.has(display) ? "bars" : "lines", insightWords.intervals[q.interval ?? "day"] ?? insightWords.time, rows, a);
  const labels = rows.map((r) => labelText(r.label));
  const lines = [{ label: words.value, data: rows.map((r) => r.aggregated_value ?? null) }];
  return { shape, head: insightWords.series, labels, lines, open: false, table: buckets(insightWords.series, labels, lines) };
}

function funnel(q: Query, a: QueryResponse): ChartData {
  const viz = q.funnelsFilter?.funnelVizType;
  if (viz === "trends") return { ...overTime("lines", insightWords.time, (a.results as Trend[]).map((r) => ({ ...r, label: r.breakdown_value === undefined ? insightWords.converted : valueName(r.breakdown_value) })), a), percent: true };
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
      return overTime("stack", insightWords.intervals[q.interval ?? "day"] ?? insightWords.time, (a.results as Trend[]).map((r) => ({ ...r, label: insightWords.statuses[r.status ?? ""] ?? r.label })), a);
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

export const rowsOf = (t: Table) => count(t.rows.length, "row");
