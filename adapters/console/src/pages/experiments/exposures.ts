// Who has met which variant, day by day.
import { h, onEnd, signal, when, type Child, type Signal } from "../../ui/dom";
import { bars, empty, problem, shown } from "../../ui/parts";
import { chart, values } from "../../ui/chart";
import { ago } from "../../ui/time";
import { answer } from "../../api/cache";
import type { Experiment, Exposed } from "../../api/experiments";
import type { Picture } from "../../api/picture";
import { run } from "../../api/query";
import type { Params } from "../../routes";
import { inProject } from "../../session";
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
  const got = signal<Exposed | undefined>(undefined);
  const fault = signal<unknown>(undefined);
  const cancel = new AbortController();
  onEnd(() => cancel.abort());
  const load = () => run({ kind: "ExperimentExposureQuery", experiment_id: e.id, feature_flag: { key: e.feature_flag_key } }, cancel.signal).then((a) => (got.set(a as unknown as Exposed), fault.set(undefined)), (x: unknown) => cancel.signal.aborted || fault.set(x));
  void load();
  const calls = answer<Calls>(() => ({ path: inProject(`experiments/${e.id}/exposures/`) }));
  return [
    () => (fault() ? problem(words.failed, fault(), () => void load()) : null),
    when(() => !got() && !fault(), () => bars(8)),
    () => (got() ? people(got()!) : null),
    shown(calls, (data) => () => (data().exposures.length ? [h("h2", { class: "gap-above gap" }, experimentWords.callsByVariant), values(experimentWords.callsByVariant, { columns: [experimentWords.variant, experimentWords.calls, experimentWords.first, experimentWords.last], rows: data().exposures.map((x) => [x.variant, x.calls, ago(x.first_called_at), ago(x.last_called_at)]) })] : null)),
  ];
}

function people(x: Exposed): Child {
  const total = Object.values(x.total_exposures).reduce((a, b) => a + b, 0);
  if (!total) return empty(experimentWords.noExposures, experimentWords.nobodyYetText);
  const labels = x.timeseries.reduce<string[]>((most, t) => (t.days.length > most.length ? t.days : most), []);
  const lines = x.timeseries.map((t) => ({ label: t.variant, data: t.exposure_counts }));
  // Counts grow from day to day, so that the last row is the total.
  const table = { columns: [experimentWords.day, ...lines.map((l) => l.label)], rows: labels.map((d, i) => [d, ...lines.map((l) => l.data[i] ?? null)]) };
  const picture: Picture = { shape: "lines", head: experimentWords.day, labels, lines, open: false, table };
  return [h("h2", { class: "gap" }, experimentWords.peopleByVariant), chart(experimentWords.peopleByVariant, picture), values(experimentWords.peopleByVariant, table)];
}
