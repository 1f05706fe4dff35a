// The tab Exposures of an experiment: people and calls by variant and day.
import { h, onEnd, signal, when, type Child, type Signal } from "../../ui/dom";
import { loadingBars, empty, problem, showResource } from "../../ui/parts";
import { chart, valuesTable } from "../../ui/chart";
import { formatDay, relativeTime } from "../../ui/time";
import { resource } from "../../api/cache";
import type { Experiment, ExposureCounts } from "../../api/experiments";
import type { ChartData } from "../../api/chartdata";
import { runQuery } from "../../api/query";
import type { Params } from "../../routes";
import { projectPath } from "../../session";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { experimentPage } from "./frame";

interface Calls {
  total: number;
  exposures: { variant: string; calls: number; first_called_at: string; last_called_at: string }[];
}

export default function exposuresPage(params: Params): Child {
  return experimentPage(params, "exposures", exposures);
}

function exposures(experiment: Signal<Experiment>): Child {
  const e = experiment.peek();
  const got = signal<ExposureCounts | undefined>(undefined);
  const fault = signal<unknown>(undefined);
  const cancel = new AbortController();
  onEnd(() => cancel.abort());
  const load = () => runQuery({ kind: "ExperimentExposureQuery", experiment_id: e.id, feature_flag: { key: e.feature_flag_key } }, cancel.signal).then((a) => (got.set(a as unknown as ExposureCounts), fault.set(undefined)), (x: unknown) => cancel.signal.aborted || fault.set(x));
  void load();
  const calls = resource<Calls>(() => ({ path: projectPath(`experiments/${e.id}/exposures/`) }));
  return [
    () => (fault() ? problem(words.failed, fault(), () => void load()) : null),
    when(() => !got() && !fault(), () => loadingBars(8)),
    () => (got() ? people(got()!) : null),
    showResource(calls, (data) => () => (data().exposures.length ? [h("h2", { class: "gap-above gap" }, experimentWords.callsByVariant), valuesTable(experimentWords.callsByVariant, { columns: [experimentWords.variant, experimentWords.calls, experimentWords.first, experimentWords.last], rows: data().exposures.map((x) => [x.variant, x.calls, relativeTime(x.first_called_at), relativeTime(x.last_called_at)]) })] : null)),
  ];
}

function people(x: ExposureCounts): Child {
  const total = Object.values(x.total_exposures).reduce((a, b) => a + b, 0);
  if (!total) return empty(experimentWords.noExposures, experimentWords.nobodyYetText);
  const labels = x.timeseries.reduce<string[]>((most, t) => (t.days.length > most.length ? t.days : most), []).map(formatDay);
  const lines = x.timeseries.map((t) => ({ label: t.variant, data: t.exposure_counts }));
  // Counts are cumulative, so the last row is the total.
  const table = { columns: [experimentWords.day, ...lines.map((l) => l.label)], rows: labels.map((d, i) => [d, ...lines.map((l) => l.data[i] ?? null)]) };
  const picture: ChartData = { shape: "lines", head: experimentWords.day, labels, lines, open: false, table };
  return [h("h2", { class: "gap" }, experimentWords.peopleByVariant), chart(experimentWords.peopleByVariant, picture), valuesTable(experimentWords.peopleByVariant, table)];
}
