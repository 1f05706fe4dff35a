// The tab Results of an experiment: each metric by variant, with a chart of the intervals.
import { effect, h, onEnd, signal, untracked, when, type Child, type Signal } from "../../ui/dom";
import { loadingBars, empty, english, problem } from "../../ui/parts";
import { valuesTable } from "../../ui/chart";
import { intervals } from "../../ui/intervals";
import type { Experiment, VariantResult, MetricResult, Results } from "../../api/experiments";
import type { Cell } from "../../api/chartdata";
import { runQuery } from "../../api/query";
import { href } from "../../router";
import type { Params } from "../../routes";
import { project } from "../../session";
import { number, percent, words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { experimentPage } from "./frame";

export default function resultsPage(params: Params): Child {
  return experimentPage(params, "", (e) => [when(() => e().status === "draft", () => empty(experimentWords.notLaunched, experimentWords.notLaunchedText)), when(() => e().status !== "draft", () => results(e))]);
}

function results(experiment: Signal<Experiment>): Child {
  const got = signal<Results | undefined>(undefined);
  const fault = signal<unknown>(undefined);
  const again = signal(0);
  const cancel = new AbortController();
  onEnd(() => cancel.abort());
  effect(() => {
    const { id } = experiment();
    again();
    untracked(() => void runQuery({ kind: "ExperimentResultsQuery", experiment_id: id }, cancel.signal).then((a) => (got.set(a as unknown as Results), fault.set(undefined)), (e: unknown) => cancel.signal.aborted || fault.set(e)));
  });
  return [
    () => (fault() ? problem(words.failed, fault(), () => again.update((n) => n + 1)) : null),
    when(() => !got() && !fault(), () => loadingBars(8)),
    () => (got() ? resultsSection(experiment.peek(), got()!) : null),
  ];
}

const pText = (p: number) => (p < 0.001 ? "< 0.001" : number(Math.round(p * 1000) / 1000));

function resultsSection(e: Experiment, r: Results): Child {
  const people = Object.values(r.exposures.total_exposures).reduce((a, b) => a + b, 0);
  const p = r.exposures.sample_ratio_mismatch?.p_value;
  if (!people) return empty(experimentWords.nobodyYet, experimentWords.nobodyYetText, h("a", { href: href(`p/${project.peek()}/experiments/${e.id}/exposures`) }, experimentWords.exposures));
  const all = [...r.primary, ...r.secondary];
  const seen = new Map<string, number>();
  // Regions need different names.
  const named = (m: MetricResult) => {
    const name = m.name || experimentWords.metric;
    const n = (seen.get(name) ?? 0) + 1;
    seen.set(name, n);
    return metric(m, r, n > 1 ? experimentWords.another(name, n) : name);
  };
  const corrected = experimentWords.corrected[r.multiple_testing];
  return [
    all.length ? null : h("p", null, experimentWords.noMetric),
    p === undefined ? null : h("p", { class: r.mismatch ? "warning gap" : "meta gap", role: r.mismatch ? "alert" : null }, r.mismatch ? experimentWords.sharesWrong(pText(p)) : experimentWords.sharesRight(pText(p))),
    corrected ? h("p", { class: "meta gap" }, corrected) : null,
    r.secondary.length ? h("h2", { class: "gap" }, experimentWords.primary) : null,
    r.primary.map(named),
    r.secondary.length ? [h("h2", { class: "gap-above gap" }, experimentWords.secondary), r.secondary.map(named)] : null,
  ];
}

const intervalOf = (v: VariantResult) => v.credible_interval ?? v.confidence_interval ?? null;

/** Returns how an effect is formatted: relative to the baseline, in points, or in the unit of the metric. */
const unit = (m: MetricResult, r: Results) => (r.difference_type === "RELATIVE" ? experimentWords.relative : m.metric_type === "mean" || m.metric_type === "ratio" ? experimentWords.plain : experimentWords.points);

function metric(m: MetricResult, r: Results, name: string): HTMLElement {
  const share = m.metric_type === "funnel" || m.metric_type === "retention";
  const text = unit(m, r);
  const frequentist = r.method === "frequentist";
  const adjusted = frequentist && r.multiple_testing in experimentWords.corrected;
  const rate = (v: VariantResult) => (v.mean === null ? words.dash : share ? percent(Math.round(v.mean * 1000) / 10) : number(Math.round(v.mean * 1000) / 1000));
  const row = (v: VariantResult): Cell[] => {
    const i = intervalOf(v);
    const chance = r.method === "bayesian" ? (v.chance_to_win == null ? words.dash : percent(Math.round(v.chance_to_win * 1000) / 10)) : words.dash;
    return [v.key, v.number_of_samples, v.sum, rate(v), v.effect == null ? words.dash : text(v.effect), i ? experimentWords.between(text(i[0]), text(i[1])) : words.dash, chance, ...(frequentist ? [v.p_value == null ? words.dash : pText(v.p_value)] : []), ...(adjusted ? [v.p_value_adjusted == null ? words.dash : pText(v.p_value_adjusted)] : [])];
  };
  const [sum, mean] = experimentWords.amounts[m.metric_type] ?? [experimentWords.converted, experimentWords.rate];
  const columns = [experimentWords.variant, experimentWords.people, sum, mean, experimentWords.against, experimentWords.interval, experimentWords.chance, ...(frequentist ? [experimentWords.pValue] : []), ...(adjusted ? [experimentWords.adjusted] : [])];
  const intervalList = (m.variants ?? []).flatMap((v) => (intervalOf(v) ? [{ label: v.key, from: intervalOf(v)![0], to: intervalOf(v)![1], at: v.effect ?? (intervalOf(v)![0] + intervalOf(v)![1]) / 2 }] : []));
  return h(
    "section",
    { class: "card", "aria-label": name },
    h("h2", null, h("bdi", null, name)),
    h("p", { class: "meta gap" }, experimentWords.measures[m.metric_type] ?? "", " ", experimentWords.aims[m.goal ?? "increase"] ?? "", " ", experimentWords.intervalOf(r.level)),
    m.warnings?.includes("uneven_rare") ? h("p", { class: "warning gap" }, experimentWords.rare) : null,
    m.error ? h("p", { class: "problem", role: "alert" }, english(m.error)) : null,
    intervalList.length ? intervals(experimentWords.chartOf(name), intervalList, text, m.goal === "decrease") : null,
    m.baseline ? valuesTable(experimentWords.results, { columns, rows: [m.baseline, ...(m.variants ?? [])].map(row) }) : null,
    m.baseline ? h("ul", { class: "gap-above" }, (m.variants ?? []).map((v) => h("li", null, verdict(v, m, adjusted)))) : null,
  );
}

function verdict(v: VariantResult, m: MetricResult, adjusted: boolean): string {
  const why = [...new Set([...(m.baseline?.validation_failures ?? []), ...v.validation_failures])].map((f) => experimentWords.failures[f] ?? f);
  if (why.length) return `${v.key}: ${experimentWords.notEnough(why.join(", "))}`;
  if (!(adjusted ? v.significant_adjusted : v.significant)) return experimentWords.undecided(v.key);
  return v.better ? experimentWords.better(v.key) : experimentWords.worse(v.key);
}
