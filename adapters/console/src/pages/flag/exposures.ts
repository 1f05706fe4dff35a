// The tab Exposures of a flag: its calls by value and time (console.md N7).
import { h, when, type Child, type Signal } from "../../ui/dom";
import { chart, valuesTable } from "../../ui/chart";
import { empty, field, linkButton, select, showResource } from "../../ui/parts";
import { clockTime, formatTime, fullTime, projectZone, time } from "../../ui/time";
import { resource } from "../../api/cache";
import type { Flag } from "../../api/flags";
import type { ChartData, Table } from "../../api/chartdata";
import { href, param, setParams } from "../../router";
import type { Params } from "../../routes";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { flagTabWords } from "../../words/flagtabs";
import { flagPage } from "./frame";

interface Exposures {
  interval: string;
  labels: string[];
  series: { value: string; data: (number | null)[] | null; total: number | null }[];
  total: number | null;
  last_called_at: string | null;
  last: { distinct_id: string; value: unknown; at: string } | null;
}

const hour = 3_600_000;
/** The length of each period in milliseconds, and its interval. */
const spans: Record<string, [number, string]> = { hour: [hour, "minute"], day: [24 * hour, "hour"], week: [7 * 24 * hour, "day"], month: [30 * 24 * hour, "day"] };

export default function exposuresPage(params: Params): Child {
  return flagPage(params, "exposures", (flag) => exposures(flag));
}

function exposures(flag: Signal<Flag>): Child {
  const period = () => (param("period") in spans ? param("period") : "week");
  const count = () => (param("count") in flagTabWords.counts ? param("count") : "calls");
  const from = () => {
    const now = Math.floor(Date.now() / 60_000) * 60_000; // the URL stays the same for a minute, for the cache
    return new Date(now - spans[period()]![0]).toISOString();
  };
  // Evaluations are counted by the hour.
  const interval = () => (count() === "evaluations" && period() === "hour" ? "hour" : spans[period()]![1]);
  const got = resource<Exposures>(() => ({ path: projectPath(`feature_flags/${flag().id}/exposures/`), query: { date_from: from(), interval: interval(), count: count() } }));
  const choose = (list: Record<string, string>, value: () => string, name: string, label: string) =>
    field(select(value, () => Object.entries(list), (v) => setParams({ [name]: v })), { label });
  return [
    h("div", { class: "between gap" }, h("h2", null, flagTabWords.exposures), h("div", { class: "filters low" }, choose(flagTabWords.periods, period, "period", flagTabWords.period), choose(flagTabWords.counts, count, "count", flagTabWords.countOf))),
    showResource(got, (data) => () => {
      const x = data();
      if (!x.last_called_at && !x.total) return empty(flagTabWords.noCalls, flagTabWords.noCallsText, linkButton(words.code, href(`p/${project.peek()}/flags/${flag.peek().id}/code`)));
      if (!x.total) return h("p", { class: "meta" }, flagTabWords.noCallsIn);
      const { picture, table } = pictureOf(x);
      return [chart(flagTabWords.byValue, picture), valuesTable(flagTabWords.byValue, table)];
    }),
    when(() => flag().usage_dashboard, () => h("p", { class: "meta gap-above" }, h("a", { href: () => href(`p/${project()}/dashboards/${flag().usage_dashboard}`) }, flagTabWords.usage))),
    when(() => got.data()?.last, () => h("p", { class: "meta gap-above" }, () => h("bdi", null, flagTabWords.lastCall(got.data()!.last!.distinct_id, String(got.data()!.last!.value))), " ", () => time(got.data()!.last!.at))),
  ];
}

function pictureOf(x: Exposures): { picture: ChartData; table: Table } {
  // Days begin at midnight in the project's time zone, whatever zone the person has chosen.
  const label = (iso: string) => (x.interval === "day" ? formatTime(iso, { day: "numeric", month: "short" }, projectZone()) : clockTime(iso));
  const lines = x.series.map((s) => ({ label: s.value, data: s.data ?? [] }));
  const sum = (i: number) => lines.reduce((a, l) => a + (l.data[i] ?? 0), 0);
  const table: Table = {
    columns: [flagTabWords.timeHead, ...lines.map((l) => l.label), words.total],
    rows: x.labels.map((iso, i) => [x.interval === "day" ? label(iso) : fullTime(iso), ...lines.map((l) => l.data[i] ?? null), sum(i)]),
    total: [words.total, ...x.series.map((s) => s.total), x.total],
  };
  return { picture: { shape: "lines", head: flagTabWords.timeHead, labels: x.labels.map(label), lines, open: true, table }, table };
}
