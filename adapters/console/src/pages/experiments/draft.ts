// The draft of an experiment that its form edits, and the conversion to and from the API.
import { variantsOfExperiment, type Experiment, type ExposureCriteria, type SavedMetric, type StatsConfig } from "../../api/experiments";
import { canonicalJSON } from "../../api/draft";
import { metricDraft, metricOf, newMetric, type MetricDraft } from "../../api/metrics";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { setupWords } from "../../words/experimentsetup";
import { metricFault } from "./metricform";

export interface VariantDraft {
  id: number;
  key: string;
  share: string;
}

/** A shared metric that the experiment uses. */
export interface SharedDraft {
  id: number;
  name: string;
}

export interface ExperimentDraft {
  name: string;
  flag: string;
  hypothesis: string;
  variants: VariantDraft[];
  primary: MetricDraft[];
  secondary: MetricDraft[];
  sharedPrimary: SharedDraft[];
  sharedSecondary: SharedDraft[];
  /** The minimum detectable effect in percent. */
  effect: string;
  /** The planned number of people and days, as the server computed them. */
  size: number | null;
  days: number | null;
  /** Empty for the default of the project. */
  method: string;
  level: string;
  difference: string;
  correction: string;
  sequential: boolean;
  cuped: boolean;
  matured: boolean;
  /** An exposure event of one's own, or null for the evaluation of the flag. */
  exposureEvent: string | null;
  handling: string;
  testAccounts: boolean;
  holdout: string;
  /** Whether metrics may use events that the project has never captured. It is not stored. */
  unknownEvents: boolean;
}

let ids = Date.now(); // restored drafts have lower ids
export const newVariant = (key: string, share: number): VariantDraft => ({ id: ++ids, key, share: String(share) });

export const emptyExperiment = (): ExperimentDraft => ({
  name: "", flag: "", hypothesis: "", variants: [newVariant("control", 50), newVariant("test", 50)], primary: [newMetric()], secondary: [], sharedPrimary: [], sharedSecondary: [],
  effect: "", size: null, days: null, method: "", level: "", difference: "RELATIVE", correction: "none", sequential: false, cuped: false, matured: false, exposureEvent: null, handling: "exclude", testAccounts: true, holdout: "", unknownEvents: false,
});

const sharedOf = (list: SavedMetric[] | null, type: string): SharedDraft[] => (list ?? []).filter((s) => s.metadata.type === type).map((s) => ({ id: s.saved_metric, name: s.name }));
const text = (v: number | null | undefined) => (v === null || v === undefined ? "" : String(v));

/** Returns the confidence level of a configuration as text, for the options of the form. */
function levelOf(c: StatsConfig): string {
  const level = c.bayesian?.ci_level ?? (c.frequentist?.alpha === undefined ? undefined : 1 - c.frequentist.alpha);
  return level === undefined ? "" : String(Math.round(level * 1e6) / 1e6);
}

export function experimentDraft(e: Experiment): ExperimentDraft {
  const stats = e.stats_config ?? {};
  const criteria = e.exposure_criteria ?? {};
  const p = e.parameters ?? {};
  return {
    name: e.name,
    flag: e.feature_flag_key,
    hypothesis: e.description ?? "",
    variants: variantsOfExperiment(e).map((v) => newVariant(v.key, v.rollout_percentage)),
    primary: (e.metrics ?? []).map(metricDraft),
    secondary: (e.metrics_secondary ?? []).map(metricDraft),
    sharedPrimary: sharedOf(e.saved_metrics, "primary"),
    sharedSecondary: sharedOf(e.saved_metrics, "secondary"),
    effect: text(p.minimum_detectable_effect),
    size: p.recommended_sample_size ?? null,
    days: p.recommended_running_time ?? null,
    method: stats.method ?? "",
    level: levelOf(stats),
    difference: stats.bayesian?.difference_type ?? stats.frequentist?.difference_type ?? "RELATIVE",
    correction: stats.multiple_testing ?? "none",
    sequential: stats.frequentist?.sequential_testing_enabled ?? false,
    cuped: stats.cuped?.enabled ?? false,
    matured: e.only_count_matured_users ?? false,
    exposureEvent: criteria.exposure_config?.event ?? null,
    handling: criteria.multiple_variant_handling ?? "exclude",
    testAccounts: criteria.filterTestAccounts ?? true,
    holdout: text(e.holdout_id),
    unknownEvents: false,
  };
}

/** Returns an object without members that are undefined, or undefined if none is left. */
function compact<T extends object>(o: T): T | undefined {
  const members = Object.entries(o).filter(([, v]) => v !== undefined);
  return members.length ? (Object.fromEntries(members) as T) : undefined;
}

function statsOf(d: ExperimentDraft, was: StatsConfig | null): StatsConfig | null {
  const before = experimentDraft({ stats_config: was } as Experiment);
  const own = { bayesian: { ...was?.bayesian }, frequentist: { ...was?.frequentist } };
  if (d.level !== before.level) {
    const level = d.level === "" ? undefined : Number(d.level);
    own.bayesian.ci_level = level as number;
    own.frequentist.alpha = level === undefined ? (undefined as unknown as number) : Math.round((1 - level) * 1e6) / 1e6;
  }
  if (d.difference !== before.difference) own.bayesian.difference_type = own.frequentist.difference_type = d.difference;
  if (d.sequential !== before.sequential) own.frequentist.sequential_testing_enabled = d.sequential;
  const out = compact({
    ...was,
    method: d.method || undefined,
    bayesian: compact(own.bayesian),
    frequentist: compact(own.frequentist),
    cuped: d.cuped === before.cuped ? was?.cuped : { ...was?.cuped, enabled: d.cuped },
    multiple_testing: d.correction === before.correction ? was?.multiple_testing : d.correction,
  });
  return (out as StatsConfig | undefined) ?? null;
}

function criteriaOf(d: ExperimentDraft, was: ExposureCriteria | null): ExposureCriteria | null {
  const before = experimentDraft({ exposure_criteria: was } as Experiment);
  const event = d.exposureEvent?.trim();
  const config = d.exposureEvent === null ? undefined : { ...(was?.exposure_config?.event === event ? was?.exposure_config : { properties: [] }), kind: "ExperimentEventExposureConfig", event: event! };
  const out = compact({
    ...was,
    exposure_config: d.exposureEvent === before.exposureEvent ? (was?.exposure_config ?? undefined) : config,
    multiple_variant_handling: d.handling === before.handling ? was?.multiple_variant_handling : d.handling,
    filterTestAccounts: d.testAccounts === before.testAccounts ? was?.filterTestAccounts : d.testAccounts,
  });
  return (out as ExposureCriteria | undefined) ?? null;
}

export const variantsOf = (d: ExperimentDraft) => d.variants.map((v) => ({ key: v.key.trim(), rollout_percentage: Number(v.share) || 0 }));

/** Returns the members of an experiment that a draft describes. */
function bodyOf(d: ExperimentDraft, e: Experiment | null): Record<string, unknown> {
  const link = (type: string) => (s: SharedDraft) => ({ id: s.id, metadata: { ...e?.saved_metrics?.find((x) => x.saved_metric === s.id)?.metadata, type } });
  const { feature_flag_variants: _, ...parameters } = e?.parameters ?? {};
  const plan = d.effect.trim() === "" && !("minimum_detectable_effect" in parameters) ? {} : { minimum_detectable_effect: d.effect.trim() === "" ? null : Number(d.effect), recommended_sample_size: d.size, recommended_running_time: d.days };
  return {
    name: d.name.trim(),
    description: d.hypothesis,
    metrics: d.primary.map(metricOf),
    metrics_secondary: d.secondary.map(metricOf),
    saved_metrics_ids: [...d.sharedPrimary.map(link("primary")), ...d.sharedSecondary.map(link("secondary"))],
    parameters: { ...parameters, ...plan, feature_flag_variants: variantsOf(d) },
    stats_config: statsOf(d, e?.stats_config ?? null),
    exposure_criteria: criteriaOf(d, e?.exposure_criteria ?? null),
    only_count_matured_users: d.matured || (e?.only_count_matured_users ?? null) !== null ? d.matured : null,
    holdout_id: d.holdout === "" ? null : Number(d.holdout),
  };
}

/** Returns the body of a request that creates an experiment. */
export const newBody = (d: ExperimentDraft): Record<string, unknown> => ({ ...bodyOf(d, null), feature_flag_key: d.flag.trim(), ...allowedEvents(d) });

/** Returns the member of a request that allows metrics with events that were never captured. */
export const allowedEvents = (d: ExperimentDraft): object => (d.unknownEvents ? { allow_unknown_events: true } : {});

/** Returns the members that a draft changes. A draft with faults changes something. */
export function patchOf(e: Experiment, d: ExperimentDraft): Record<string, unknown> {
  try {
    const [before, now] = [bodyOf(experimentDraft(e), e), bodyOf(d, e)];
    return Object.fromEntries(Object.entries(now).filter(([k, v]) => canonicalJSON(v) !== canonicalJSON(before[k])));
  } catch {
    return { metrics: null };
  }
}

export interface Faults {
  name?: string;
  flag?: string;
  variants?: string;
  effect?: string;
  exposureEvent?: string;
  /** By the id of a metric. */
  metrics: Record<number, string>;
}

export const noFaults: Faults = { metrics: {} };

/** Returns the faults of a draft, by field. */
export function experimentFaults(d: ExperimentDraft): Faults {
  const out: Faults = { metrics: {} };
  if (!d.name.trim()) out.name = experimentWords.nameWanted;
  if (!/^[\w-]+$/.test(d.flag.trim())) out.flag = experimentWords.keyWanted;
  if (d.exposureEvent !== null && !d.exposureEvent.trim()) out.exposureEvent = setupWords.exposureEventWanted;
  if (d.effect.trim() && !(Number(d.effect) > 0)) out.effect = setupWords.effectWrong;
  for (const m of [...d.primary, ...d.secondary]) {
    const fault = metricFault(m);
    if (fault) out.metrics[m.id] = fault;
  }
  const sum = d.variants.reduce((a, v) => a + (Number(v.share) || 0), 0);
  if (Math.abs(sum - 100) > 0.01) out.variants = words.sharesWrong(sum);
  return out;
}

export const hasFaults = (f: Faults) => Object.keys(f).length > 1 || Object.keys(f.metrics).length > 0;
