// Experiments as the API represents them.
import type { User, Variant } from "./flags";
import type { Metric } from "./metrics";

/** The use of a shared metric by an experiment. */
export interface SavedMetric {
  saved_metric: number;
  name: string;
  query: Metric;
  metadata: { type: "primary" | "secondary" };
}

export interface Holdout {
  id: number;
  name: string;
  description: string;
  filters: { rollout_percentage: number }[];
}

/** A metric that experiments share. */
export interface SharedMetric {
  id: number;
  name: string;
  description: string;
  query: Metric;
}

/** How results are computed. Members that the forms do not edit are kept. */
export interface StatsConfig {
  method?: string;
  multiple_testing?: string;
  bayesian?: { ci_level?: number; difference_type?: string; [other: string]: unknown };
  frequentist?: { alpha?: number; difference_type?: string; sequential_testing_enabled?: boolean; [other: string]: unknown };
  cuped?: { enabled?: boolean; lookback_days?: number };
  [other: string]: unknown;
}

export interface ExposureCriteria {
  filterTestAccounts?: boolean | null;
  multiple_variant_handling?: string;
  exposure_config?: { kind: string; event?: string; [other: string]: unknown } | null;
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
  feature_flag: { id: number; key: string; filters?: { multivariate?: { variants: Variant[] } | null } | null } | null;
  parameters: { feature_flag_variants?: Variant[]; minimum_detectable_effect?: number | null; recommended_running_time?: number | null; recommended_sample_size?: number | null; [other: string]: unknown } | null;
  metrics: Metric[] | null;
  metrics_secondary: Metric[] | null;
  saved_metrics: SavedMetric[] | null;
  primary_metrics_ordered_uuids: string[] | null;
  secondary_metrics_ordered_uuids: string[] | null;
  holdout_id: number | null;
  stats_config: StatsConfig | null;
  exposure_criteria: ExposureCriteria | null;
  exposure_cohort: number | null;
  only_count_matured_users: boolean | null;
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
  p_value_adjusted?: number | null;
  confidence_interval_adjusted?: [number, number] | null;
  significant_adjusted?: boolean | null;
  expected_loss?: { baseline: number; variant: number } | null;
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
  warnings?: string[];
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
  /** none, or how p-values are corrected for several tests. */
  multiple_testing: string;
  mismatch: boolean;
  exposures: ExposureCounts;
  primary: MetricResult[];
  secondary: MetricResult[];
}

/** Returns the variants of an experiment: those that it was created with, or of a flag that existed before. */
export const variantsOfExperiment = (e: Experiment): Variant[] => e.parameters?.feature_flag_variants ?? e.feature_flag?.filters?.multivariate?.variants ?? [];
