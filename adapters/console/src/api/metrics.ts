// Metrics of experiments and guarded rollouts as the API represents them, and the drafts of their forms.

export interface Node {
  kind: string;
  event?: string | null;
  id?: number;
  math?: string;
  math_property?: string;
  [other: string]: unknown;
}

export interface Metric {
  kind: string;
  uuid?: string;
  name?: string;
  metric_type: string;
  goal?: string;
  series?: Node[];
  source?: Node;
  numerator?: Node;
  denominator?: Node;
  start_event?: Node;
  completion_event?: Node;
  conversion_window?: number | null;
  conversion_window_unit?: string;
  [other: string]: unknown;
}

export type MetricKind = "share" | "count" | "value" | "ratio" | "retention" | "other";

/** An event with how it is counted. */
export interface SourceDraft {
  id: number;
  /** The name of an event, "#3" for an action, empty for every event. */
  event: string;
  math: string;
  property: string;
  was: Node | null;
}

export interface MetricDraft {
  id: number;
  uuid: string;
  name: string;
  kind: MetricKind;
  /** The steps of a share; the source; numerator and denominator; or the first and the later event of a retention. */
  sources: SourceDraft[];
  goal: string;
  /** The conversion window, empty for none. */
  window: string;
  unit: string;
  order: string;
  /** Whether retention starts with the exposure instead of an event. */
  fromExposure: boolean;
  from: string;
  to: string;
  returnUnit: string;
  startHandling: string;
  /** The JSON of a metric that the form does not support. */
  json: string;
  was: Metric | null;
}

/** The maths that need a property. */
export const ofProperty = ["sum", "avg", "min", "max"];
const maths = ["total", "unique_session", ...ofProperty];

let ids = Date.now(); // restored drafts have lower ids
export const newSource = (event = "", math = "total"): SourceDraft => ({ id: ++ids, event, math, property: "", was: null });

const newUUID = () => (crypto.randomUUID ? crypto.randomUUID() : `00000000-0000-4000-8000-${String(Date.now() % 1e12).padStart(12, "0")}`);

export const newMetric = (): MetricDraft => ({
  id: ++ids, uuid: newUUID(), name: "", kind: "share", sources: [newSource()], goal: "increase", window: "", unit: "day", order: "ordered",
  fromExposure: true, from: "1", to: "7", returnUnit: "day", startHandling: "first_seen", json: "", was: null,
});

const eventOf = (n: Node) => (n.kind === "ActionsNode" ? `#${n.id}` : (n.event ?? ""));
const sourceOf = (n: Node): SourceDraft => ({ id: ++ids, event: eventOf(n), math: n.math ?? "total", property: n.math_property ?? "", was: n });

/** Returns the name of a metric, or the event that it counts. */
export const titleOfMetric = (m: Metric) => m.name || (m.series?.at(-1) ?? m.source ?? m.numerator ?? m.completion_event)?.event || "";

/** Reports whether the form supports all maths of a metric. */
const isKnown = (nodes: (Node | undefined)[]) => nodes.every((n) => n && ["EventsNode", "ActionsNode"].includes(n.kind) && maths.includes(n.math ?? "total"));

/** Converts a metric to a draft. A metric that the form does not support becomes one of kind other. */
export function metricDraft(m: Metric): MetricDraft {
  const out = { ...newMetric(), uuid: m.uuid ?? newUUID(), name: m.name ?? "", goal: m.goal ?? "increase", window: m.conversion_window ? String(m.conversion_window) : "", unit: m.conversion_window_unit ?? "day", was: m };
  const set = (kind: MetricKind, nodes: Node[], more: Partial<MetricDraft> = {}): MetricDraft => ({ ...out, kind, sources: nodes.map(sourceOf), ...more });
  if (m.metric_type === "funnel" && m.series?.length && isKnown(m.series)) return set("share", m.series, { order: String(m.funnel_order_type ?? "ordered") });
  if (m.metric_type === "mean" && isKnown([m.source])) return set(ofProperty.includes(m.source!.math ?? "") ? "value" : "count", [m.source!]);
  if (m.metric_type === "ratio" && isKnown([m.numerator, m.denominator])) return set("ratio", [m.numerator!, m.denominator!]);
  const fromExposure = m.start_event?.kind === "ExperimentExposureNode";
  if (m.metric_type === "retention" && isKnown([...(fromExposure ? [] : [m.start_event]), m.completion_event])) {
    return { ...set("retention", []), sources: [fromExposure ? newSource() : sourceOf(m.start_event!), sourceOf(m.completion_event!)], fromExposure, from: String(m.retention_window_start ?? 0), to: String(m.retention_window_end ?? 0), returnUnit: String(m.retention_window_unit ?? "day"), startHandling: String(m.start_handling ?? "first_seen") };
  }
  const { uuid: _, fingerprint: __, ...rest } = m;
  return { ...out, kind: "other", sources: [], json: JSON.stringify(rest, null, 2) };
}

/** Returns a draft of another kind, with as many sources as the kind needs. */
export function withKind(d: MetricDraft, kind: MetricKind): MetricDraft {
  const [first, second] = [d.sources[0] ?? newSource(), d.sources[1] ?? newSource()];
  const main = d.kind === "retention" ? second : first;
  const plain = (s: SourceDraft): SourceDraft => ({ ...s, math: "total", property: "" });
  if (kind === "share") return { ...d, kind, sources: [plain(main)] };
  if (kind === "count") return { ...d, kind, sources: [plain(main)] };
  if (kind === "value") return { ...d, kind, sources: [{ ...main, math: ofProperty.includes(main.math) ? main.math : "sum" }] };
  if (kind === "ratio") return { ...d, kind, sources: [main, main === first ? second : first] };
  return { ...d, kind, sources: [plain(second), plain(first)] };
}

function nodeOf(s: SourceDraft): Node {
  const event = s.event.trim();
  const base: Node = s.was && eventOf(s.was) === event ? { ...s.was } : { kind: "EventsNode", event: event || null };
  delete base.math;
  delete base.math_property;
  if (s.math !== "total" || s.was?.math) base.math = s.math;
  if (ofProperty.includes(s.math)) base.math_property = s.property.trim();
  return base;
}

const typeOf: Record<Exclude<MetricKind, "other">, string> = { share: "funnel", count: "mean", value: "mean", ratio: "ratio", retention: "retention" };

/** The members that depend on the kind of a metric. */
const own = ["series", "source", "numerator", "denominator", "start_event", "completion_event", "funnel_order_type", "retention_window_start", "retention_window_end", "retention_window_unit", "start_handling"];

/** Converts a draft to a metric. Members of the former metric that the form does not edit are kept. */
export function metricOf(d: MetricDraft): Metric {
  if (d.kind === "other") return { ...(JSON.parse(d.json) as Metric), uuid: d.uuid };
  const out: Metric = { ...(Object.fromEntries(Object.entries(d.was ?? {}).filter(([k]) => !own.includes(k) && k !== "fingerprint")) as Partial<Metric>), kind: "ExperimentMetric", metric_type: typeOf[d.kind], uuid: d.uuid, name: d.name.trim() || nameOf(d) };
  if (d.goal !== "increase" || out.goal) out.goal = d.goal;
  if (d.window.trim()) Object.assign(out, { conversion_window: Number(d.window), conversion_window_unit: d.unit });
  else if (out.conversion_window) out.conversion_window = null;
  const nodes = d.sources.map(nodeOf);
  if (d.kind === "share") Object.assign(out, { series: nodes, ...(d.order !== "ordered" || d.was?.funnel_order_type ? { funnel_order_type: d.order } : {}) });
  else if (d.kind === "ratio") Object.assign(out, { numerator: nodes[0], denominator: nodes[1] });
  else if (d.kind === "retention") {
    const first = d.fromExposure ? { kind: "ExperimentExposureNode" } : nodes[0];
    Object.assign(out, { start_event: first, completion_event: nodes[1], retention_window_start: Number(d.from), retention_window_end: Number(d.to), retention_window_unit: d.returnUnit, start_handling: d.startHandling });
  } else out.source = d.was?.source?.math || d.sources[0]!.math !== "total" ? nodes[0]! : { ...nodes[0]!, math: "total" };
  return out;
}

/** Returns the name of a metric without a name of its own: the event that it counts. */
export const nameOf = (d: MetricDraft) => (d.kind === "share" ? d.sources.at(-1) : d.kind === "retention" ? d.sources[1] : d.sources[0])?.event.trim() ?? "";

/** The types of metrics in requests for a running time. */
export const planTypes: Record<MetricKind, string | null> = { share: "funnel", count: "mean_count", value: "mean_sum_or_avg", ratio: "ratio", retention: "retention", other: null };
