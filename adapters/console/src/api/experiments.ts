// Experiments as the API represents them.
import type { User, Variant } from "./flags";

interface Node {
  kind: string;
  event?: string | null;
  math?: string;
  [other: string]: unknown;
}

export interface Metric {
  kind: string;
  uuid?: string;
  name?: string;
  metric_type: string;
  series?: Node[];
  source?: Node;
  goal?: string;
  [other: string]: unknown;
}

export interface Experiment {
  id: number;
  name: string;
  description: string;
  start_date: string | null;
  end_date: string | null;
  archived: boolean;
  status: string;
  feature_flag_key: string;
  feature_flag: { id: number; key: string } | null;
  parameters: { feature_flag_variants?: Variant[]; [other: string]: unknown } | null;
  metrics: Metric[] | null;
  metrics_secondary: Metric[] | null;
  created_by: User | null;
}

export interface VariantResult {
  key: string;
  number_of_samples: number;
  sum: number;
  mean: number | null;
  validation_failures: string[];
  effect?: number | null;
  significant?: boolean | null;
  better?: boolean;
  chance_to_win?: number | null;
  credible_interval?: [number, number] | null;
  p_value?: number | null;
  confidence_interval?: [number, number] | null;
}

export interface MetricResult {
  uuid: string | null;
  name: string | null;
  metric_type: string;
  goal: string | null;
  /** A description of the error, or null. If it is set, there are no numbers. */
  error: string | null;
  baseline?: VariantResult | null;
  variants?: VariantResult[];
}

export interface ExposureCounts {
  timeseries: { variant: string; days: string[]; exposure_counts: number[] }[];
  total_exposures: Record<string, number>;
  sample_ratio_mismatch: { p_value: number } | null;
}

export interface Results {
  method: "bayesian" | "frequentist";
  level: number;
  difference_type: string;
  mismatch: boolean;
  exposures: ExposureCounts;
  primary: MetricResult[];
  secondary: MetricResult[];
}

export type MetricKind = "share" | "count";

export interface MetricDraft {
  event: string;
  kind: MetricKind;
}

/** Converts a metric to a draft. It returns undefined if the form does not support the metric. */
export function metricDraft(m: Metric): MetricDraft | undefined {
  const node = m.metric_type === "funnel" && m.series?.length === 1 ? m.series[0] : m.metric_type === "mean" ? m.source : undefined;
  if (!node || node.kind !== "EventsNode" || !node.event || !["total", undefined].includes(node.math)) return undefined;
  if (Array.isArray(node.properties) && node.properties.length) return undefined;
  return { event: node.event, kind: m.metric_type === "funnel" ? "share" : "count" };
}

/** Converts a draft to a metric, with the name and id of the previous one. */
export function metricOf(d: MetricDraft, was?: Metric): Metric {
  const node = { kind: "EventsNode", event: d.event.trim() };
  const id = was?.uuid ?? (crypto.randomUUID ? crypto.randomUUID() : undefined);
  const base: Metric = { kind: "ExperimentMetric", metric_type: "", name: d.event.trim(), ...(id ? { uuid: id } : {}), ...(was?.goal ? { goal: was.goal } : {}) };
  return d.kind === "share" ? { ...base, metric_type: "funnel", series: [node] } : { ...base, metric_type: "mean", source: { ...node, math: "total" } };
}

export const eventOf = (m: Metric) => m.name || m.series?.at(-1)?.event || m.source?.event || "";
