// Insights as the API represents them, and the drafts of their form.
import { canonicalJSON } from "./draft";
import { unwrapQuery, type Query } from "./chartdata";
import type { User } from "./flags";
import { insightWords } from "../words/insights";

export interface Insight {
  id: number;
  short_id: string;
  name: string | null;
  derived_name: string | null;
  description: string | null;
  query: unknown;
  dashboards: number[];
  deleted: boolean;
  last_modified_at: string;
  last_modified_by: User | null;
  user_access_level?: string;
}

export const titleOf = (i: Pick<Insight, "name" | "derived_name"> & { short_id?: string }) => i.name || i.derived_name || i.short_id || insightWords.insight;

interface Node {
  kind: string;
  event?: string | null;
  id?: number;
  math?: string;
  [other: string]: unknown;
}

export interface Series {
  id: number;
  /** The name of an event, "#3" for an action, empty for every event. */
  event: string;
  math: string;
  was: Node | null;
}

export interface InsightDraft {
  name: string;
  kind: string;
  series: Series[];
  breakdown: string;
  period: string;
  interval: string;
  chart: string;
}

let ids = Date.now(); // restored drafts have lower ids
export const newSeries = (event = ""): Series => ({ id: ++ids, event, math: "total", was: null });

export const emptyInsight = (): InsightDraft => ({ name: "", kind: "TrendsQuery", series: [newSeries()], breakdown: "", period: "-7d", interval: "day", chart: "ActionsLineGraph" });

const eventOf = (n: Node) => (n.kind === "ActionsNode" ? `#${n.id}` : (n.event ?? ""));
const seriesOf = (n: Node): Series => ({ id: ++ids, event: eventOf(n), math: n.math ?? "total", was: n });

interface Entity {
  id: string | number | null;
  type?: string;
}

const entityNode = (e: Entity | undefined): Node => (e?.type === "actions" ? { kind: "ActionsNode", id: Number(e.id), was: e } : { kind: "EventsNode", event: e ? String(e.id ?? "") : "$pageview", was: e });

interface Breakdown {
  breakdown?: unknown;
  breakdown_type?: string;
}

/** Returns a breakdown as text, such as "plan (person)", or undefined if the form does not support it. */
function breakdownText(b: Breakdown | undefined): string | undefined {
  if (!b || b.breakdown === undefined || b.breakdown === null) return "";
  if (typeof b.breakdown !== "string") return undefined;
  if (b.breakdown_type === "person") return b.breakdown + insightWords.ofPerson;
  return !b.breakdown_type || b.breakdown_type === "event" ? b.breakdown : undefined;
}

/** Reports whether the form supports the kind of a query. */
export const isFormQuery = (q: Query | null): q is Query => q !== null && q.kind in insightWords.kinds;

export function insightDraft(i: Pick<Insight, "name" | "query">): InsightDraft {
  const q = unwrapQuery(i.query) as (Query & { series?: Node[]; dateRange?: { date_from?: string | null }; breakdownFilter?: Breakdown }) | null;
  const out = { ...emptyInsight(), name: i.name ?? "" };
  if (!q || !isFormQuery(q)) return out;
  const r = q.retentionFilter as { targetEntity?: Entity; returningEntity?: Entity; period?: string } | undefined;
  const nodes = q.kind === "RetentionQuery" ? [entityNode(r?.targetEntity), entityNode(r?.returningEntity)] : (q.series ?? []);
  return {
    ...out,
    kind: q.kind,
    series: nodes.map(seriesOf),
    breakdown: breakdownText(q.breakdownFilter) ?? "?",
    period: q.dateRange?.date_from ?? "-7d",
    interval: (q.kind === "RetentionQuery" ? r?.period?.toLowerCase() : q.interval) ?? "day",
    chart: q.trendsFilter?.display ?? "ActionsLineGraph",
  };
}

function nodeOf(s: Series): Node {
  const same = s.was && eventOf(s.was) === s.event.trim();
  const { math: _, ...rest } = (same ? s.was! : { kind: "EventsNode", event: s.event.trim() || null }) as Node;
  return s.math === "total" ? (rest as Node) : ({ ...rest, math: s.math } as Node);
}

function entityOf(s: Series): unknown {
  const was = s.was?.was;
  if (s.was && eventOf(s.was) === s.event.trim() && was) return was;
  return { id: s.event.trim() || null, type: "events" };
}

function breakdownOf(text: string, was: Breakdown | undefined): Breakdown | undefined {
  if (text.trim() === (breakdownText(was) ?? "?")) return was;
  if (!text.trim()) return undefined;
  const person = text.endsWith(insightWords.ofPerson);
  return { breakdown: (person ? text.slice(0, -insightWords.ofPerson.length) : text).trim(), breakdown_type: person ? "person" : "event" };
}

/** The members that the queries of a kind support. */
export const supports = {
  several: (kind: string) => kind !== "LifecycleQuery",
  math: (kind: string) => kind === "TrendsQuery",
  breakdown: (kind: string) => ["TrendsQuery", "FunnelsQuery", "RetentionQuery"].includes(kind),
  interval: (kind: string) => kind !== "FunnelsQuery",
  chart: (kind: string) => kind === "TrendsQuery",
};

/** Converts a draft to a query. Members of base that the form does not edit are kept. */
export function queryOf(d: InsightDraft, base: Query | null): Query {
  const was = base && base.kind === d.kind ? base : null;
  const before = was?.dateRange as { date_from?: string | null } | undefined;
  const q: Query = { ...(was ?? (base ? { properties: base.properties, filterTestAccounts: base.filterTestAccounts } : {})), kind: d.kind };
  q.dateRange = before?.date_from === d.period ? before : { date_from: d.period };
  if (supports.breakdown(d.kind)) q.breakdownFilter = breakdownOf(d.breakdown, was?.breakdownFilter as Breakdown | undefined);
  if (d.kind === "RetentionQuery") {
    const [first, again] = [d.series[0], d.series[1] ?? d.series[0]];
    q.retentionFilter = { ...was?.retentionFilter, period: d.interval[0]!.toUpperCase() + d.interval.slice(1), targetEntity: entityOf(first!), returningEntity: entityOf(again!) } as NonNullable<Query["retentionFilter"]>;
  } else {
    q.series = (supports.several(d.kind) ? d.series : d.series.slice(0, 1)).map((s) => nodeOf(supports.math(d.kind) ? s : { ...s, math: (s.was?.math as string) ?? "total" }));
    if (supports.interval(d.kind)) q.interval = d.interval;
  }
  if (supports.chart(d.kind)) q.trendsFilter = { ...was?.trendsFilter, display: d.chart };
  return JSON.parse(JSON.stringify(q)) as Query; // drops undefined members
}

/** Returns the query as it is stored, inside the node that clients wrap it in. */
export function storedQuery(q: Query, before: unknown): unknown {
  const outer = before as { kind?: string; source?: unknown } | null;
  return outer?.source ? { ...outer, source: q } : { kind: "InsightVizNode", source: q };
}

export const sameQuery = (a: unknown, b: unknown) => canonicalJSON(a) === canonicalJSON(b);
